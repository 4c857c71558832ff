// Expected regret of the paper's learners, by a loop that shares nothing with emab: the problem, the benchmark, the
// learners and the draws are written out here. One JSON line for each case; see README.md.
// g++ -std=c++17 -O3 -march=native -pthread reference.cpp -o reference

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "../peers/random.hpp"

// One continuation action; x is the number of successes so far. Steps count from 0 here.
struct Problem {
    int horizon;
    double noise_variance;
    std::vector<double> chance;              // of a success, by step
    std::vector<std::vector<double>> reward; // expected, by step and state
    std::vector<std::vector<double>> gap[2]; // what stopping, and what going on, loses against the benchmark
    double value;                            // of the benchmark

    Problem(int steps, double variance, std::function<double(int)> p, std::function<double(int, int)> r)
        : horizon(steps), noise_variance(variance), chance(steps), reward(steps, std::vector<double>(steps)) {
        for (int t = 0; t < steps; t++) {
            chance[t] = p(t);
            for (int x = 0; x < steps; x++) reward[t][x] = r(t, x);
        }
        gap[0] = gap[1] = std::vector<std::vector<double>>(steps, std::vector<double>(steps));
        std::vector<double> after = reward[steps - 1];
        for (int t = steps - 2; t >= 0; t--) {
            std::vector<double> now = reward[t];
            for (int x = 0; x <= t; x++) {
                auto ahead = [&](const std::vector<double> &next) {
                    return (1 - chance[t]) * next[x] + chance[t] * next[x + 1];
                };
                // The benchmark goes on if the next expected reward is larger.
                double stop = reward[t][x], go = ahead(after);
                now[x] = ahead(reward[t + 1]) > stop ? go : stop;
                gap[0][t][x] = now[x] - stop, gap[1][t][x] = now[x] - go;
            }
            after = now;
        }
        value = after[0];
    }
};

struct Run {
    std::vector<double> regret; // at the checkpoints
    double gain = 0;            // expected rewards along the path
    bool stops_at_once = false; // in the last episode
};

// One episode: `goes(t, x)` decides, `saw(t, x, reward)` and `paid(t, x, cost, next reward)` learn.
template <class Goes, class Saw, class Paid>
void play(const Problem &problem, Random &random, Run &run, double &regret, Goes goes, Saw saw, Paid paid) {
    const double sd = std::sqrt(problem.noise_variance);
    int t = 0, x = 0;
    double reward = problem.reward[0][0] + sd * random.normal();
    while (true) {
        bool on = t < problem.horizon - 1 && goes(t, x);
        saw(t, x, reward);
        regret += problem.gap[on][t][x];
        if (!on) break;
        double cost = sd * random.normal();
        int from = x;
        x += random.uniform() < problem.chance[t];
        t++;
        reward = problem.reward[t][x] + sd * random.normal();
        paid(t - 1, from, cost, reward);
    }
    run.gain += problem.reward[t][x];
    run.stops_at_once = t == 0;
}

struct Cell {
    long count = 0;
    double sum = 0;
    void add(double value) { count++, sum += value; }
};

// Algorithm 2 with widths sqrt((1 + N) / N^2 * w * log(K sqrt(1 + N) / delta)); stop wins ties.
struct FeedBal {
    const Problem &problem;
    std::vector<double> width[2]; // of stop and of going on, by count
    std::vector<Cell> cells;      // by step, state and action

    FeedBal(const Problem &of, double stop, double go, double delta, long episodes)
        : problem(of), cells(of.horizon * of.horizon * 2) {
        double k = of.horizon * of.horizon * 2;
        for (int a = 0; a < 2; a++) {
            width[a].push_back(std::numeric_limits<double>::infinity());
            for (double n = 1; n <= episodes; n++)
                width[a].push_back(std::sqrt((1 + n) / (n * n) * (a ? go : stop) * std::log(k * std::sqrt(1 + n) / delta)));
        }
    }
    Cell &cell(int t, int x, int a) { return cells[(t * problem.horizon + x) * 2 + a]; }
    double index(int t, int x, int a) {
        const Cell &c = cell(t, x, a);
        return c.count ? c.sum / c.count + width[a][c.count] : width[a][0];
    }
    void reset() { std::fill(cells.begin(), cells.end(), Cell()); }
    void episode(Random &random, Run &run, double &regret) {
        play(
            problem, random, run, regret, [&](int t, int x) { return index(t, x, 1) > index(t, x, 0); },
            [&](int t, int x, double reward) { cell(t, x, 0).add(reward); },
            [&](int t, int x, double cost, double reward) { cell(t, x, 1).add(reward - cost); });
    }
};

// UCB1 over the fixed sequences "stop at step k", on unscaled gains: each once, then the largest
// mean + sqrt(2 ln(episodes so far) / N), the lowest of equal ones. Virtual: every prefix of what was played learns too.
struct Ucb1 {
    const Problem &problem;
    bool is_virtual;
    long played = 0;
    std::vector<Cell> arms;

    Ucb1(const Problem &of, bool with_prefixes) : problem(of), is_virtual(with_prefixes), arms(of.horizon) {}
    void reset() { played = 0, std::fill(arms.begin(), arms.end(), Cell()); }
    void episode(Random &random, Run &run, double &regret) {
        int arm = 0;
        double best = -std::numeric_limits<double>::infinity(), log = 2 * std::log(static_cast<double>(played));
        for (int i = 0; i < problem.horizon; i++) {
            const Cell &c = arms[i];
            double index = c.count ? c.sum / c.count + std::sqrt(log / c.count) : std::numeric_limits<double>::infinity();
            if (index > best) best = index, arm = i;
        }
        double costs = 0;
        play(
            problem, random, run, regret, [&](int t, int) { return t < arm; },
            [&](int t, int, double reward) {
                if (is_virtual || t == arm) arms[t].add(reward - costs);
            },
            [&](int, int, double cost, double) { costs += cost; });
        played++;
    }
};

struct Moments {
    double sum = 0, squares = 0;
    void add(double v) { sum += v, squares += v * v; }
    double mean(double n) const { return sum / n; }
    double deviation(double n) const { return std::sqrt(std::max(0.0, squares - sum * sum / n) / (n - 1)); }
};

long cases = 0; // simulated so far; each has its own draws

template <class Make>
void simulate(const char *name, const Problem &problem, Make make, long runs, std::vector<long> at, long threads, uint64_t seed) {
    const uint64_t stream = seed << 40 | static_cast<uint64_t>(++cases) << 32;
    // By run, so that the sums do not depend on the threads.
    std::vector<Run> done(runs);
    std::atomic<long> next{0};
    std::vector<std::thread> pool;
    for (long i = 0; i < threads; i++)
        pool.emplace_back([&] {
            auto learner = make();
            for (long r; (r = next++) < runs;) {
                Random random(stream | static_cast<uint64_t>(r));
                learner.reset();
                double regret = 0;
                for (long n = 1, c = 0; c < static_cast<long>(at.size()); n++) {
                    learner.episode(random, done[r], regret);
                    if (n == at[c]) done[r].regret.push_back(regret), c++;
                }
            }
        });
    for (auto &thread : pool) thread.join();
    std::printf("{\"case\": \"%s\", \"runs\": %ld, \"value\": %.10g, \"curve\": [", name, runs, problem.value);
    double n = static_cast<double>(runs);
    Moments gain;
    long stuck = 0;
    for (auto &run : done) gain.add(run.gain), stuck += run.stops_at_once;
    double deviation = 0;
    for (size_t c = 0; c < at.size(); c++) {
        Moments regret;
        for (auto &run : done) regret.add(run.regret[c]);
        deviation = regret.deviation(n);
        std::printf("%s{\"episode\": %ld, \"regret\": %.9g, \"stderr\": %.9g}", c ? ", " : "", at[c], regret.mean(n), deviation / std::sqrt(n));
    }
    std::printf("], \"regret_sd\": %.9g, \"gain_sd\": %.9g, \"stop_at_once\": %.9g}\n", deviation, gain.deviation(n), stuck / n);
    std::fflush(stdout);
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
        std::fprintf(stderr, "use: reference --runs R --threads T --seed S, with at least 2 runs\n");
        return 2;
    }
    const Problem resource(
        10, 0.1, [](int t) { return 0.8 / std::sqrt(t + 1); }, [](int t, int x) { return std::pow(0.9, t) * x; });
    const std::vector<long> at{100, 1000, 5000, 10000, 20000};
    auto feedbal = [&](const char *name, double sigma2) {
        auto make = [&] { return FeedBal(resource, 4 * sigma2, 4 * sigma2, 0.01, at.back()); };
        simulate(name, resource, make, runs, at, threads, seed);
    };
    feedbal("feedbal", 0.2);
    simulate("ucb1", resource, [&] { return Ucb1(resource, false); }, runs, at, threads, seed);
    simulate("ucb1v", resource, [&] { return Ucb1(resource, true); }, runs, at, threads, seed);
    feedbal("feedbal:sigma2=0.02", 0.02);
    feedbal("feedbal:sigma2=0.05", 0.05);
    feedbal("feedbal:sigma2=0.4", 0.4);

    // Two steps: 0.45 at once, or a fair coin worth 1. A fifth of the runs are enough here.
    const Problem coin(
        2, 0.0025, [](int) { return 0.5; }, [](int t, int x) { return t ? x : 0.45; });
    auto gap = [&](const char *name, double stop, double go, double delta, long episodes) {
        auto make = [&] { return FeedBal(coin, stop, go, delta, episodes); };
        simulate(name, coin, make, std::max(2L, runs / 5), {episodes}, threads, seed);
    };
    const double paper = 4 * 0.0025, sound = 2 * (2 * 0.0025 + 0.25);
    gap("feedback-gap, paper's width", paper, paper, 0.01, 10000);
    gap("feedback-gap, sound coefficient for both", sound, sound, 0.01, 10000);
    gap("feedback-gap, width=sound", 2 * 0.0025, sound, 0.01, 10000);
    gap("feedback-gap, paper's width, delta = 1/n", paper, paper, 1.0 / 2000, 2000);
    gap("feedback-gap, paper's width, delta = 1/n", paper, paper, 1.0 / 10000, 10000);
}
