// The kernels on the processor, for tests. The threads of a launch take turns: those of a warp whenever they exchange values, warps after
// each group of steps.
#include "one_action.h"
#include "play.h"

#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace {

struct Warp;
thread_local Warp* current = nullptr;

// The threads of a warp, each with a stack of its own; one after another they run until they exchange values.
struct Warp {
    static constexpr size_t STACK = 1 << 16;
    ucontext_t begins[WARP];
    bool has_begun[WARP] = {};
    jmp_buf launch, threads[WARP];
    std::vector<uint8_t> stacks = std::vector<uint8_t>(WARP * STACK);
    uint64_t values[2][WARP];
    uint32_t exchanges[WARP] = {};
    uint32_t running = 0;
    bool ended = false;

    // Runs a thread, and returns when the stack that is left is continued. Unlike `swapcontext` it makes no call of the system.
    __attribute__((noinline)) void leave(jmp_buf& from, uint32_t thread) {
        if (_setjmp(from)) return;
        running = thread;
        if (has_begun[thread]) _longjmp(threads[thread], 1);
        has_begun[thread] = true;
        setcontext(&begins[thread]);
    }
    // Runs the next thread.
    void turn() { leave(threads[running], (running + 1) % WARP); }
    // After a group of steps, the last thread returns to the launch.
    void pause() {
        if (running + 1 < WARP) return turn();
        if (!_setjmp(threads[running])) _longjmp(launch, 1);
    }
    // Plays a group of steps of all threads.
    bool play() {
        current = this;
        leave(launch, 0);
        return !ended;
    }
};

template <class P> struct PlayingWarp : Warp {
    std::vector<std::unique_ptr<P>> players;

    static void run(uint32_t high, uint32_t low) {
        auto* warp = (PlayingWarp*)((uint64_t)high << 32 | low);
        P& player = *warp->players[warp->running];
        while (play_group(player)) warp->pause();
        warp->ended = true;
        warp->pause();
    }
    void start() {
        uint64_t address = (uint64_t)this;
        for (uint32_t i = 0; i < WARP; i++) {
            getcontext(&begins[i]);
            begins[i].uc_stack.ss_sp = stacks.data() + i * STACK;
            begins[i].uc_stack.ss_size = STACK;
            begins[i].uc_link = nullptr;
            makecontext(&begins[i], (void (*)())run, 2, (uint32_t)(address >> 32), (uint32_t)address);
        }
    }
};

} // namespace

uint32_t place_in_warp() { return current->running; }

const uint64_t* exchange(uint64_t value) {
    Warp& warp = *current;
    uint32_t thread = warp.running;
    // The others may read the values of this exchange when this thread is at the next one already.
    uint64_t* values = warp.values[warp.exchanges[thread]++ % 2];
    values[thread] = value;
    warp.turn();
    // All take part, and some may be at the next exchange already; on a card anything else is undefined.
    uint32_t mine = warp.exchanges[thread];
    for (uint32_t count : warp.exchanges) {
        if (count != mine && count != mine + 1) std::abort();
    }
    return values;
}

template <class P> void play(const Job& job, uint32_t blocks, uint32_t threads, uint32_t shared_size) {
    std::vector<std::vector<double2>> shared(blocks, std::vector<double2>(shared_size / sizeof(double2) + 1));
    std::vector<std::unique_ptr<PlayingWarp<P>>> warps;
    for (uint32_t block = 0; block < blocks; block++) {
        uint8_t* tables = (uint8_t*)shared[block].data();
        const uint8_t* rows = job.rows;
        if (P::SHORT_ROWS || job.rows_in_shared) {
            std::memcpy(tables, job.rows, job.rows_size);
            rows = tables;
            tables += job.rows_size;
        }
        for (uint32_t thread = 0; thread < threads; thread++) {
            P::clear_tables(job, tables, thread, block, threads);
            if (thread % WARP == 0) warps.push_back(std::make_unique<PlayingWarp<P>>());
            warps.back()->players.push_back(std::make_unique<P>(job, rows, tables, thread, block, threads, blocks));
        }
    }
    for (auto& warp : warps) warp->start();
    while (!warps.empty()) {
        std::vector<std::unique_ptr<PlayingWarp<P>>> playing;
        for (auto& warp : warps) {
            if (warp->play()) playing.push_back(std::move(warp));
        }
        warps = std::move(playing);
    }
}

#define KERNEL(name, ...) \
    extern "C" void emab_##name(const Job* job, uint32_t blocks, uint32_t threads, uint32_t shared_size) { \
        play<__VA_ARGS__>(*job, blocks, threads, shared_size); \
    }
#include "kernels.h"
