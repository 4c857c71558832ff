//! Samples from Dirichlet distributions.
//!
//! The gamma sampler is that of Marsaglia and Tsang (*A Simple Method for Generating Gamma Variables*, 2000), over `libm`.

use super::Stream;

/// A draw from the Dirichlet distribution with these weights, all more than 0; it replaces the content of `probabilities`.
pub fn dirichlet(
    stream: &mut Stream,
    weights: impl Iterator<Item = f64>,
    probabilities: &mut Vec<f64>,
) {
    probabilities.clear();
    probabilities.extend(weights);
    // One outcome needs no draw.
    if let [only] = &mut probabilities[..] {
        *only = 1.0;
        return;
    }
    // Gamma variables of small weights underflow, their logarithms do not.
    for weight in probabilities.iter_mut() {
        *weight = log_gamma(stream, *weight);
    }
    let logs = probabilities.iter().copied();
    let most = logs.fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for share in probabilities.iter_mut() {
        *share = libm::exp(*share - most);
        sum += *share;
    }
    for share in probabilities.iter_mut() {
        *share /= sum;
    }
}

/// The logarithm of a draw from the gamma distribution of this shape and scale 1.
fn log_gamma(stream: &mut Stream, shape: f64) -> f64 {
    if shape < 1.0 {
        // Gamma(a) is Gamma(a + 1) U^(1/a). The uniform must not be 0.
        let u = 1.0 - stream.uniform();
        return log_gamma(stream, shape + 1.0) + libm::log(u) / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = stream.normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = 1.0 - stream.uniform();
        // The squeeze spares most draws the logarithm of the second test.
        if u < 1.0 - 0.0331 * (x * x) * (x * x)
            || libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v))
        {
            return libm::log(d * v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Role;

    #[test]
    fn gamma_moments() {
        let mut stream = Stream::new(3, 0, Role::Learner);
        for shape in [0.05_f64, 0.4, 1.0, 1.7, 5.0, 250.0] {
            let n = 400_000;
            let draws = (0..n).map(|_| log_gamma(&mut stream, shape).exp());
            let draws: Vec<f64> = draws.collect();
            let n = f64::from(n);
            // Central moments of Gamma(a): variance a, third 2a, fourth 3a^2 + 6a; sixth 15a^3 + 130a^2 + 120a.
            let about = |power: i32| draws.iter().map(|g| (g - shape).powi(power)).sum::<f64>() / n;
            let fourth = 3.0 * shape * shape + 6.0 * shape;
            let sixth = 15.0 * shape.powi(3) + 130.0 * shape * shape + 120.0 * shape;
            for (power, expected, variance) in [
                (1, 0.0, shape),
                (2, shape, fourth - shape * shape),
                (3, 2.0 * shape, sixth - 4.0 * shape * shape),
            ] {
                let error = (about(power) - expected) / (variance / n).sqrt();
                assert!(error.abs() < 4.5, "shape {shape}, power {power}: {error}");
            }
        }
    }

    #[test]
    fn dirichlet_moments() {
        let mut stream = Stream::new(4, 0, Role::Learner);
        let weights = [0.5, 1.0, 3.0];
        let total: f64 = weights.iter().sum();
        let n = 200_000;
        let (mut sums, mut product, mut probabilities) = ([[0.0; 2]; 3], 0.0, Vec::new());
        for _ in 0..n {
            dirichlet(&mut stream, weights.into_iter(), &mut probabilities);
            assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (sum, p) in sums.iter_mut().zip(&probabilities) {
                sum[0] += p;
                sum[1] += p * p;
            }
            product += probabilities[0] * probabilities[2];
        }
        let n = f64::from(n);
        for (sum, weight) in sums.iter().zip(weights) {
            let mean = weight / total;
            let square = weight * (weight + 1.0) / (total * (total + 1.0));
            let sd = (square - mean * mean).sqrt();
            assert!((sum[0] / n - mean).abs() < 4.5 * sd / n.sqrt());
            // A square of [0, 1] varies by no more than 1/4.
            assert!((sum[1] / n - square).abs() < 4.5 * 0.5 / n.sqrt());
        }
        // E of a product is w_i w_j / (W (W + 1)), and it varies by less than 1/8.
        let expected = 1.5 / (total * (total + 1.0));
        assert!((product / n - expected).abs() < 4.5 * 0.125 / n.sqrt());
    }

    #[test]
    fn tiny_weights_give_a_distribution() {
        let mut stream = Stream::new(5, 0, Role::Learner);
        let (mut first, mut probabilities) = (0.0, Vec::new());
        for _ in 0..4000 {
            dirichlet(&mut stream, [1e-9, 3e-9].into_iter(), &mut probabilities);
            let valid = probabilities.iter().all(|p| (0.0..=1.0).contains(p));
            assert!(valid, "{probabilities:?}");
            first += probabilities[0];
        }
        assert!((first / 4000.0 - 0.25).abs() < 4.5 * (0.1875_f64 / 4000.0).sqrt());
        dirichlet(&mut stream, [7.0].into_iter(), &mut probabilities);
        assert_eq!(probabilities, [1.0]);
    }
}
