// Where the entries of a thread lie.
#pragma once
#include "job.h"

// A thread's entries in shared memory, interleaved with those of the other threads so that no two threads of a warp use the same
// bank. Counts have 16 bits.
struct SharedTable {
    static constexpr uint32_t ACTIONS = 0; // any number
    static constexpr uint32_t WORD_ENTRIES = 1;
    uint8_t* sums;
    uint8_t* counts;
    uint32_t threads;

    DEVICE SharedTable(const Job& job, uint8_t* shared, uint32_t thread, uint32_t, uint32_t threads_)
        : sums(shared + thread * 8), counts(shared + job.entries * threads_ * 8 + thread * 2), threads(threads_) {}
    DEVICE double* sum_at(uint32_t entry, uint32_t column) const { return (double*)(sums + (entry + column) * threads * 8); }
    DEVICE uint16_t* count_at(uint32_t entry, uint32_t column) const {
        return (uint16_t*)(counts + (entry + column) * threads * 2);
    }
    // The count of an entry, or those of two.
    DEVICE uint32_t word(uint32_t i) const { return *count_at(i, 0); }
    // The counts of the thread so many places further.
    DEVICE void move(int32_t places) { counts += places * 2; }
};

// The same with two entries to a row, whose counts share a word.
struct PairTable {
    static constexpr uint32_t ACTIONS = 1;
    static constexpr uint32_t WORD_ENTRIES = 2;
    uint8_t* sums;
    uint8_t* counts;
    uint32_t threads;

    DEVICE PairTable(const Job& job, uint8_t* shared, uint32_t thread, uint32_t, uint32_t threads_)
        : sums(shared + thread * 8), counts(shared + job.entries * threads_ * 8 + thread * 4), threads(threads_) {}
    DEVICE double* sum_at(uint32_t entry, uint32_t column) const { return (double*)(sums + (entry + column) * threads * 8); }
    DEVICE uint32_t* counts_at(uint32_t entry) const { return (uint32_t*)(counts + (entry >> 1) * threads * 4); }
    DEVICE uint16_t* count_at(uint32_t entry, uint32_t column) const { return (uint16_t*)counts_at(entry) + column; }
    DEVICE uint32_t word(uint32_t i) const { return *counts_at(2 * i); }
    DEVICE void move(int32_t places) { counts += places * 4; }
};

// A thread's entries in shared memory or in that of the card, with counts of 32 bits.
struct AnyTable {
    static constexpr uint32_t ACTIONS = 0;
    static constexpr uint32_t WORD_ENTRIES = 1;
    uint8_t* sums;
    uint8_t* counts;
    uint32_t sum_stride, count_stride, thread_count_stride;

    DEVICE AnyTable(const Job& job, uint8_t* shared, uint32_t thread, uint32_t block, uint32_t threads) {
        const Layout& layout = job.layout;
        uint8_t* begin = layout.in_shared ? shared : job.tables + (uint64_t)block * threads * job.table_size;
        sums = begin + (uint64_t)thread * layout.thread_sum_stride;
        counts = begin + layout.counts_at + (uint64_t)thread * layout.thread_count_stride;
        sum_stride = layout.sum_stride;
        count_stride = layout.count_stride;
        thread_count_stride = layout.thread_count_stride;
    }
    DEVICE double* sum_at(uint32_t entry, uint32_t column) const { return (double*)(sums + (uint64_t)(entry + column) * sum_stride); }
    DEVICE uint32_t* count_at(uint32_t entry, uint32_t column) const {
        return (uint32_t*)(counts + (uint64_t)(entry + column) * count_stride);
    }
    DEVICE uint32_t word(uint32_t i) const { return *count_at(i, 0); }
    DEVICE void move(int32_t places) { counts += (int64_t)places * thread_count_stride; }
};
