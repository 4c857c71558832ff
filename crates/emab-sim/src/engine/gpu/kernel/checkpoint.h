// What a thread reports of its run at a checkpoint: regret from counts, gain, and at the end causes, stuck runs and choices.
#pragma once
#include "learners.h"
#include "rows.h"

const uint32_t NEVER = 0xffffffffu, NO_RUN = 0xffffffffu;

// Values that a thread reads before it uses the first of them.
const uint32_t AT_ONCE = 4;

// Regret by cause: early stop, late stop, wrong action.
struct Causes {
    double of[3];
};

// How often a loss was paid, times the loss.
struct PaidLoss {
    double value;
    uint32_t cause;
};

// How often an episode was stopped in the row of an entry.
template <class Counts> DEVICE uint32_t stopped(const Counts& counts, uint32_t entry) {
    uint32_t stopped = counts.count(entry, counts.actions);
    for (uint32_t a = 0; a < counts.actions; a++) stopped -= counts.count(entry, a);
    return stopped;
}

template <class Counts> DEVICE double paid(const Counts& counts, const Loss& loss) {
    uint32_t count = loss.action == counts.actions ? stopped(counts, loss.entry) : counts.count(loss.entry, loss.action);
    return (double)count * loss.loss;
}

// The counts of a thread at one of its checkpoints.
template <class Table> struct Snapshot {
    const uint32_t* words;
    uint32_t stride;
    uint32_t actions;

    DEVICE uint32_t count(uint32_t entry, uint32_t column) const {
        uint32_t word = words[(entry + (Table::WORD_ENTRIES == 1 ? column : 0)) / Table::WORD_ENTRIES * stride];
        return Table::WORD_ENTRIES == 1 ? word : column ? word >> 16 : word & 0xffff;
    }
};

template <class Table> struct Checkpoint {
    const Job& job;
    Rows rows;
    Counter<Table> counter;
    uint32_t slot;     // the place of the run in the list of runs
    uint32_t position; // of the checkpoint
    uint32_t visited_count;
    uint64_t steps;
    double gain;

    DEVICE uint32_t actions() const { return Table::ACTIONS ? Table::ACTIONS : counter.actions; }
    DEVICE bool is_last() const { return position + 1 == job.checkpoint_count; }

    // Called by all threads of a warp: reports the checkpoint of one of them.
    DEVICE void report_of(uint32_t other) const {
        Checkpoint its = *this;
        int32_t places = (int32_t)other - (int32_t)place_in_warp();
        its.counter.table.move(places);
        its.rows.thread += places;
        its.slot = number_of(other, slot);
        its.position = number_of(other, position);
        its.visited_count = number_of(other, visited_count);
        // Where rows are short, they are few.
        if (Table::WORD_ENTRIES == 1 && rows.sparse()) {
            Causes causes = its.regret_of_visited();
            if (place_in_warp() == other) its.report_regret(its.position, causes);
        } else {
            its.take_snapshot();
            if (its.is_last() || (its.position + 1) % job.snapshot_count == 0) its.report_snapshots();
        }
        if (place_in_warp() == other) report();
    }

    // Each thread takes some losses of the visited rows; then they are added up in the order of the first visits. Adding 0 would
    // change nothing.
    DEVICE Causes regret_of_visited() const {
        Causes causes = {};
        uint32_t count = visited_count * job.row_losses;
        for (uint32_t first = 0; first < count; first += AT_ONCE * WARP) {
            PaidLoss losses[AT_ONCE];
            UNROLL
            for (uint32_t i = 0; i < AT_ONCE; i++) losses[i] = paid_in_visited(first + i * WARP + place_in_warp(), count);
            UNROLL
            for (uint32_t i = 0; i < AT_ONCE; i++) {
                UNROLL
                for (uint32_t cause = 0; cause < 3; cause++) {
                    uint32_t mask = vote(losses[i].value != 0.0 && losses[i].cause == cause);
                    for (; mask; mask &= mask - 1) causes.of[cause] += value_of(first_bit(mask), losses[i].value);
                }
            }
        }
        return causes;
    }
    // Places behind the last loss read that one and count as 0.
    DEVICE PaidLoss paid_in_visited(uint32_t i, uint32_t count) const {
        uint32_t it = i < count ? i : count - 1;
        Loss loss = load_loss(rows.visited(it / job.row_losses) * job.row_losses + it % job.row_losses);
        double value = paid(counter, loss);
        return {i < count ? value : 0.0, loss.cause};
    }

    // With few rows, the counts are copied, and added up when there are as many copies as threads in a warp.
    DEVICE uint32_t* snapshot(uint32_t i) const { return job.snapshots + (uint64_t)rows.thread * job.entries * job.snapshot_count + i; }
    DEVICE void take_snapshot() const {
        uint32_t* to = snapshot(position % job.snapshot_count);
        uint32_t count = job.entries / Table::WORD_ENTRIES;
        for (uint32_t first = place_in_warp(); first < count; first += AT_ONCE * WARP) {
            uint32_t words[AT_ONCE];
            UNROLL
            for (uint32_t i = 0; i < AT_ONCE; i++) words[i] = first + i * WARP < count ? counter.table.word(first + i * WARP) : 0;
            UNROLL
            for (uint32_t i = 0; i < AT_ONCE; i++) {
                if (first + i * WARP < count) to[(first + i * WARP) * job.snapshot_count] = words[i];
            }
        }
        vote(true); // all have read the counts before they change
    }
    // Each thread adds up the losses of one checkpoint.
    DEVICE void report_snapshots() const {
        uint32_t first = position - position % job.snapshot_count, mine = first + place_in_warp();
        if (mine <= position) {
            Snapshot<Table> counts = {snapshot(place_in_warp()), job.snapshot_count, actions()};
            Causes causes = {};
            uint32_t k = 0;
            UNROLL
            for (uint32_t cause = 0; cause < 3; cause++) {
                for (; k < job.cause_ends[cause]; k++) causes.of[cause] += paid(counts, load_loss(k));
            }
            report_regret(mine, causes);
        }
        vote(true); // all have reported before the run ends
    }

    DEVICE void report_regret(uint32_t of, const Causes& causes) const {
        job.at[(uint64_t)slot * job.checkpoint_count + of].x = causes.of[0] + causes.of[1] + causes.of[2];
        UNROLL
        for (int cause = 0; cause < 3 && of + 1 == job.checkpoint_count; cause++) job.causes[(uint64_t)slot * 3 + cause] = causes.of[cause];
    }
    DEVICE void report() const {
        job.at[(uint64_t)slot * job.checkpoint_count + position].y = gain;
        if (position == job.half_at) keep_half();
        uint32_t before = position == 0 ? 0 : job.checkpoints[position - 1];
        add_atomic(job.played, (uint64_t)(job.checkpoints[position] - before));
        if (!is_last()) return;
        job.stuck[slot] = is_stuck();
        if (job.last) add_choices();
        fence();
        job.steps[slot] = steps;
    }

    // In one access.
    DEVICE Loss load_loss(uint32_t k) const {
        double2 both = load_two((const double2*)job.losses + k);
        uint64_t rest = to_bits(both.y);
        return {both.x, (uint32_t)rest, (uint16_t)(rest >> 32), (uint16_t)(rest >> 48)};
    }

    // Visits to a pair of the benchmark, and choices there that are as good as its own.
    DEVICE uint2 benchmark_counts(uint32_t i) const {
        uint32_t entry = job.benchmark_entries[i];
        const uint8_t* good = job.good + (uint64_t)i * (actions() + 1);
        uint32_t visits = counter.count(entry, actions());
        uint32_t stopped = visits, sum = 0;
        for (uint32_t a = 0; a < actions(); a++) {
            uint32_t count = counter.count(entry, a);
            stopped -= count;
            sum += good[a] ? count : 0;
        }
        return {visits, sum + (good[actions()] ? stopped : 0)};
    }
    DEVICE uint2& half(uint32_t i) const { return job.half[(uint64_t)i * rows.threads + rows.thread]; }
    DEVICE void keep_half() const {
        for (uint32_t i = 0; i < job.benchmark_count; i++) half(i) = benchmark_counts(i);
    }
    DEVICE bool is_stuck() const {
        bool stuck = false;
        for (uint32_t i = 0; i < job.benchmark_count && job.half_at != NEVER; i++) {
            uint2 now = benchmark_counts(i), before = half(i);
            stuck |= now.x - before.x >= 100 && now.y == before.y;
        }
        return stuck;
    }

    DEVICE void add_choices() const {
        for (uint32_t j = 0; j < rows.count(visited_count); j++) {
            const RowRecord* at = rows.at(j);
            if (counter.count(at->entry, actions()) == 0) continue;
            uint32_t number = at->number & ~LAST_STEP;
            uint64_t first_choice = (uint64_t)number * (actions() + 1);
            for (uint32_t a = 0; a <= actions(); a++) {
                uint32_t count = a == actions() ? stopped(counter, at->entry) : counter.count(at->entry, a);
                if (count) add_atomic(job.chosen + first_choice + a, (uint64_t)count);
            }
            add_atomic(job.ended_with + first_choice + rows.last(number), (uint64_t)1);
        }
    }
};

// Reports all threads of a warp that have reached a checkpoint. A function of its own, so that the steps of a group share its code.
template <class Table> CALLED void report_all(Checkpoint<Table> checkpoint, bool reached) {
    for (uint32_t all = vote(reached); all; all &= all - 1) checkpoint.report_of(first_bit(all));
}
