//! Random streams that depend on (seed, run, role) alone, so that results do not depend on threads or machines.
//!
//! A Philox block keyed by the seed and counted by (run, role) fills the state of a xoshiro256++ generator. The normal
//! sampler is the ziggurat of Marsaglia and Tsang (2000) with 256 layers. Published crates call the `exp` and `ln` of the
//! platform, whose last bits differ between machines; this one calls `libm`, which is the same code everywhere.

use std::sync::LazyLock;

use rand_core::{Rng, SeedableRng};
use rand_philox::philox4x32_10;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::philox_key;

/// The purpose of a stream. Streams of different roles are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Steps of the benchmark after the learner has stopped.
    Beyond = 1,
    /// Random choices of the learner.
    Learner = 3,
    /// Episodes of the benchmark alone, to estimate its value.
    Benchmark = 4,
    /// Feedback and noise of the steps of a run, see [`crate::rng::Draws`].
    Steps = 5,
    /// Dropout and overrides.
    Conditions = 6,
    /// Lost outcomes and delays.
    Delay = 7,
    /// Quantities of a random problem.
    Problem = 8,
    /// The states that the episodes of a run begin in.
    Start = 9,
    /// Costs and rewards that stay unknown.
    Missing = 10,
    /// Models drawn from a posterior.
    Posterior = 11,
}

/// A random stream.
///
/// ```
/// use emab::{Role, Stream};
/// let mut one = Stream::new(1, 0, Role::Learner);
/// let mut again = Stream::new(1, 0, Role::Learner);
/// let mut other = Stream::new(1, 1, Role::Learner);
/// assert_eq!(one.normal(), again.normal());
/// assert_ne!(one.normal(), other.normal());
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    bits: Xoshiro256PlusPlus,
    ziggurat: &'static Ziggurat,
}

impl Stream {
    /// The stream of this seed, run and role.
    pub fn new(seed: u64, run: u64, role: Role) -> Stream {
        let key = philox_key(seed);
        let mut state = [0; 32];
        for (block, bytes) in state.chunks_exact_mut(16).enumerate() {
            let counter = [run as u32, (run >> 32) as u32, role as u32, block as u32];
            for (word, four) in philox4x32_10(counter, key)
                .iter()
                .zip(bytes.chunks_exact_mut(4))
            {
                four.copy_from_slice(&word.to_le_bytes());
            }
        }
        Stream {
            bits: Xoshiro256PlusPlus::from_seed(state),
            ziggurat: &ZIGGURAT,
        }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.bits.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform among 0, 1, …, n - 1; 0 when `n` is 0.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        // Bias below n / 2^64: nothing that any number of draws could show.
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Standard normal.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        loop {
            let bits = self.bits();
            // The low 8 bits choose the layer, the high 53 the place in it: disjoint, so independent.
            let layer = (bits & 0xff) as usize;
            let u = (bits as i64 >> 11) as f64 * (1.0 / (1_u64 << 52) as f64);
            let x = u * self.ziggurat.x[layer];
            if x.abs() < self.ziggurat.x[layer + 1] {
                return x;
            }
            if let Some(x) = self.edge(layer, u, x) {
                return x;
            }
        }
    }

    /// The 1.2 % of draws that fall outside of a layer's rectangle.
    #[cold]
    fn edge(&mut self, layer: usize, u: f64, x: f64) -> Option<f64> {
        if layer == 0 {
            loop {
                let a = -libm::log(1.0 - self.uniform()) / R;
                let b = -libm::log(1.0 - self.uniform());
                if 2.0 * b >= a * a {
                    return Some(if u < 0.0 { -(R + a) } else { R + a });
                }
            }
        }
        let f = &self.ziggurat.f;
        let y = f[layer + 1] + (f[layer] - f[layer + 1]) * self.uniform();
        (y < libm::exp(-0.5 * x * x)).then_some(x)
    }
}

/// Where the tail begins, for 256 layers.
const R: f64 = 3.654_152_885_361_009;
/// The area of each layer.
const V: f64 = 0.004_928_673_233_974_655;

#[derive(Debug)]
struct Ziggurat {
    /// The layers' right edges, widest first; `x[0]` belongs to the base with its tail.
    x: [f64; 257],
    /// The density at those edges, unnormalised.
    f: [f64; 257],
}

/// The layers of [`Stream::normal`]: their right edges, widest first, and the densities there.
pub fn ziggurat() -> (&'static [f64], &'static [f64]) {
    (&ZIGGURAT.x, &ZIGGURAT.f)
}

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(|| {
    let density = |x: f64| libm::exp(-0.5 * x * x);
    let mut x = [0.0; 257];
    x[0] = V / density(R);
    x[1] = R;
    for i in 2..256 {
        x[i] = libm::sqrt(-2.0 * libm::log(V / x[i - 1] + density(x[i - 1])));
    }
    Ziggurat {
        x,
        f: x.map(density),
    }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_values_are_unchanged() {
        let mut stream = Stream::new(1, 0, Role::Learner);
        let bits: Vec<u64> = (0..3).map(|_| stream.bits()).collect();
        assert_eq!(bits, FIRST_BITS);
        let mut stream = Stream::new(1, 0, Role::Learner);
        let normals: Vec<u64> = (0..3).map(|_| stream.normal().to_bits()).collect();
        assert_eq!(normals, FIRST_NORMALS);
    }

    const FIRST_BITS: [u64; 3] = [
        2645273919782183256,
        7512618880408440896,
        5229335153094856717,
    ];
    const FIRST_NORMALS: [u64; 3] = [
        4602883173031973078,
        4610109686775688273,
        4609805119077297814,
    ];

    #[test]
    fn the_top_layer_closes() {
        // The recursion must end at the density's peak: a wrong R or V leaves a gap.
        let top = ZIGGURAT.x[255] * (1.0 - ZIGGURAT.f[255]);
        assert!((top - V).abs() < 1e-13, "{top} is not {V}");
    }

    #[test]
    fn normal_moments_and_tail() {
        let mut stream = Stream::new(7, 0, Role::Learner);
        let n = 4_000_000;
        let (mut m1, mut m2, mut m3, mut m4, mut beyond) = (0.0, 0.0, 0.0, 0.0, [0_u64; 5]);
        for _ in 0..n {
            let z = stream.normal();
            m1 += z;
            m2 += z * z;
            m3 += z * z * z;
            m4 += z * z * z * z;
            for (k, count) in beyond.iter_mut().enumerate() {
                *count += u64::from(z.abs() > k as f64);
            }
        }
        let n = f64::from(n);
        // Standard errors: sqrt(Var / n) with Var of z, z^2, z^3, z^4 = 1, 2, 15, 96.
        for (moment, expected, var) in [
            (m1, 0.0, 1.0),
            (m2, 1.0, 2.0),
            (m3, 0.0, 15.0),
            (m4, 3.0, 96.0),
        ] {
            let mean = moment / n;
            assert!((mean - expected).abs() < 4.5 * (var / n).sqrt(), "{mean}");
        }
        // P(|Z| > k), from tables; 4 lies beyond R and so tests the tail.
        for (k, p) in [
            (1, 0.317_310_507_86),
            (2, 0.045_500_263_90),
            (3, 0.002_699_796_06),
            (4, 0.000_063_342_48),
        ] {
            let sd = (p * (1.0 - p) / n).sqrt();
            let share = beyond[k] as f64 / n;
            assert!((share - p).abs() < 4.5 * sd, "beyond {k}: {share}");
        }
    }

    #[test]
    fn below_covers_its_range() {
        let mut stream = Stream::new(1, 0, Role::Learner);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            seen[stream.below(3)] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(stream.below(0), 0);
    }
}
