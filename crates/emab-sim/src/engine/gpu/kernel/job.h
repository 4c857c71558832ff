// What a launch is given: the same fields in the same order as `Job` in `job.rs`.
#pragma once
#include "platform.h"

// An allowed action has a record after that of its row.
struct ActionRecord {
    double payment; // the negated expected cost
    double bound;   // two feedbacks: a uniform draw below it is feedback 0
    uint32_t next[2]; // two feedbacks: the offsets of the next rows
    uint32_t first; // otherwise: its place in `bounds` and `nexts`
    uint32_t allowed;
};

// A row: a step-state pair. The records of its actions follow.
struct RowRecord {
    double reward;
    uint32_t entry;   // the entry of its first action; that of `stop` comes after the actions; NO_ENTRY if it has none
    uint32_t number; // in the order of the pairs; the highest bit marks the last step
};

// A row of a problem with one action, two feedbacks, normal noise and one start, in 32 bytes, so that all fit beside the tables.
struct ShortRow {
    double reward, payment, bound;
    uint32_t next[2]; // by feedback: the offset of the next row, and in the upper half its first entry; NO_SHORT_ENTRY if it has none
};

const uint32_t LAST_STEP = 1u << 31;

// Rows in which nothing but `stop` is allowed have no entries, because nothing is decided there, unless choices are counted or the learner
// reads all rows.
const uint32_t NO_ENTRY = 0xffffffffu, NO_SHORT_ENTRY = 0xffff;

// A choice that costs something.
struct Loss {
    double loss;
    uint32_t entry; // of the row
    uint16_t action; // the number of actions for `stop`
    uint16_t cause;  // 0 early stop, 1 late stop, 2 wrong action
};

// Where a thread's table lies: an entry has its sum at `sums + entry * sum_stride` and its count at `counts + entry * count_stride`,
// each from the thread's own beginning.
struct Layout {
    uint32_t in_shared;
    uint32_t sum_stride, count_stride;
    uint32_t thread_sum_stride, thread_count_stride;
    uint32_t counts_at; // the beginning of the counts, after that of the sums
};

struct NoiseTransform {
    double scale, slope, offset;
    uint64_t is_bernoulli;
};

struct Job {
    // The same job in the memory of the card: if the address of the kernel's argument were taken, all its fields would be read from memory.
    const Job* copy;
    // The problem.
    const uint8_t* rows; // records, or short rows
    uint64_t rows_size;
    const double* bounds;
    const uint32_t* nexts;
    const double* starts;
    NoiseTransform reward_noise, cost_noise;
    uint32_t has_normal, has_uniform;
    uint32_t actions, feedbacks;
    uint32_t start_count, row_count;
    uint32_t rows_in_shared, record_size;
    // What choices cost.
    const Loss* losses;     // by cause and then by row; by row, the same number for each, if only visited rows are looked at
    uint32_t cause_ends[3]; // by cause: the end of its losses
    uint32_t row_losses;    // the number of losses of a row
    uint32_t snapshot_count; // of counts at checkpoints
    uint32_t first_entry;    // the first entry of the first row
    // The learner.
    const double2* action_index;
    const double2* stop_index;
    const double* first_sums; // by entry
    const uint32_t* policy;   // by row
    const uint32_t* plans;    // by arm: the arms of the prefixes of its sequence, then its actions
    const uint32_t* plan_at;  // by arm: its place in `plans`; one more at the end
    const double* radius;     // by episode
    const double2* by_count;  // reciprocal, and reciprocal of the root
    const double* ziggurat;
    uint32_t ties_random, virtual_updates;
    uint32_t entries, arms; // a thread's table has the arms, or costs and transitions, after the entries
    double prior_mean, prior_variance;
    double noise_action, noise_stop;
    const uint32_t* transition_at; // by entry: its first transition; one more at the end
    const uint32_t* transition_to; // by transition: the entry of `stop` of the row that follows; NO_ENTRY if its probability is 0
    const double* reward_width;    // by count
    const double2* action_width;   // by count: of a cost, and of a gain without its feedback
    const double* n_log_n;         // by count
    const double* log_gamma;       // by twice the argument
    double log_bounds, max_spread; // of the width of the feedback: log(K'/delta), and the upper limit on the spread
    // Memory of each thread.
    uint8_t* tables;
    uint64_t table_size; // bytes
    Layout layout;
    uint32_t* visited; // rows in the order of their first visit, if there are too many to look at all of them
    uint32_t* snapshots; // by entry and checkpoint: counts, unless there are too many rows
    uint32_t* last;    // by row: the last choice
    uint2* half;       // by row of the benchmark: visits and good choices in the first half
    // Stuck runs.
    const uint32_t* benchmark_entries; // by row of the benchmark: its first entry
    const uint8_t* good;            // by row of the benchmark and action, `stop` last
    uint32_t benchmark_count;
    uint32_t half_at; // the checkpoint of the middle
    // The runs.
    const uint64_t* runs;
    uint64_t seed;
    const uint32_t* checkpoints;
    uint32_t checkpoint_count;
    uint32_t run_count;
    uint32_t* next_run;
    const uint32_t* halt;
    uint64_t* played; // episodes
    uint64_t halt_mask; // `halt` is read after a group of steps whose number has none of these bits
    // Results.
    double2* at;     // by run and checkpoint: regret and gain
    double* causes;  // by run and cause
    uint64_t* steps; // by run; 0 until it is finished
    uint8_t* stuck;
    uint64_t* chosen;     // by row and action
    uint64_t* ended_with; // likewise
};
