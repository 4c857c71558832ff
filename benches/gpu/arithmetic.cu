// Compares the division and the square root of the kernels with those of IEEE 754 on a card, for the arguments that the draws give
// them: every exponent, the ends of the ranges, and billions of random ones. Exits with 1 at a difference.
//
//     nvcc -O2 -fmad=false -arch=native -I crates/emab-sim/src/engine/gpu/kernel benches/gpu/arithmetic.cu -o arithmetic && ./arithmetic
#include <cstdio>

#include "draws.h"

const uint64_t PER_THREAD = 1 << 16;

__global__ void compare(uint64_t seed, unsigned long long* differences) {
    uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    Stream stream;
    stream.restart(seed, thread, ROLE_STEPS);
    for (uint64_t i = 0; i < PER_THREAD; i++) {
        uint64_t bits = stream.bits.next();
        // Every eighth argument has few bits set, near the ends of the range of uniform draws.
        if (i % 8 == 0) bits = i % 16 == 0 ? bits >> (bits & 63) : ~(bits >> (bits & 63));
        double u = 2.0 - one_to_two(bits);
        uint64_t shifted = to_bits(u) + (ONE - 0x3fe6a09e667f3bcdull);
        double m = from_bits((shifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
        double x = minus_two_log(u);
        bool same = to_bits(quotient(m - 1.0, m + 1.0)) == to_bits(__ddiv_rn(m - 1.0, m + 1.0)) &&
                    to_bits(root_or_zero(x)) == to_bits(__dsqrt_rn(x));
        if (!same) atomicAdd(differences, 1ull);
    }
}

int main() {
    unsigned long long* differences;
    cudaMalloc(&differences, sizeof *differences);
    cudaMemset(differences, 0, sizeof *differences);
    const uint64_t blocks = 4096, threads = 256;
    compare<<<blocks, threads>>>(1, differences);
    unsigned long long found = 0;
    cudaError_t ended = cudaMemcpy(&found, differences, sizeof found, cudaMemcpyDeviceToHost);
    if (ended != cudaSuccess) {
        std::printf("%s\n", cudaGetErrorString(ended));
        return 1;
    }
    std::printf("%llu of %llu arguments of the division and the square root differ from IEEE 754\n", found,
                (unsigned long long)(blocks * threads * PER_THREAD));
    return found == 0 ? 0 : 1;
}
