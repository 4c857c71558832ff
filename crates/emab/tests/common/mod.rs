//! Random small problems as plain tables, kept outside of the library so that tests do not read them through it.

use emab::{Model, Noise, Problem, Spec};
use proptest::prelude::*;

/// A problem as numbers.
#[derive(Clone, Debug)]
pub struct Tables {
    pub horizon: usize,
    pub states: usize,
    pub actions: usize,
    pub feedbacks: usize,
    numbers: Vec<f64>,
}

impl Tables {
    /// A number in [0, 1) that depends on its arguments alone.
    fn pick(&self, kind: usize, t: usize, x: usize, a: usize, f: usize) -> f64 {
        let place = (((kind * 7 + t) * 11 + x) * 13 + a) * 17 + f;
        self.numbers[place % self.numbers.len()]
    }

    pub fn next(&self, t: usize, x: usize, a: usize, f: usize) -> usize {
        (self.pick(0, t, x, a, f) * self.states as f64) as usize
    }

    pub fn allowed(&self, t: usize, x: usize, a: usize) -> bool {
        self.pick(1, t, x, a, 0) < 0.8
    }

    pub fn chance(&self, t: usize, x: usize, a: usize, f: usize) -> f64 {
        // A third of the feedbacks have probability 0; the first never has, so that the sum is positive.
        let weight = |f: usize| {
            let w = self.pick(2, t, x, a, f);
            if f > 0 && w < 0.33 { 0.0 } else { w + 0.1 }
        };
        weight(f) / (0..self.feedbacks).map(weight).sum::<f64>()
    }

    pub fn cost(&self, t: usize, x: usize, a: usize) -> f64 {
        0.3 * self.pick(3, t, x, a, 0)
    }

    pub fn reward(&self, t: usize, x: usize) -> f64 {
        self.pick(4, t, x, 0, 0)
    }

    /// The same for the library.
    pub fn problem(&self) -> Problem {
        let [p1, p2, p3, p4, p5] = std::array::from_fn(|_| self.clone());
        let spec = Spec::numbered(self.horizon, self.states, self.actions, self.feedbacks)
            .unwrap()
            .transition(move |t, x, a, f| p1.next(t, x, a, f) as f64)
            .allowed(move |t, x, a, _f| f64::from(u8::from(p2.allowed(t, x, a))));
        let model = Model::new(
            move |t, x, a, f| p3.chance(t, x, a, f),
            move |t, x, _a, _f| p4.reward(t, x),
        )
        .cost(move |t, x, a, _f| p5.cost(t, x, a))
        .noise(Noise::normal(0.01).unwrap(), Noise::uniform(0.2).unwrap());
        Problem::new("random", spec, model)
    }
}

pub fn small_problem(
    horizon: usize,
    states: usize,
    actions: usize,
    feedbacks: usize,
) -> impl Strategy<Value = Tables> {
    let numbers = prop::collection::vec(0.0_f64..1.0, 211);
    (1..=horizon, 1..=states, 1..=actions, 1..=feedbacks, numbers).prop_map(
        |(horizon, states, actions, feedbacks, numbers)| Tables {
            horizon,
            states,
            actions,
            feedbacks,
            numbers,
        },
    )
}
