// `Stream::normal` of `emab::rng`: the ziggurat of Marsaglia and Tsang (2000). Its edges need a logarithm and an exponential with the
// bits of the crate `libm`, whose algorithms and coefficients are those of Sun's fdlibm (1993):
//
// Copyright (C) 1993, 2004 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun Microsystems, Inc. business.
// Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved.
#pragma once
#include "draws.h"

// `libm::log` of a normal number in (0, 1].
DEVICE double log_of_unit(double x) {
    if (x == 1.0) return 0.0;
    uint64_t bits = to_bits(x);
    uint32_t high = (uint32_t)(bits >> 32) + (0x3ff00000 - 0x3fe6a09e);
    double k = (double)((int32_t)(high >> 20) - 0x3ff);
    high = (high & 0x000fffff) + 0x3fe6a09e;
    double f = from_bits((uint64_t)high << 32 | (bits & 0xffffffffull)) - 1.0;
    double half_square = 0.5 * f * f;
    double s = f / (2.0 + f);
    double z = s * s;
    double w = z * z;
    double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 +
                      w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double r = odd + even;
    return s * (half_square + r) + k * 1.90821492927058770002e-10 - half_square + f + k * 6.93147180369123816490e-01;
}

// `libm::exp` of a number in [-700, 0].
DEVICE double exp_of_negative(double x) {
    uint32_t size = (uint32_t)(to_bits(x) >> 32) & 0x7fffffff;
    double high = x, low = 0.0;
    int32_t k = 0;
    if (size > 0x3fd62e42) {
        k = size >= 0x3ff0a2b2 ? (int32_t)(1.44269504088896338700e+00 * x - 0.5) : -1;
        high = x - (double)k * 6.93147180369123816490e-01;
        low = (double)k * 1.90821492927058770002e-10;
        x = high - low;
    } else if (size <= 0x3e300000) {
        return 1.0 + x;
    }
    double xx = x * x;
    double c = x - xx * (1.66666666666666019037e-01 +
                         xx * (-2.77777777770155933842e-03 +
                               xx * (6.61375632143793436117e-05 + xx * (-1.65339022054652515390e-06 + xx * 4.13813679705723846039e-08))));
    double y = 1.0 + (x * c / (2.0 - c) - low + high);
    return k == 0 ? y : y * from_bits((uint64_t)(1023 + k) << 52);
}

const uint32_t LAYERS = 257;

// A standard normal; `ziggurat` has the edges of the layers, then the densities at them.
DEVICE double normal(const double* ziggurat, Stream& stream) {
    const double* density = ziggurat + LAYERS;
    for (;;) {
        uint64_t bits = stream.bits.next();
        uint32_t layer = bits & 0xff;
        double u = (double)((int64_t)bits >> 11) * 0x1p-52;
        double x = u * ziggurat[layer];
        if (fabs(x) < ziggurat[layer + 1]) return x;
        if (layer == 0) {
            const double TAIL = 3.654152885361009;
            for (;;) {
                double a = -log_of_unit(1.0 - stream.uniform()) / TAIL;
                double b = -log_of_unit(1.0 - stream.uniform());
                if (2.0 * b >= a * a) return u < 0.0 ? -(TAIL + a) : TAIL + a;
            }
        }
        double y = density[layer + 1] + (density[layer] - density[layer + 1]) * stream.uniform();
        if (y < exp_of_negative(-0.5 * x * x)) return x;
    }
}
