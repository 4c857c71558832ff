// The loop of one thread: it plays one run after another, each with the bits that the processor's loop gives.
#pragma once
#include "run.h"

template <class Learner> struct Player {
    static constexpr bool SHORT_ROWS = false;
    static constexpr int UNROLLED = 2; // steps
    const Job& job;
    Rows rows;
    Learner learner;
    Generators generators;
    Stream starts;
    CurrentRun run;
    uint32_t row;   // the offset of the record
    uint32_t taken; // the entry of the action before this step
    double paid, gain;
    uint32_t visited_count = 0;

    DEVICE Player(const Job& job_, const uint8_t* records, uint8_t* shared, uint32_t thread, uint32_t block, uint32_t threads, uint32_t blocks)
        : job(job_), rows{job_, records, block * threads + thread, threads * blocks}, learner(job_, shared, thread, block, threads) {}

    // Clears all tables of a block, which its threads do together, if each run then clears what it has visited.
    static DEVICE void clear_tables(const Job& job, uint8_t* shared, uint32_t thread, uint32_t block, uint32_t threads) {
        for (uint32_t other = 0; other < threads && job.visited; other++) {
            Learner learner(job, shared, other, block, threads);
            UNROLL_EIGHT
            for (uint32_t entry = thread; entry < job.entries; entry += threads) clear(job, learner, entry, 0);
        }
    }
    static DEVICE void clear(const Job& job, Learner& learner, uint32_t entry, uint32_t column) {
        if (Learner::SUMS) *learner.table.sum_at(entry, column) = load_one(job.first_sums + entry + column);
        learner.clear(job, entry, column);
    }
    DEVICE void clear_entries() {
        if (rows.sparse()) {
            for (uint32_t i = 0; i < visited_count; i++) {
                uint32_t entry = rows.at(i)->entry;
                for (uint32_t column = 0; column <= learner.actions; column++) clear(job, learner, entry, column);
            }
        } else {
            UNROLL_EIGHT
            for (uint32_t entry = 0; entry < job.entries; entry++) clear(job, learner, entry, 0);
        }
    }

    DEVICE void begin_run() {
        clear_entries();
        uint64_t number = run.take(job);
        generators.restart(job.seed, number);
        learner.begin_run(job, number);
        row = 0;
        if (job.start_count > 1) {
            starts.restart(job.seed, number, ROLE_START);
            row = next_start();
        }
        taken = NO_ENTRY;
        paid = gain = 0;
        visited_count = 0;
    }

    DEVICE uint32_t next_start() {
        double u = starts.uniform();
        uint32_t passed = 0;
        for (uint32_t i = 0; i < job.start_count; i++) passed += job.starts[i] <= u;
        return passed * job.record_size;
    }

    DEVICE uint32_t next_row(const ActionRecord* action, double u) const {
        if (job.feedbacks == 2) return action->bound <= u ? action->next[1] : action->next[0];
        uint32_t f = 0;
        for (uint32_t i = 0; i + 1 < job.feedbacks; i++) f += job.bounds[action->first + i] <= u;
        return job.nexts[action->first + f];
    }

    // The draws of a step: those added to reward and cost, and the one for the feedback.
    DEVICE void draw(Xoshiro& generator, double& reward, double& cost, double& feedback) const {
        uint64_t x = generator.next(), y = generator.next();
        feedback = unit(y);
        if (job.has_normal) {
            double2 normal = polar(x, y);
            reward = job.reward_noise.scale * normal.x;
            cost = job.cost_noise.scale * normal.y;
        } else {
            reward = job.reward_noise.scale * 0.0;
            cost = job.cost_noise.scale * 0.0;
        }
        if (job.has_uniform) {
            uint64_t third = generator.next();
            uint64_t spare = job.has_normal ? third : x;
            reward += job.reward_noise.slope * unit(spare) + job.reward_noise.offset;
            cost += job.cost_noise.slope * unit(third) + job.cost_noise.offset;
        }
    }

    DEVICE double observe(const NoiseTransform& noise, double mean, double draw) const {
        if (noise.is_bernoulli) return draw < mean ? 1.0 : 0.0;
        return mean + draw;
    }

    // One step; `i` is the generator of its draws, and `place` its place in the group.
    DEVICE void step(int i, int place) {
        double reward_draw, cost_draw, u;
        draw(generators.all[i], reward_draw, cost_draw, u);
        const RowRecord* at = rows.record(row);
        uint32_t entry = at->entry, number = at->number;
        uint32_t chosen = learner.choose(job, at, entry, number);
        bool stops = chosen == learner.actions;
        if (job.last) rows.last(number & ~LAST_STEP) = chosen;
        double reward = observe(job.reward_noise, at->reward, reward_draw);
        uint32_t before = learner.reveal(job, entry, taken, reward, reward + paid);
        if (rows.sparse() && before == 0) rows.visited(visited_count++) = number & ~LAST_STEP;
        uint32_t a = stops ? 0 : chosen;
        const ActionRecord* action = action_record(at, a);
        paid = -observe(job.cost_noise, -action->payment, cost_draw);
        uint32_t next = next_row(action, u);
        learner.advance(job, stops, paid, reward);
        gain += stops ? reward : paid;
        taken = stops ? NO_ENTRY : entry + a;
        row = stops ? 0 : next;
        if (stops && job.start_count > 1) row = next_start();
        run.left -= stops;
        if (any_thread(run.left == 0)) run.reach_checkpoint<typename Learner::Entries>(job, rows, learner, visited_count, gain, place);
    }
};
