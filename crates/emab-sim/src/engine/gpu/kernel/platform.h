// The kernels are compiled by NVRTC for cards, and by a C++ compiler for the processor in tests. This file hides the differences.
// Both must round every operation on doubles as IEEE 754 says: no fused multiplication and addition unless it is written.
#pragma once

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#else
#include <cmath>
#include <cstdint>
#include <cstring>
#endif

#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__
#define CALLED __device__ __noinline__
#define UNROLL _Pragma("unroll")
// Numbers that instructions read from constant memory; as literals they would be moved to registers at every use.
#define CONSTANT __constant__
#define ROLLED _Pragma("unroll 1")
#define UNROLL_EIGHT _Pragma("unroll 8")

DEVICE double from_bits(uint64_t bits) { return __longlong_as_double((int64_t)bits); }
DEVICE uint64_t to_bits(double value) { return (uint64_t)__double_as_longlong(value); }
DEVICE uint64_t high_product(uint64_t a, uint64_t b) { return __umul64hi(a, b); }
DEVICE uint32_t high_product(uint32_t a, uint32_t b) { return __umulhi(a, b); }
DEVICE double square_root(double x) { return __dsqrt_rn(x); }
DEVICE double minimum(double a, double b) { return fmin(a, b); }
DEVICE double maximum(double a, double b) { return fmax(a, b); }
// From memory that does not change during a launch, so that the compiler may move them.
DEVICE double load_one(const double* at) { return __ldg(at); }
DEVICE double2 load_two(const double2* at) { return __ldg(at); }

// The threads of a warp run together: `vote` has a bit for each of them, and all of them call the next ones at the same place.
const uint32_t WARP = 32;
DEVICE uint32_t place_in_warp() { return threadIdx.x % WARP; }
DEVICE uint32_t vote(bool value) {
    __syncwarp(); // what other threads have written is seen
    return __ballot_sync(0xffffffffu, value);
}
DEVICE bool any_thread(bool value) { return __any_sync(0xffffffffu, value); }
DEVICE double value_of(uint32_t other, double value) { return __shfl_sync(0xffffffffu, value, other); }
DEVICE uint32_t number_of(uint32_t other, uint32_t number) { return __shfl_sync(0xffffffffu, number, other); }
DEVICE uint32_t first_bit(uint32_t bits) { return __ffs(bits) - 1; }

DEVICE uint32_t add_atomic(uint32_t* at, uint32_t more) { return atomicAdd(at, more); }
DEVICE void add_atomic(uint64_t* at, uint64_t more) { atomicAdd((unsigned long long*)at, (unsigned long long)more); }
DEVICE bool is_set(const uint32_t* flag) { return *(const volatile uint32_t*)flag != 0; }
// What was written before is seen by all, the processor included, before what is written after.
DEVICE void fence() { __threadfence_system(); }

// The next two give what `/` and `sqrt` give for the arguments of `polar`, without the branch for operands near the limits of the
// exponent: an approximation, Newton's iterations, and a last correction by the exact remainder (Markstein 1990).
// `benches/gpu/arithmetic.cu` compares them with `/` and `sqrt` on a card.
DEVICE double quotient(double a, double b) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    double e = __fma_rn(-b, y, 1.0);
    e = __fma_rn(e, e, e);
    y = __fma_rn(y, e, y);
    y = __fma_rn(__fma_rn(-b, y, 1.0), y, y);
    // The reciprocal is rounded correctly but for a divisor whose mantissa is all ones, here 2 - 2^-52.
    y = to_bits(b) == 0x3fffffffffffffffull ? from_bits(0x3fe0000000000001ull) : y;
    double q = __dmul_rn(a, y);
    return __fma_rn(__fma_rn(-b, q, a), y, q);
}
DEVICE double root_or_zero(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = __fma_rn(-__dmul_rn(x, y), y, 1.0);
    y = __fma_rn(__dmul_rn(__fma_rn(e, 0.375, 0.5), e), y, y);
    double g = __dmul_rn(x, y);
    double root = __fma_rn(__fma_rn(-g, g, x), __dmul_rn(0.5, y), g);
    return x == 0.0 ? x : root;
}

#else

#define DEVICE inline
#define CALLED inline
#define UNROLL
#define CONSTANT static const
#define ROLLED
#define UNROLL_EIGHT
struct uint2 {
    uint32_t x, y;
};
struct double2 {
    double x, y;
};

DEVICE double from_bits(uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
DEVICE uint64_t to_bits(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
DEVICE uint64_t high_product(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
DEVICE uint32_t high_product(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
DEVICE double square_root(double x) { return std::sqrt(x); }
DEVICE double minimum(double a, double b) { return std::fmin(a, b); }
DEVICE double maximum(double a, double b) { return std::fmax(a, b); }
DEVICE double load_one(const double* at) { return *at; }
DEVICE double2 load_two(const double2* at) { return *at; }

const uint32_t WARP = 4;
// Gives a value to the other threads of the warp, which `host.cpp` runs in turns, and waits for theirs.
const uint64_t* exchange(uint64_t value);
uint32_t place_in_warp();
DEVICE uint32_t vote(bool value) {
    const uint64_t* all = exchange(value);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < WARP; i++) bits |= (uint32_t)all[i] << i;
    return bits;
}
DEVICE bool any_thread(bool value) { return vote(value) != 0; }
DEVICE double value_of(uint32_t other, double value) { return from_bits(exchange(to_bits(value))[other]); }
DEVICE uint32_t number_of(uint32_t other, uint32_t number) { return (uint32_t)exchange(number)[other]; }
DEVICE uint32_t first_bit(uint32_t bits) { return (uint32_t)__builtin_ctz(bits); }

DEVICE uint32_t add_atomic(uint32_t* at, uint32_t more) {
    uint32_t before = *at;
    *at += more;
    return before;
}
DEVICE void add_atomic(uint64_t* at, uint64_t more) { *at += more; }
DEVICE void fence() { __atomic_thread_fence(__ATOMIC_RELEASE); }
DEVICE bool is_set(const uint32_t* flag) { return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0; }
DEVICE double quotient(double a, double b) { return a / b; }
DEVICE double root_or_zero(double x) { return std::sqrt(x); }

#endif
