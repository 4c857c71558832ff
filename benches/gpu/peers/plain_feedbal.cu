// The paper's FeedBAL job in plain CUDA: one thread plays one run, one step after another; a port of benches/peers/peer.cpp.
// nvcc -O3 -arch=sm_90 plain_feedbal.cu -o plain_feedbal             single precision
// nvcc -O3 -arch=sm_90 -DDOUBLE plain_feedbal.cu -o plain_feedbal    double precision

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>
#include <curand_kernel.h>

constexpr int HORIZON = 10, STATES = 10;
constexpr double BETA = 0.9, P = 0.8, NOISE_VARIANCE = 0.1, SIGMA2 = 0.2, DELTA = 0.01;

using Generator = curandStatePhilox4_32_10_t;

#ifdef DOUBLE
using Real = double;
using Real2 = double2;
constexpr const char *PRECISION = "float64";
__device__ Real uniform(Generator *g) { return curand_uniform_double(g); }
__device__ Real2 normals(Generator *g) { return curand_normal2_double(g); }
#else
using Real = float;
using Real2 = float2;
constexpr const char *PRECISION = "float32";
__device__ Real uniform(Generator *g) { return curand_uniform(g); }
__device__ Real2 normals(Generator *g) { return curand_normal2(g); }
#endif

// What all runs share. Steps count from 0 here.
struct Tables {
    Real chance[HORIZON];         // of a resource
    Real reward[HORIZON][STATES]; // expected
    Real gap[HORIZON][STATES][2]; // what stopping, and what going on, loses against the benchmark
};

struct Width {
    Real width, inverse; // of the count
};

struct Cell {
    int count;
    Real sum, index;
};

struct Result {
    double regret;
    long long steps;
};

__constant__ Tables tables;

__device__ void observe(Cell &cell, Real value, const Width *widths) {
    Width at = widths[++cell.count];
    cell.sum += value;
    cell.index = cell.sum * at.inverse + at.width;
}

__global__ void play(int runs, int episodes, unsigned long long seed, const Width *__restrict__ widths, Result *results) {
    int run = blockIdx.x * blockDim.x + threadIdx.x;
    if (run >= runs) return;
    Generator generator;
    curand_init(seed, run, 0, &generator);
    const Real sd = sqrt(NOISE_VARIANCE);

    Cell cells[HORIZON][STATES][2]; // stop, go
    for (int t = 0; t < HORIZON; t++)
        for (int x = 0; x < STATES; x++)
            for (int a = 0; a < 2; a++) cells[t][x][a] = {0, 0, static_cast<Real>(INFINITY)};

    double regret = 0;
    long long steps = 0;
    for (int episode = 0; episode < episodes; episode++) {
        Real reward = sd * normals(&generator).x, lost = 0;
        int t = 0, x = 0;
        while (true) {
            // No pair is met twice in an episode, so what is learned can be written down at once.
            Cell &stop = cells[t][x][0], &go = cells[t][x][1];
            bool goes = t < HORIZON - 1 && go.index > stop.index;
            observe(stop, reward, widths);
            lost += tables.gap[t][x][goes];
            steps++;
            if (!goes) break;
            Real2 noise = normals(&generator);
            x += uniform(&generator) <= tables.chance[t]; // cuRAND's uniform is in (0, 1]
            t++;
            reward = tables.reward[t][x] + sd * noise.x;
            observe(go, reward - sd * noise.y, widths);
        }
        regret += lost;
    }
    results[run] = {regret, steps};
}

Tables make_tables() {
    double chance[HORIZON], reward[HORIZON][STATES], value[STATES];
    Tables out = {};
    for (int t = 0; t < HORIZON; t++) {
        out.chance[t] = chance[t] = P / std::sqrt(t + 1.0);
        for (int x = 0; x < STATES; x++) out.reward[t][x] = reward[t][x] = std::pow(BETA, t) * x;
    }
    // The benchmark stops unless the next expected reward is larger. Pairs with x > t cannot be reached.
    std::memcpy(value, reward[HORIZON - 1], sizeof value);
    for (int t = HORIZON - 2; t >= 0; t--) {
        for (int x = 0; x <= t; x++) {
            auto ahead = [&](const double *next) { return (1 - chance[t]) * next[x] + chance[t] * next[x + 1]; };
            double stop = reward[t][x], go = ahead(value), best = ahead(reward[t + 1]) > stop ? go : stop;
            out.gap[t][x][0] = best - stop, out.gap[t][x][1] = best - go;
            value[x] = best; // upwards in x: value[x + 1] is still that of the next step
        }
    }
    return out;
}

std::vector<Width> make_widths(int episodes) {
    std::vector<Width> out(episodes + 1);
    double k = HORIZON * STATES * 2;
    for (int i = 1; i <= episodes; i++) {
        double n = i, width = std::sqrt((1 + n) / (n * n) * 4 * SIGMA2 * std::log(k * std::sqrt(1 + n) / DELTA));
        out[i] = {static_cast<Real>(width), static_cast<Real>(1 / n)};
    }
    return out;
}

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

int main(int argc, char **argv) {
    int runs = 4096, episodes = 20000, seed = 1, block = 128;
    for (int i = 1; i + 1 < argc; i += 2) {
        int value = std::atoi(argv[i + 1]);
        if (!std::strcmp(argv[i], "--runs")) runs = value;
        else if (!std::strcmp(argv[i], "--episodes")) episodes = value;
        else if (!std::strcmp(argv[i], "--seed")) seed = value;
        else if (!std::strcmp(argv[i], "--block")) block = value;
        else argc = 0;
    }
    if (argc % 2 == 0 || runs < 2 || episodes < 1 || block < 1) {
        std::fprintf(stderr, "use: plain_feedbal [--runs R] [--episodes E] [--seed S] [--block THREADS], with at least 2 runs\n");
        return 2;
    }
    Tables host_tables = make_tables();
    std::vector<Width> host_widths = make_widths(episodes);
    std::vector<Result> results(runs);
    Width *widths;
    Result *device_results;
    check(cudaMalloc(&widths, host_widths.size() * sizeof(Width)));
    check(cudaMalloc(&device_results, results.size() * sizeof(Result)));
    check(cudaMemcpyToSymbol(tables, &host_tables, sizeof host_tables));
    check(cudaMemcpy(widths, host_widths.data(), host_widths.size() * sizeof(Width), cudaMemcpyHostToDevice));

    cudaEvent_t start, end;
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&end));
    int blocks = (runs + block - 1) / block;
    play<<<blocks, block>>>(runs, episodes < 100 ? episodes : 100, seed, widths, device_results); // warm-up
    check(cudaDeviceSynchronize());
    check(cudaEventRecord(start));
    play<<<blocks, block>>>(runs, episodes, seed, widths, device_results);
    check(cudaEventRecord(end));
    check(cudaGetLastError());
    check(cudaEventSynchronize(end));
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, start, end));
    check(cudaMemcpy(results.data(), device_results, results.size() * sizeof(Result), cudaMemcpyDeviceToHost));

    double sum = 0, squares = 0, seconds = milliseconds / 1e3;
    long long steps = 0;
    for (const Result &r : results) sum += r.regret, steps += r.steps;
    double mean = sum / runs;
    for (const Result &r : results) squares += (r.regret - mean) * (r.regret - mean);
    std::printf("{\"peer\": \"CUDA, plain, block %d\", \"precision\": \"%s\", \"runs\": %d, \"episodes\": %d, ", block, PRECISION,
                runs, episodes);
    std::printf("\"steps\": %lld, \"seconds\": %.9g, \"compile_seconds\": 0, \"ns_per_step\": %.9g, ", steps, seconds,
                seconds * 1e9 / steps);
    std::printf("\"mean_regret\": %.9g, \"regret_stderr\": %.9g}\n", mean, std::sqrt(squares / (runs - 1) / runs));
}
