// The rows of the problem, and a thread's lists by row.
#pragma once
#include "job.h"

struct Rows {
    const Job& job;
    const uint8_t* records;   // in shared memory if they fit
    uint32_t thread, threads; // the number of this thread in the launch, and of all

    DEVICE const RowRecord* record(uint32_t offset) const { return (const RowRecord*)(records + offset); }
    // Whether there are too many rows to look at all of them.
    DEVICE bool sparse() const { return job.visited != nullptr; }
    // The number of the row that was visited first after `i` others.
    DEVICE uint32_t& visited(uint32_t i) const { return job.visited[(uint64_t)thread * job.row_count + i]; }
    DEVICE uint32_t& last(uint32_t number) const { return job.last[(uint64_t)number * threads + thread]; }
    // The rows to look at: all of them, or those visited.
    DEVICE uint32_t count(uint32_t visited_count) const { return sparse() ? visited_count : job.row_count; }
    DEVICE const RowRecord* at(uint32_t i) const { return record((sparse() ? visited(i) : i) * job.record_size); }
};
