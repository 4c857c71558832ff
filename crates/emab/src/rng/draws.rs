//! Blocks of random draws for the steps of a run: noise on the reward, noise on the cost, and a uniform for the feedback.
//!
//! Vector instructions generate a block: eight xoshiro256++ generators in parallel, keyed by (seed, run), and the polar form
//! of Box and Muller (1958), which needs no table and no branch. IEEE 754 defines every operation in it to the last bit (no
//! fused multiplication, no library function), so the same code gives the same bytes on every instruction set.
//!
//! One step takes two words. The high 52 bits of the first are the radius, those of the second the feedback; the remaining
//! twelve bits of each are the angle, one of 2^24 evenly spaced ones. Moments up to that order are those of the circle.

use rand_philox::philox4x32_10;

use super::{Role, philox_key};
use crate::model::Noise;

/// Parallel generators: as many as the widest vectors have lanes.
const LANES: usize = 8;

/// The draws of consecutive steps, aligned to cache lines.
#[derive(Clone, Debug, PartialEq)]
#[repr(align(64))]
pub struct Block {
    /// The draw for an observed reward, see [`Noise::observe`].
    pub reward: [f64; Block::STEPS],
    /// The draw for an observed cost, see [`Noise::observe`].
    pub cost: [f64; Block::STEPS],
    /// Uniform in [0, 1), multiples of 2^-52.
    pub feedback: [f64; Block::STEPS],
}

impl Block {
    /// Steps per block. More amortise the call better, fewer leave more cache to the learner.
    pub const STEPS: usize = 128;
}

impl Default for Block {
    fn default() -> Block {
        Block {
            reward: [0.0; Block::STEPS],
            cost: [0.0; Block::STEPS],
            feedback: [0.0; Block::STEPS],
        }
    }
}

/// The source of the blocks of one run after another.
///
/// ```
/// use emab::Noise;
/// use emab::rng::{Block, Draws};
/// let mut draws = Draws::new(Noise::normal(1.0).unwrap(), Noise::None);
/// let mut block = Block::default();
/// draws.restart(1, 0); // seed 1, run 0
/// draws.fill(&mut block);
/// assert!(block.reward.iter().all(|z| z.abs() < 8.5) && block.cost[0] == 0.0);
/// ```
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Draws {
    state: [[u64; LANES]; 4],
    reward: Noise,
    cost: Noise,
}

impl Draws {
    /// Draws for these noises, of seed 0 and run 0.
    pub fn new(reward: Noise, cost: Noise) -> Draws {
        let state = [[0; LANES]; 4];
        let mut draws = Draws {
            state,
            reward,
            cost,
        };
        draws.restart(0, 0);
        draws
    }

    /// Switches to the draws of this seed and run.
    pub fn restart(&mut self, seed: u64, run: u64) {
        let key = philox_key(seed);
        for (word, lanes) in self.state.iter_mut().enumerate() {
            for (i, two) in lanes.chunks_exact_mut(2).enumerate() {
                let block = (word * LANES / 2 + i) as u32;
                let counter = [run as u32, (run >> 32) as u32, Role::Steps as u32, block];
                let [a, b, c, d] = philox4x32_10(counter, key).map(u64::from);
                two.copy_from_slice(&[a | b << 32, c | d << 32]);
            }
        }
    }

    /// The next block.
    ///
    /// Always inlined, so that it is compiled for the instruction set of the caller.
    #[inline(always)]
    pub fn fill(&mut self, block: &mut Block) {
        let normal = |noise| matches!(noise, Noise::Normal { .. });
        let uniform = |noise| matches!(noise, Noise::Uniform { .. } | Noise::Bernoulli);
        match (
            normal(self.reward) || normal(self.cost),
            uniform(self.reward) || uniform(self.cost),
        ) {
            (true, false) => self.fill_as::<true, false>(block),
            (true, true) => self.fill_as::<true, true>(block),
            (false, _) => self.fill_as::<false, true>(block),
        }
    }

    #[inline(always)]
    fn fill_as<const NORMAL: bool, const THIRD: bool>(&mut self, block: &mut Block) {
        let mut state = self.state;
        let (reward, cost) = (
            NoiseTransform::of(self.reward),
            NoiseTransform::of(self.cost),
        );
        let (mut x, mut y, mut third) = ([0; LANES], [0; LANES], [0; LANES]);
        for first in (0..Block::STEPS).step_by(LANES) {
            next(&mut state, &mut x);
            next(&mut state, &mut y);
            if THIRD {
                next(&mut state, &mut third);
            }
            for i in 0..LANES {
                let at = first + i;
                let (normal, other) = if NORMAL {
                    polar(x[i], y[i])
                } else {
                    (0.0, 0.0)
                };
                // With normal noise the first word is used; otherwise it is the draw of the reward.
                let spare = if NORMAL { third[i] } else { x[i] };
                block.reward[at] = reward.scale * normal;
                block.cost[at] = cost.scale * other;
                if THIRD {
                    block.reward[at] += reward.of_uniform(unit(spare));
                    block.cost[at] += cost.of_uniform(unit(third[i]));
                }
                block.feedback[at] = unit(y[i]);
            }
        }
        self.state = state;
    }
}

/// Noise as the scale of a standard normal, plus a scaled uniform and a constant.
struct NoiseTransform {
    scale: f64,
    slope: f64,
    offset: f64,
}

impl Noise {
    /// Its draws (see [`Block`]): the scale of a standard normal, that of a uniform in [0, 1), and a constant, which are added.
    pub fn transform(self) -> (f64, f64, f64) {
        match self {
            Noise::None => (0.0, 0.0, 0.0),
            Noise::Normal { sd } => (sd, 0.0, 0.0),
            Noise::Uniform { half_width } => (0.0, 2.0 * half_width, -half_width),
            Noise::Bernoulli => (0.0, 1.0, 0.0),
        }
    }
}

impl NoiseTransform {
    fn of(noise: Noise) -> NoiseTransform {
        let (scale, slope, offset) = noise.transform();
        NoiseTransform {
            scale,
            slope,
            offset,
        }
    }

    #[inline(always)]
    fn of_uniform(&self, u: f64) -> f64 {
        self.slope * u + self.offset
    }
}

/// xoshiro256++ (Blackman, Vigna 2019), one step of every lane.
#[inline(always)]
fn next(state: &mut [[u64; LANES]; 4], out: &mut [u64; LANES]) {
    let [s0, s1, s2, s3] = state;
    for i in 0..LANES {
        let sum = s0[i].wrapping_add(s3[i]);
        out[i] = sum.rotate_left(23).wrapping_add(s0[i]);
        let t = s1[i] << 17;
        s2[i] ^= s0[i];
        s3[i] ^= s1[i];
        s1[i] ^= s2[i];
        s0[i] ^= s3[i];
        s2[i] ^= t;
        s3[i] = s3[i].rotate_left(45);
    }
}

const ONE: u64 = 0x3ff0_0000_0000_0000;
const FRACTION: u64 = 0x000f_ffff_ffff_ffff;

/// The high 52 bits of a word as a number in [1, 2).
#[inline(always)]
fn one_to_two(bits: u64) -> f64 {
    f64::from_bits(bits >> 12 | ONE)
}

/// The high 52 bits of a word as a number in [0, 1).
#[inline(always)]
fn unit(bits: u64) -> f64 {
    one_to_two(bits) - 1.0
}

/// Two independent standard normals.
#[inline(always)]
fn polar(x: u64, y: u64) -> (f64, f64) {
    let radius = minus_two_log(2.0 - one_to_two(x)).sqrt();
    let (cos, sin) = direction(x, y);
    (radius * cos, radius * sin)
}

/// `-2 ln u` for u in (0, 1], to a relative 5e-12.
#[inline(always)]
fn minus_two_log(u: f64) -> f64 {
    // u = 2^e m with m in [sqrt(1/2), sqrt(2)): near 1, where the logarithm is small, e is 0 and nothing cancels.
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    // A small integer in the last bits of 2^52 is that number plus 2^52.
    const SHIFT: u64 = 0x4330_0000_0000_0000;
    let shifted = u.to_bits().wrapping_add(ONE - ROOT);
    let e = f64::from_bits(shifted >> 52 | SHIFT) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((shifted & FRACTION) + ROOT);
    // ln m = 2 artanh s, a polynomial in s^2 through Chebyshev's points.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // Pairs of terms at once (Estrin): a shorter chain than one after another.
    let z2 = z * z;
    let series = (LOG[0] + LOG[1] * z) + z2 * ((LOG[2] + LOG[3] * z) + z2 * LOG[4]);
    e * (-2.0 * std::f64::consts::LN_2) + s * series
}

/// A point on the unit circle, to 5e-12, from the low twelve bits of both words.
#[inline(always)]
fn direction(x: u64, y: u64) -> (f64, f64) {
    // 22 bits for an angle of at most an eighth of a turn either way, in its middle so that both ways are alike.
    let bits = (x << 42 & 0x000f_fc00_0000_0000) | (y << 30 & 0x0000_03ff_c000_0000) | ONE;
    let w = f64::from_bits(bits) - (1.5 - 1.0 / (1_u64 << 23) as f64);
    let q = w * w;
    let q2 = q * q;
    let sin = ((SIN[0] + SIN[1] * q) + q2 * ((SIN[2] + SIN[3] * q) + q2 * SIN[4])) * w;
    let high = (COS[2] + COS[3] * q) + q2 * (COS[4] + COS[5] * q);
    let cos = (COS[0] + COS[1] * q) + q2 * high;
    // One bit turns that quarter to the other side, one exchanges the axes: the whole circle.
    let cos = f64::from_bits(cos.to_bits() ^ (x << 52 & 1 << 63));
    if x & 1 << 10 == 0 {
        (cos, sin)
    } else {
        (sin, cos)
    }
}

/// `-4 artanh(s) / s` in powers of `s^2`, for `|s| <= (sqrt 2 - 1) / (sqrt 2 + 1)`.
const LOG: [f64; 5] = [
    -4.000_000_000_016_719,
    -1.333_333_304_949_750_5,
    -0.800_007_693_447_503_7,
    -0.570_701_020_756_326_2,
    -0.472_327_181_982_919_7,
];
/// `sin(pi w / 2) / w` in powers of `w^2`, for `|w| <= 1/2`.
const SIN: [f64; 5] = [
    1.570_796_326_788_1,
    -0.645_964_096_146_795_4,
    0.079_692_582_725_630_62,
    -0.004_681_266_256_726_245,
    0.000_158_206_303_556_477_33,
];
/// `cos(pi w / 2)` in powers of `w^2`, for `|w| <= 1/2`.
const COS: [f64; 6] = [
    0.999_999_999_999_944_4,
    -1.233_700_550_120_159_2,
    0.253_669_507_153_704_3,
    -0.020_863_468_002_244_645,
    0.000_919_161_736_953_957_3,
    -0.000_024_850_963_357_813_637,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    const NORMAL: Noise = Noise::Normal { sd: 1.0 };

    fn blocks(reward: Noise, cost: Noise, run: u64, count: usize) -> Vec<Block> {
        let mut draws = Draws::new(reward, cost);
        draws.restart(7, run);
        let mut all = vec![Block::default(); count];
        all.iter_mut().for_each(|block| draws.fill(block));
        all
    }

    #[test]
    fn first_values_are_unchanged() {
        let block = &blocks(NORMAL, NORMAL, 0, 1)[0];
        let bits = |values: &[f64]| [values[0].to_bits(), values[1].to_bits()];
        let now = [&block.reward, &block.cost, &block.feedback].map(|values| bits(values));
        assert_eq!(now, FIRST);
    }

    const FIRST: [[u64; 2]; 3] = [
        [4608582303196228734, 13818459409262764515],
        [13823440329358238061, 13829364820794199672],
        [4604555067480848444, 4589358852745910304],
    ];

    #[test]
    fn approximations_have_their_stated_accuracy() {
        let mut stream = Stream::new(1, 0, Role::Learner);
        for i in 0..200_000 {
            let (x, y) = (stream.bits(), stream.bits());
            // All magnitudes of u, not the likely ones alone.
            let u = 2.0 - one_to_two(if i % 2 == 0 { x } else { !(!x >> (x % 50)) });
            let exact = -2.0 * libm::log(u);
            let error = (minus_two_log(u) - exact).abs();
            assert!(error <= 5e-12 * exact, "{u:e}: {error:e}");
            let (cos, sin) = direction(x, y);
            assert!((cos * cos + sin * sin - 1.0).abs() < 1e-11);
            let again = libm::atan2(sin, cos);
            assert!((libm::cos(again) - cos).abs() < 1e-11);
        }
        assert_eq!(minus_two_log(1.0), 0.0);
    }

    #[test]
    fn angles_form_an_even_grid() {
        // Every quarter of the grid's pattern is met once: the exchange and the sign make four quarters of one.
        let step = std::f64::consts::TAU / (1_u64 << 24) as f64;
        for x in [0, 1, 0x3ff, 0x400, 0x800, 0xc00, 0xfff, 0x7a5] {
            for y in [0, 1, 0x7ff, 0x800, 0xfff] {
                let (cos, sin) = direction(x, y);
                let position = libm::atan2(sin, cos) / step;
                let off = position - position.floor() - 0.5;
                assert!(off.abs() < 1e-3, "{x:x} {y:x}: {position}");
            }
        }
    }

    #[test]
    fn moments_up_to_the_eighth() {
        let (mut sums, mut cross, mut n) = ([[0.0; 8]; 2], [0.0; 3], 0.0);
        for block in blocks(NORMAL, NORMAL, 1, 16_000) {
            for (&a, &b) in block.reward.iter().zip(&block.cost) {
                for (z, sums) in [a, b].into_iter().zip(&mut sums) {
                    let mut power = 1.0;
                    for sum in sums {
                        power *= z;
                        *sum += power;
                    }
                }
                cross[0] += a * b;
                cross[1] += (a * a - 1.0) * (b * b - 1.0);
                cross[2] += a * a * b;
                n += 1.0;
            }
        }
        // E z^k = (k-1)!! for even k; the variance of z^k is E z^2k - (E z^k)^2.
        let double_factorial =
            |k: usize| (1..=k).rev().step_by(2).map(|i| i as f64).product::<f64>();
        for sums in sums {
            for (i, sum) in sums.into_iter().enumerate() {
                let k = i + 1;
                let mean = match k % 2 {
                    0 => double_factorial(k - 1),
                    _ => 0.0,
                };
                let variance = double_factorial(2 * k - 1) - mean * mean;
                let z = (sum / n - mean) / (variance / n).sqrt();
                assert!(z.abs() < 4.5, "moment {k}: {z} standard errors off");
            }
        }
        for (sum, variance) in cross.into_iter().zip([1.0, 4.0, 3.0]) {
            assert!((sum / n).abs() < 4.5 * (variance / n).sqrt(), "{sum}");
        }
    }

    #[test]
    fn equal_shares_between_quantiles() {
        // Chi-square over 64 cells of equal probability, in one normal, the other, and both on an 8 x 8 grid.
        let cells = |z: f64, n: f64| {
            let p = 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
            ((p * n) as usize).min(n as usize - 1)
        };
        let mut counts = [[0_u64; 64]; 4];
        let mut n = 0.0;
        for block in blocks(NORMAL, NORMAL, 2, 8000) {
            for i in 0..Block::STEPS {
                let (a, b, u) = (block.reward[i], block.cost[i], block.feedback[i]);
                counts[0][cells(a, 64.0)] += 1;
                counts[1][cells(b, 64.0)] += 1;
                counts[2][8 * cells(a, 8.0) + cells(b, 8.0)] += 1;
                counts[3][8 * cells(a, 8.0) + (8.0 * u) as usize] += 1;
                n += 1.0;
            }
        }
        for counts in counts {
            let expected = n / 64.0;
            let cell = |&count: &u64| (count as f64 - expected).powi(2) / expected;
            let chi2: f64 = counts.iter().map(cell).sum();
            // 63 degrees of freedom: 120.6 is exceeded once in 100,000 times.
            assert!(chi2 < 120.6, "{chi2}");
        }
    }

    #[test]
    fn tails_to_six_sigma() {
        // The radius is beyond r when u is below exp(-r^2 / 2): with the leading bits of u set to 0 every draw is out
        // there, and what is left of the tail can be counted. Given R > 5.5, P(|Z| > k) = 2 Phi(-k) / exp(-5.5^2/2).
        let mut stream = Stream::new(3, 0, Role::Learner);
        let beyond = libm::exp(-0.5 * 5.5 * 5.5);
        let n = 4_000_000_u32;
        let mut counts = [0_u32; 3];
        for _ in 0..n {
            let u = 1.0 - stream.uniform();
            // The word whose 2 - one_to_two is beyond * u, but for its last bit.
            let x = ((1.0 - beyond * u) * (1_u64 << 52) as f64) as u64;
            let word = x << 12 | stream.bits() & 0xfff;
            let (z, _) = polar(word, stream.bits());
            for (count, k) in counts.iter_mut().zip([5.5, 5.75, 6.0]) {
                *count += u32::from(z.abs() > k);
            }
        }
        for (count, k) in counts.into_iter().zip([5.5, 5.75, 6.0]) {
            let p = libm::erfc(k / std::f64::consts::SQRT_2) / beyond;
            let expected = f64::from(n) * p;
            let sd = (expected * (1.0 - p)).sqrt();
            let off = f64::from(count) - expected;
            assert!(off.abs() < 4.5 * sd, "beyond {k}: {count}, not {expected}");
        }
    }

    #[test]
    fn every_kind_of_noise_has_its_distribution() {
        let uniform = Noise::uniform(2.0).unwrap();
        for (reward, cost) in [
            (uniform, uniform),
            (uniform, NORMAL),
            (NORMAL, Noise::Bernoulli),
            (Noise::Bernoulli, Noise::None),
            (Noise::Bernoulli, uniform),
        ] {
            let all = blocks(reward, cost, 3, 4000);
            let n = (all.len() * Block::STEPS) as f64;
            for (noise, cost) in [(reward, false), (cost, true)] {
                let of = |block: &Block| if cost { block.cost } else { block.reward };
                let values = || all.iter().flat_map(of);
                let mean = values().sum::<f64>() / n;
                let variance = values().map(|v| v * v).sum::<f64>() / n - mean * mean;
                let (m, v, least, most) = match noise {
                    Noise::None => (0.0, 0.0, 0.0, 0.0),
                    Noise::Normal { .. } => (0.0, 1.0, -8.5, 8.5),
                    Noise::Uniform { half_width: h } => (0.0, h * h / 3.0, -h, h),
                    Noise::Bernoulli => (0.5, 1.0 / 12.0, 0.0, 1.0),
                };
                let error = 4.5 * f64::sqrt(v / n);
                assert!((mean - m).abs() <= error, "{noise:?} {mean}");
                // The fourth central moment is at most three times the squared variance in all of them.
                let error = 4.5 * v * (2.0 / n).sqrt();
                assert!((variance - v).abs() <= error, "{noise:?}");
                assert!(values().all(|v| (least..=most).contains(&v)), "{noise:?}");
            }
            // Reward, cost and feedback are independent: no correlation.
            let mut products = [0.0; 3];
            for block in &all {
                for i in 0..Block::STEPS {
                    let center =
                        |v: f64, noise| v - f64::from(u8::from(noise == Noise::Bernoulli)) * 0.5;
                    let (r, c) = (center(block.reward[i], reward), center(block.cost[i], cost));
                    let f = block.feedback[i] - 0.5;
                    products[0] += r * c;
                    products[1] += r * f;
                    products[2] += c * f;
                }
            }
            // No variance here is above 4/3.
            let error = 4.5 * (4.0 / 3.0) / n.sqrt();
            assert!(
                products.iter().all(|p| (p / n).abs() < error),
                "{products:?}"
            );
        }
    }

    #[test]
    fn runs_and_seeds_have_different_draws() {
        let first = |seed, run| {
            let mut draws = Draws::new(NORMAL, NORMAL);
            let mut block = Block::default();
            draws.restart(seed, run);
            draws.fill(&mut block);
            block.feedback[0]
        };
        let all = [first(1, 0), first(1, 1), first(2, 0), first(1, 1 << 32)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b));
        }
        assert_eq!(first(1, 0), first(1, 0));
    }
}
