// The paper's FeedBAL job in plain C++: one run after another, one step after another.
// g++ -std=c++17 -O3 -march=native -pthread peer.cpp -o peer

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "random.hpp"

constexpr int EPISODES = 20000, HORIZON = 10, STATES = 10;
constexpr double BETA = 0.9, P = 0.8, NOISE_VARIANCE = 0.1, SIGMA2 = 0.2, DELTA = 0.01;

// What all runs share. Steps count from 0 here.
struct Tables {
    double chance[HORIZON];              // of a resource
    double reward[HORIZON][STATES];      // expected
    double gap[HORIZON][STATES][2] = {}; // what stopping, and what going on, loses against the benchmark
    struct { double width, inverse; } at[EPISODES + 1]; // by count

    Tables() {
        for (int t = 0; t < HORIZON; t++) {
            chance[t] = P / std::sqrt(t + 1);
            for (int x = 0; x < STATES; x++) reward[t][x] = std::pow(BETA, t) * x;
        }
        // The benchmark stops unless the next expected reward is larger. Pairs with x > t cannot be reached.
        double value[STATES];
        std::memcpy(value, reward[HORIZON - 1], sizeof value);
        for (int t = HORIZON - 2; t >= 0; t--) {
            for (int x = 0; x <= t; x++) {
                auto ahead = [&](const double *next) { return (1 - chance[t]) * next[x] + chance[t] * next[x + 1]; };
                double stop = reward[t][x], go = ahead(value), best = ahead(reward[t + 1]) > stop ? go : stop;
                gap[t][x][0] = best - stop, gap[t][x][1] = best - go;
                value[x] = best; // upwards in x: value[x + 1] is still that of the next step
            }
        }
        double k = HORIZON * STATES * 2;
        for (int i = 0; i <= EPISODES; i++) {
            double n = i, log = std::log(k * std::sqrt(1 + n) / DELTA);
            at[i] = {std::sqrt((1 + n) / (n * n) * 4 * SIGMA2 * log), 1 / n};
        }
    }
} const tables;

struct Cell {
    int count = 0;
    double sum = 0, index = std::numeric_limits<double>::infinity();

    void observe(double value) {
        auto [width, inverse] = tables.at[++count];
        sum += value;
        index = sum * inverse + width;
    }
};

struct Result {
    double regret = 0;
    long steps = 0;
};

Result run(Random random) {
    const double sd = std::sqrt(NOISE_VARIANCE);
    struct { Cell stop, go; } cells[HORIZON][STATES];
    Result result;
    for (int episode = 0; episode < EPISODES; episode++) {
        double reward = sd * random.normal();
        for (int t = 0, x = 0;;) {
            // No pair is met twice in an episode, so what is learned can be written down at once.
            auto &[stop, go] = cells[t][x];
            bool goes = t < HORIZON - 1 && go.index > stop.index;
            stop.observe(reward);
            result.regret += tables.gap[t][x][goes];
            result.steps++;
            if (!goes) break;
            double cost = sd * random.normal();
            x += random.uniform() < tables.chance[t];
            t++;
            reward = tables.reward[t][x] + sd * random.normal();
            go.observe(reward - cost);
        }
    }
    return result;
}

int main(int argc, char **argv) {
    long runs = 0, threads = 0, seed = -1;
    for (int i = 1; i + 1 < argc; i += 2) {
        long value = std::atol(argv[i + 1]);
        if (!std::strcmp(argv[i], "--runs")) runs = value;
        if (!std::strcmp(argv[i], "--threads")) threads = value;
        if (!std::strcmp(argv[i], "--seed")) seed = value;
    }
    if (runs < 2 || threads < 1 || seed < 0) {
        std::fprintf(stderr, "use: peer --runs R --threads T --seed S, with at least 2 runs\n");
        return 2;
    }
    auto start = std::chrono::steady_clock::now();
    std::vector<Result> results(runs);
    std::atomic<long> next{0};
    std::vector<std::thread> pool;
    for (long i = 0; i < threads; i++)
        pool.emplace_back([&] {
            for (long r; (r = next++) < runs;) results[r] = run(Random(static_cast<uint64_t>(seed) << 32 | r));
        });
    for (auto &thread : pool) thread.join();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    double sum = 0, squares = 0;
    long steps = 0;
    for (auto &r : results) sum += r.regret, steps += r.steps;
    double mean = sum / runs;
    for (auto &r : results) squares += (r.regret - mean) * (r.regret - mean);
    std::printf("{\"peer\": \"C++\", \"runs\": %ld, \"regret\": %.9g, \"stderr\": %.9g, ", runs, mean,
                std::sqrt(squares / (runs - 1) / runs));
    std::printf("\"steps\": %ld, \"seconds\": %.9g}\n", steps, seconds);
}
