//! The model of a problem: the distribution of the start states, the feedback distribution, expected costs and terminal
//! rewards, and their noise.
//!
//! Section 2 of the paper: `f_t ~ p_{t,x,a}`, `C_t = c_{t,x,a} + eta_t`, `R_t = r_{t,x} + kappa_t`.
//! Only environments and oracles read a [`Model`]; a live study has none.

use std::fmt;
use std::sync::Arc;

use crate::conditions::Dropout;
use crate::parameter::ParameterError;
use crate::spec::{LARGEST, Point, PointError, Quantity, Spec, evaluate, format_number};

/// How an observation varies around its expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// The expectation itself.
    None,
    /// Gaussian with this standard deviation.
    Normal {
        /// Standard deviation.
        sd: f64,
    },
    /// Uniform, at most this far from the expectation.
    Uniform {
        /// Half the width of the interval.
        half_width: f64,
    },
    /// 1 with the expectation as its probability, else 0.
    Bernoulli,
}

impl Noise {
    /// Gaussian noise of this variance.
    ///
    /// ```
    /// use emab::Noise;
    /// assert!(Noise::normal(0.1).is_ok());
    /// assert_eq!(Noise::normal(-1.0).unwrap_err().to_string(),
    ///     "`variance` must be a number from 0 to 1e100, got -1");
    /// ```
    pub fn normal(variance: f64) -> Result<Noise, ParameterError> {
        let variance = at_least_zero("variance", variance)?;
        Ok(Noise::Normal {
            sd: variance.sqrt(),
        })
    }

    /// Uniform noise of this half width.
    pub fn uniform(half_width: f64) -> Result<Noise, ParameterError> {
        let half_width = at_least_zero("half_width", half_width)?;
        Ok(Noise::Uniform { half_width })
    }

    /// One observation of a quantity with this expectation and this draw (see [`crate::rng::Block`]).
    #[inline]
    pub fn observe(self, mean: f64, draw: f64) -> f64 {
        match self {
            Noise::None | Noise::Normal { .. } | Noise::Uniform { .. } => mean + draw,
            Noise::Bernoulli => f64::from(u8::from(draw < mean)),
        }
    }

    /// Its variance proxy: the least `sigma^2` for which it is `sigma`-sub-Gaussian, at the worst expectation.
    ///
    /// ```
    /// use emab::Noise;
    /// assert_eq!(Noise::uniform(3.0).unwrap().proxy(), 3.0);
    /// assert_eq!(Noise::Bernoulli.proxy(), 0.25);
    /// ```
    pub fn proxy(self) -> f64 {
        match self {
            Noise::None => 0.0,
            Noise::Normal { sd } => sd * sd,
            Noise::Uniform { half_width } => half_width * half_width / 3.0,
            Noise::Bernoulli => 0.25,
        }
    }

    fn check(self, quantity: &'static str, point: Point, mean: f64) -> Result<f64, PointError> {
        if self == Noise::Bernoulli && !(0.0..=1.0).contains(&mean) {
            let what = format!(
                "got {}, expected a probability from 0 to 1 (its noise is bernoulli)",
                format_number(mean)
            );
            return Err(PointError::new(quantity, point, what));
        }
        Ok(mean)
    }
}

fn at_least_zero(parameter: &'static str, got: f64) -> Result<f64, ParameterError> {
    if (0.0..=LARGEST).contains(&got) {
        Ok(got)
    } else {
        let rule = "be a number from 0 to 1e100";
        Err(ParameterError::new(parameter, rule, format_number(got)))
    }
}

/// The distributions of a problem, which learners cannot read.
#[derive(Clone)]
pub struct Model {
    feedback: Arc<dyn Quantity>,
    cost: Arc<dyn Quantity>,
    reward: Arc<dyn Quantity>,
    /// The probabilities of the start states; empty where there is one.
    start: Arc<[f64]>,
    /// Noise on the costs.
    pub cost_noise: Noise,
    /// Noise on the terminal rewards.
    pub reward_noise: Noise,
}

impl fmt::Debug for Model {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Model")
            .field("cost_noise", &self.cost_noise)
            .field("reward_noise", &self.reward_noise)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// A model of `P(f | t, x, a)` and `r_{t,x}` with neither costs nor noise.
    pub fn new(feedback: impl Quantity + 'static, reward: impl Quantity + 'static) -> Model {
        Model {
            feedback: Arc::new(feedback),
            cost: Arc::new(|_t: usize, _x: usize, _a: usize, _f: usize| 0.0),
            reward: Arc::new(reward),
            start: Arc::default(),
            cost_noise: Noise::None,
            reward_noise: Noise::None,
        }
    }

    /// With these expected costs `c_{t,x,a}`.
    #[must_use]
    pub fn cost(mut self, cost: impl Quantity + 'static) -> Model {
        self.cost = Arc::new(cost);
        self
    }

    /// With these probabilities of the start states, in the order of [`Spec::starts`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use emab::{Model, Problem, Spec, oracle::Benchmark};
    /// let spec = Spec::numbered(1, 2, 1, 1).unwrap().start_in([0, 1]).unwrap();
    /// let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, x, _a, _f| x as f64).start([0.75, 0.25]);
    /// let problem = Arc::new(Problem::new("groups", spec, model));
    /// assert_eq!(Benchmark::new(problem).unwrap().start_value().unwrap(), 0.25);
    /// ```
    #[must_use]
    pub fn start(mut self, probabilities: impl Into<Arc<[f64]>>) -> Model {
        self.start = probabilities.into();
        self
    }

    /// With this noise on the costs and on the terminal rewards.
    #[must_use]
    pub fn noise(mut self, on_costs: Noise, on_rewards: Noise) -> Model {
        self.cost_noise = on_costs;
        self.reward_noise = on_rewards;
        self
    }
}

/// A specification and its model.
///
/// Section 5 of the paper in code:
///
/// ```
/// use emab::{Model, Names, Noise, Problem, Spec};
/// let spec = Spec::new(10, Names::Count(10, ""), Names::List(vec!["cont".into()]), Names::Count(2, ""))
///     .unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let model = Model::new(
///     |t, _x, _a, f| { let p = 0.8 / (t as f64).sqrt(); if f == 1 { p } else { 1.0 - p } },
///     |t, x, _a, _f| 0.9_f64.powi(t as i32 - 1) * x as f64,
/// )
/// .noise(Noise::normal(0.1).unwrap(), Noise::normal(0.1).unwrap());
/// let problem = Problem::new("resource collection", spec, model);
/// assert_eq!(problem.reward(1, 0).unwrap(), 0.0);
/// ```
#[derive(Clone, Debug)]
pub struct Problem {
    name: String,
    spec: Arc<Spec>,
    model: Model,
    dropout: Dropout,
}

impl Problem {
    /// A problem; its quantities are checked where they are met.
    pub fn new(name: impl Into<String>, spec: impl Into<Arc<Spec>>, model: Model) -> Problem {
        Problem {
            name: name.into(),
            spec: spec.into(),
            model,
            dropout: Dropout::default(),
        }
    }

    /// The same problem with dropout: after every continuation action, with this probability, the episode ends at the next
    /// step with its terminal reward, without a choice.
    ///
    /// Gains, and with them the choices of the benchmark, do not change; its value does.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use emab::{Model, Names, Problem, Spec, conditions::Probability, oracle::Benchmark};
    /// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
    /// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| t as f64);
    /// let problem = Problem::new("wait", spec, model).with_dropout(Probability::new("dropout", 0.25).unwrap());
    /// let mut benchmark = Benchmark::new(Arc::new(problem)).unwrap();
    /// assert_eq!(benchmark.start_value().unwrap(), 0.25 * 2.0 + 0.75 * 3.0);
    /// ```
    #[must_use]
    pub fn with_dropout(&self, dropout: impl Into<Dropout>) -> Problem {
        Problem {
            dropout: dropout.into(),
            ..self.clone()
        }
    }

    /// The probability of a dropout after a step.
    pub fn dropout(&self) -> &Dropout {
        &self.dropout
    }

    /// The probability of a dropout after feedback `f` on action `a` in `(t, x)`.
    pub fn dropout_at(&self, t: usize, x: usize, a: usize, f: usize) -> Result<f64, PointError> {
        let point = Point::new(t, x, Some(a), Some(f));
        match (self.dropout.varying(), self.dropout.constant()) {
            (Some(function), _) => {
                let probability = evaluate(function, "dropout", point)?;
                check_probability(probability, "dropout", point)?;
                Ok(probability)
            }
            (None, Some(probability)) => Ok(probability),
            (None, None) => {
                let what = format!(
                    "`{}` was not compiled with a problem; read both from one problem file, or use Dropout::function",
                    self.dropout.text()
                );
                Err(PointError::new("dropout", point, what))
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The specification, which learners may read.
    pub fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The probability of each start state, in the order of [`Spec::starts`]; 1 where there is one.
    ///
    /// Fails where [`Model::start`] does not give one probability for each.
    pub fn start_distribution(&self) -> Result<&[f64], PointError> {
        let one = self.spec.starts().len() == 1;
        if !one || !self.model.start.is_empty() {
            self.spec.check_start_distribution(&self.model.start)?;
        }
        Ok(if one { &[1.0] } else { &self.model.start })
    }

    /// `P(f | t, x, a)` for every `f`, written into `probabilities`, which has one entry per feedback.
    pub fn feedback_distribution(
        &self,
        t: usize,
        x: usize,
        a: usize,
        probabilities: &mut [f64],
    ) -> Result<(), PointError> {
        for (f, p) in probabilities.iter_mut().enumerate() {
            let point = Point::new(t, x, Some(a), Some(f));
            *p = evaluate(&*self.model.feedback, "feedback", point)?;
            check_probability(*p, "feedback", point)?;
        }
        check_sum(probabilities, "feedback", Point::new(t, x, Some(a), None))
    }

    /// The expected cost `c_{t,x,a}`.
    pub fn cost(&self, t: usize, x: usize, a: usize) -> Result<f64, PointError> {
        let point = Point::new(t, x, Some(a), None);
        let mean = evaluate(&*self.model.cost, "cost", point)?;
        self.model.cost_noise.check("cost", point, mean)
    }

    /// The expected terminal reward `r_{t,x}`.
    pub fn reward(&self, t: usize, x: usize) -> Result<f64, PointError> {
        let point = Point::new(t, x, None, None);
        let mean = evaluate(&*self.model.reward, "reward", point)?;
        self.model.reward_noise.check("reward", point, mean)
    }
}

impl Spec {
    /// Checks that there is one probability for each start state, that each is from 0 to 1 and that they sum to 1.
    ///
    /// ```
    /// let spec = emab::Spec::numbered(2, 5, 1, 1).unwrap().start_in([3, 4]).unwrap();
    /// let error = spec.check_start_distribution(&[0.5, 0.4]).unwrap_err();
    /// assert_eq!(error.to_string(), "`start` at t = 1, x = 3: the probabilities sum to 0.9, expected 1");
    /// ```
    pub fn check_start_distribution(&self, probabilities: &[f64]) -> Result<(), PointError> {
        let starts = self.starts();
        let point = |x: usize| Point::new(1, x, None, None);
        if probabilities.len() != starts.len() {
            let what = format!(
                "the model has {} probabilities, expected {}: one for each start state",
                probabilities.len(),
                starts.len()
            );
            return Err(PointError::new("start", point(starts[0]), what));
        }
        for (&x, &p) in starts.iter().zip(probabilities) {
            check_probability(p, "start", point(x))?;
        }
        check_sum(probabilities, "start", point(starts[0]))
    }
}

fn check_probability(p: f64, quantity: &'static str, point: Point) -> Result<(), PointError> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    let what = format!(
        "got {}, expected a probability from 0 to 1",
        format_number(p)
    );
    Err(PointError::new(quantity, point, what))
}

fn check_sum(probabilities: &[f64], quantity: &'static str, at: Point) -> Result<(), PointError> {
    let sum: f64 = probabilities.iter().sum();
    if (sum - 1.0).abs() <= 1e-9 {
        return Ok(());
    }
    let what = format!("the probabilities sum to {sum}, expected 1");
    Err(PointError::new(quantity, at, what))
}
