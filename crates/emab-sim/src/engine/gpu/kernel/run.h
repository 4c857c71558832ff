// The run that a thread plays, from checkpoint to checkpoint.
#pragma once
#include "checkpoint.h"

struct CurrentRun {
    uint32_t slot = NO_RUN; // its place in the list of runs
    bool idle = false;      // whether no run is left
    uint32_t left;          // episodes to the next checkpoint
    uint32_t position;      // the next checkpoint
    uint64_t steps = 0;     // up to the current group
    uint32_t groups = 0;    // of all runs

    // Takes the next run and returns its number. If there is none, the thread plays without reporting anything: the threads of a warp
    // stay together.
    DEVICE uint64_t take(const Job& job) {
        slot = idle ? NO_RUN - 1 : add_atomic(job.next_run, 1u);
        idle = slot >= job.run_count;
        left = job.checkpoints[idle ? job.checkpoint_count - 1 : 0];
        position = 0;
        steps = 0;
        return job.runs[idle ? 0 : slot];
    }

    // Called by all threads of a warp after a step, whose place in the group it is given, if one of them has reached a checkpoint.
    template <class Table>
    DEVICE void reach_checkpoint(const Job& job, const Rows& rows, const Counter<Table>& counter, uint32_t visited_count, double gain, int place) {
        bool reached = left == 0;
        Rows copy = {*job.copy, rows.records, rows.thread, rows.threads};
        Checkpoint<Table> checkpoint = {*job.copy, copy, counter, slot, position, visited_count, steps + place + 1, gain};
        report_all(checkpoint, reached && !idle);
        if (reached) {
            position++;
            bool ends = idle || position == job.checkpoint_count;
            left = ends ? NO_RUN : job.checkpoints[position] - job.checkpoints[position - 1];
            // The rest of the group is played without being counted.
            slot = ends ? NO_RUN : slot;
        }
    }

    // Ends a group of steps; false if no thread of the warp has a run left or the launch is halted.
    DEVICE bool end_group(const Job& job) {
        steps += GENERATORS;
        groups++;
        return any_thread(!idle) && !any_thread((groups & job.halt_mask) == 0 && is_set(job.halt));
    }
};

// Plays a group of steps; false if no thread of the warp has a run left or the launch is halted.
template <class Player> DEVICE bool play_group(Player& player) {
    if (player.run.slot == NO_RUN) player.begin_run();
    // Not all steps of a group are written out, so that the code fits into the cache of instructions.
    ROLLED
    for (int first = 0; first < GENERATORS; first += Player::UNROLLED) {
        UNROLL
        for (int i = 0; i < Player::UNROLLED; i++) player.step(i, first + i);
        player.generators.template rotate<Player::UNROLLED>();
    }
    return player.run.end_group(player.job);
}
