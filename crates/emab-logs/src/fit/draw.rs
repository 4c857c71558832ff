//! Models drawn from the posterior.
//!
//! Priors: Jeffreys' for probabilities (Dirichlet and beta with weights 1/2), flat for means of normal values, whose variance is the
//! fitted one, and uniform in the range of expected values where nothing was observed. Draws are cut to that range.

use emab::rng::dirichlet;
use emab::{Noise, Role, Stream};

use super::{Fitted, FittedModel};

/// The prior weight of each outcome of a distribution.
const PRIOR: f64 = 0.5;

impl FittedModel {
    /// The plausible model of this number. It depends on the log, the seed and the number alone.
    #[must_use]
    pub fn draw(&self, seed: u64, number: u64) -> FittedModel {
        let mut stream = Stream::new(seed, number, Role::Posterior);
        let mut model = self.clone();
        let mut shares = Vec::new();
        if model.starts.len() > 1 {
            let counts = self.starts.iter().map(|(_, count)| *count as f64 + PRIOR);
            dirichlet(&mut stream, counts, &mut shares);
            for ((share, _), drawn) in model.starts.iter_mut().zip(&shares) {
                *share = *drawn;
            }
        }
        for pair in model.pairs.values_mut() {
            pair.reward.value = value(
                &mut stream,
                &pair.reward,
                self.reward_noise,
                self.reward_range,
            );
            for action in pair.actions.iter_mut().flatten() {
                let counts = action.counts.iter().map(|count| *count as f64 + PRIOR);
                dirichlet(&mut stream, counts, &mut shares);
                action.feedback.clone_from(&shares);
                action.cost.value =
                    value(&mut stream, &action.cost, self.cost_noise, self.cost_range);
            }
        }
        model
    }
}

/// A draw from the posterior of a mean.
fn value(stream: &mut Stream, fitted: &Fitted, noise: Noise, range: (f64, f64)) -> f64 {
    let (least, most) = range;
    let count = fitted.count as f64;
    let drawn = match noise {
        Noise::Bernoulli => {
            let (ones, mut shares) = (fitted.ones, Vec::with_capacity(2));
            let weights = [ones + PRIOR, count - ones + PRIOR];
            dirichlet(stream, weights.into_iter(), &mut shares);
            shares[0]
        }
        _ if fitted.count == 0 => least + (most - least) * stream.uniform(),
        noise => fitted.value + (noise.proxy() / count).sqrt() * stream.normal(),
    };
    drawn.clamp(least, most)
}
