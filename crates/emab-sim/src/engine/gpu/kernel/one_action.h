// The loop of one thread for FeedBAL on a problem of short rows: one action, two feedbacks, normal noise, one start.
//
// A step reads the entries of its row first and decides last. The draws between need nothing of them, so that the step does not wait
// for the tables of indices, which lie in the memory of the card.
#pragma once
#include "run.h"

struct OneActionPlayer {
    static constexpr bool SHORT_ROWS = true;
    static constexpr int UNROLLED = 4;
    const Job& job;
    Rows rows; // short rows, in shared memory
    Counter<PairTable> counter;
    Generators generators;
    CurrentRun run;
    uint32_t row, entry; // the offset of the row, and its first entry
    uint32_t taken;     // the entry of the action before this step
    double taken_sum;
    uint32_t taken_count;
    double paid, gain;

    DEVICE OneActionPlayer(const Job& job_, const uint8_t* records, uint8_t* shared, uint32_t thread, uint32_t block, uint32_t threads, uint32_t blocks)
        : job(job_), rows{job_, records, block * threads + thread, threads * blocks}, counter(job_, shared, thread, block, threads) {}

    // Each run clears its table.
    static DEVICE void clear_tables(const Job&, uint8_t*, uint32_t, uint32_t, uint32_t) {}

    DEVICE void begin_run() {
        generators.restart(job.seed, run.take(job));
        for (uint32_t at = 0; at < job.entries; at += 2) {
            *counter.table.sum_at(at, 0) = job.first_sums[at];
            *counter.table.sum_at(at, 1) = job.first_sums[at + 1];
            *counter.table.counts_at(at) = 0;
        }
        row = 0;
        entry = job.first_entry;
        taken = NO_SHORT_ENTRY;
        taken_sum = paid = gain = 0;
        taken_count = 0;
    }

    // One step; `i` is the generator of its draws, and `place` its place in the group.
    DEVICE void step(int i, int place) {
        double2 mean = *(const double2*)(rows.records + row), further = *(const double2*)(rows.records + row + 16);
        // A row without entries reads those of the first row.
        uint32_t at = entry == NO_SHORT_ENTRY ? 0 : entry;
        uint32_t counts = *counter.table.counts_at(at);
        uint32_t action_count = counts & 0xffff, stop_count = counts >> 16;
        double action_sum = *counter.table.sum_at(at, 0), stop_sum = *counter.table.sum_at(at, 1);
        double2 action_value = load_two(job.action_index + action_count), stop_value = load_two(job.stop_index + stop_count);
        uint64_t x = generators.all[i].next(), y = generators.all[i].next();
        double2 normal = polar(x, y);
        // Always true, but known after the draws alone: the decision is not computed earlier, when its values are still awaited.
        bool drawn = normal.x == normal.x;
        double action = (drawn ? action_sum : 0.0) * action_value.x + action_value.y;
        double stop = (drawn ? stop_sum : 0.0) * stop_value.x + stop_value.y;
        bool stops = !(action > stop && entry != NO_SHORT_ENTRY);

        double reward = mean.x + job.reward_noise.scale * normal.x;
        if (taken != NO_SHORT_ENTRY) {
            *counter.table.sum_at(taken, 0) = taken_sum + (reward + paid);
            *counter.table.count_at(taken, 0) = taken_count + 1;
        }
        if (entry != NO_SHORT_ENTRY) {
            *counter.table.sum_at(entry, 1) = stop_sum + reward;
            *counter.table.count_at(entry, 1) = stop_count + 1;
        }
        paid = mean.y - job.cost_noise.scale * normal.y;
        gain += stops ? reward : paid;
        taken = stops ? NO_SHORT_ENTRY : entry;
        taken_sum = action_sum;
        taken_count = action_count;
        uint64_t nexts = to_bits(further.y);
        uint32_t next = further.x <= unit(y) ? (uint32_t)(nexts >> 32) : (uint32_t)nexts;
        next = stops ? job.first_entry << 16 : next;
        row = next & 0xffff;
        entry = next >> 16;
        run.left -= stops;
        if (any_thread(run.left == 0)) run.reach_checkpoint(job, rows, counter, 0, gain, place);
    }
};
