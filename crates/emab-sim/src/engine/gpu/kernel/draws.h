// Random numbers, bit for bit those of `emab::rng`: `Draws` for the steps of a run and `Stream` for everything else.
#pragma once
#include "platform.h"

// Philox4x32-10 (Salmon et al. 2011), the block of a counter.
struct FourWords {
    uint32_t word[4];
};
DEVICE FourWords philox(uint64_t seed, uint64_t run, uint32_t role, uint32_t block) {
    uint32_t c0 = (uint32_t)run, c1 = (uint32_t)(run >> 32), c2 = role, c3 = block;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint32_t high0 = high_product(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        uint32_t high1 = high_product(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

DEVICE uint64_t rotate_left(uint64_t x, int by) { return x << by | x >> (64 - by); }

// xoshiro256++ (Blackman, Vigna 2019).
struct Xoshiro {
    uint64_t s0, s1, s2, s3;

    DEVICE uint64_t next() {
        uint64_t out = rotate_left(s0 + s3, 23) + s0;
        uint64_t t = s1 << 17;
        s2 ^= s0;
        s3 ^= s1;
        s1 ^= s2;
        s0 ^= s3;
        s2 ^= t;
        s3 = rotate_left(s3, 45);
        return out;
    }
};

enum Role : uint32_t { ROLE_LEARNER = 3, ROLE_STEPS = 5, ROLE_START = 9 };

// `emab::Stream`.
struct Stream {
    Xoshiro bits;

    DEVICE void restart(uint64_t seed, uint64_t run, Role role) {
        FourWords a = philox(seed, run, role, 0), b = philox(seed, run, role, 1);
        bits.s0 = a.word[0] | (uint64_t)a.word[1] << 32;
        bits.s1 = a.word[2] | (uint64_t)a.word[3] << 32;
        bits.s2 = b.word[0] | (uint64_t)b.word[1] << 32;
        bits.s3 = b.word[2] | (uint64_t)b.word[3] << 32;
    }
    DEVICE double uniform() { return (double)(bits.next() >> 11) * 0x1p-53; }
    DEVICE uint32_t below(uint32_t n) { return (uint32_t)high_product(bits.next(), (uint64_t)n); }
};

const int GENERATORS = 8;

// The generators of a run's steps: step `i` takes its words from generator `i % GENERATORS`.
struct Generators {
    Xoshiro all[GENERATORS];

    DEVICE void restart(uint64_t seed, uint64_t run) {
        UNROLL
        for (uint32_t i = 0; i < GENERATORS / 2; i++) {
            uint64_t two[4][2];
            UNROLL
            for (uint32_t word = 0; word < 4; word++) {
                FourWords four = philox(seed, run, ROLE_STEPS, word * GENERATORS / 2 + i);
                two[word][0] = four.word[0] | (uint64_t)four.word[1] << 32;
                two[word][1] = four.word[2] | (uint64_t)four.word[3] << 32;
            }
            UNROLL
            for (int j = 0; j < 2; j++) all[2 * i + j] = {two[0][j], two[1][j], two[2][j], two[3][j]};
        }
    }
    // Moves the first `N` behind the others.
    template <int N> DEVICE void rotate() {
        Xoshiro first[N];
        UNROLL
        for (int i = 0; i < N; i++) first[i] = all[i];
        UNROLL
        for (int i = 0; i + N < GENERATORS; i++) all[i] = all[i + N];
        UNROLL
        for (int i = 0; i < N; i++) all[GENERATORS - N + i] = first[i];
    }
};

const uint64_t ONE = 0x3ff0000000000000ull;

DEVICE double one_to_two(uint64_t bits) { return from_bits(bits >> 12 | ONE); }
DEVICE double unit(uint64_t bits) { return one_to_two(bits) - 1.0; }

CONSTANT double LOG[] = {-4.000000000016719,  -1.3333333049497505, -0.8000076934475037, -0.5707010207563262,
                         -0.4723271819829197, -2.0 * 0.693147180559945309417232121458, 4503599627370496.0 + 1023.0};
CONSTANT double SINE[] = {1.5707963267881, -0.6459640961467954, 0.07969258272563062, -0.004681266256726245, 0.00015820630355647733};
CONSTANT double COSINE[] = {0.9999999999999444,   -1.2337005501201592,   0.2536695071537043,
                            -0.020863468002244645, 0.0009191617369539573, -0.000024850963357813637};
CONSTANT double MIDDLE = 1.5 - 1.0 / 8388608.0;

// `-2 ln u` for u in (0, 1].
DEVICE double minus_two_log(double u) {
    const uint64_t ROOT = 0x3fe6a09e667f3bcdull, SHIFT = 0x4330000000000000ull, FRACTION = 0x000fffffffffffffull;
    uint64_t shifted = to_bits(u) + (ONE - ROOT);
    double e = from_bits(shifted >> 52 | SHIFT) - LOG[6];
    double m = from_bits((shifted & FRACTION) + ROOT);
    double s = quotient(m - 1.0, m + 1.0);
    double z = s * s;
    double z2 = z * z;
    double series = (LOG[0] + LOG[1] * z) + z2 * ((LOG[2] + LOG[3] * z) + z2 * LOG[4]);
    return e * LOG[5] + s * series;
}

// Two independent standard normals.
DEVICE double2 polar(uint64_t x, uint64_t y) {
    double radius = root_or_zero(minus_two_log(2.0 - one_to_two(x)));
    uint64_t bits = (x << 42 & 0x000ffc0000000000ull) | (y << 30 & 0x000003ffc0000000ull) | ONE;
    double w = from_bits(bits) - MIDDLE;
    double q = w * w;
    double q2 = q * q;
    double sine = ((SINE[0] + SINE[1] * q) + q2 * ((SINE[2] + SINE[3] * q) + q2 * SINE[4])) * w;
    double cosine = (COSINE[0] + COSINE[1] * q) + q2 * ((COSINE[3] * q + COSINE[2]) + q2 * (COSINE[4] + COSINE[5] * q));
    cosine = from_bits(to_bits(cosine) ^ (x << 52 & 1ull << 63));
    bool swapped = (x & 1 << 10) != 0;
    return {radius * (swapped ? sine : cosine), radius * (swapped ? cosine : sine)};
}
