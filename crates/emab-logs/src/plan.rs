//! How long a study has to go on: the log is continued in plausible models until the certificate is small enough.

use emab::learners::{LearnerConfig, LearnerError, Withheld, shortfall};
use emab::oracle::OracleError;
use emab::{Environment, Learner, PlayError, Role, Spec, Stream};
use serde::Serialize;
use thiserror::Error;

use crate::assumptions::Stated;
use crate::fit::{FitError, FittedModel};
use crate::log::DecisionLog;

/// The number of points of the curve.
const POINTS: u64 = 40;
/// The share of the plausible models inside a band.
pub const BAND: f64 = 0.9;

/// Settings of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The number of further cases.
    pub cases: u64,
    /// The certificate that is wanted, if one is.
    pub below: Option<f64>,
    /// The number of plausible models.
    pub draws: u64,
    /// The seed of the models and of the cases in them.
    pub seed: u64,
    /// Values that the call states.
    pub stated: Stated,
}

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The learner's decisions have no certificate.
    #[error("the decisions of this learner have no certificate: {0}")]
    Withheld(#[from] Withheld),
    /// The learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// No model can be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A model cannot be simulated.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A case cannot be simulated.
    #[error(transparent)]
    Play(#[from] PlayError),
}

/// The median over plausible models, and the band that contains 90 % of them. A value is infinite where some action is not observed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Band {
    /// The median.
    pub median: f64,
    /// The 5 % quantile.
    pub lower: f64,
    /// The 95 % quantile.
    pub upper: f64,
}

/// The certificate after some further cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The number of further cases.
    pub cases: u64,
    /// The certificate.
    #[serde(flatten)]
    pub certificate: Band,
}

/// How long a study has to go on.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The learner.
    pub learner: String,
    /// The episodes that it has learned from.
    pub episodes: u64,
    /// The certificate now: how far the decision at step 1 can be from the best one, the largest over the start states; `null` if
    /// some action was not observed there.
    pub now: Option<f64>,
    /// The certificate that is wanted, if one is.
    pub below: Option<f64>,
    /// The number of plausible models.
    pub draws: u64,
    /// Those in which the certificate falls below the wanted one within the cases.
    pub reached: u64,
    /// After how many further cases it first does. It can rise again, when another action is recommended. An end of the band is `null` where too few models reach it.
    pub cases: Cases,
    /// The certificate after further cases.
    pub curve: Vec<Point>,
}

/// A number of cases, with its band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cases {
    /// The median.
    pub median: Option<u64>,
    /// The 5 % quantile.
    pub lower: Option<u64>,
    /// The 95 % quantile.
    pub upper: Option<u64>,
}

/// After how many cases `watch` is called again within a model.
const WATCHED: u64 = 4096;

/// Continues the log in plausible models. `watch` is called with the number of finished ones, also while one is played; it stops the
/// work by returning false.
pub fn plan(
    log: &DecisionLog,
    config: &LearnerConfig,
    settings: &Settings,
    mut watch: impl FnMut(u64) -> bool,
) -> Result<Option<Plan>, PlanError> {
    let spec = log.file.spec();
    config.certified(spec)?;
    let fitted = FittedModel::of(log, &settings.stated)?;
    let (mut firsts, mut curves) = (Vec::new(), Vec::new());
    let mut now = f64::INFINITY;
    let mut learner = config.build(spec, None)?;
    let draws = settings.draws.max(1);
    for draw in 0..draws {
        let model = fitted.draw(settings.seed, draw);
        let mut environment = Environment::new(model.problem())?;
        environment.restart(settings.seed, draw);
        learner.reset(Stream::new(settings.seed, draw, Role::Learner));
        for it in log.learned() {
            learner.learn(&it.episode);
        }
        now = certificate(&mut *learner, spec);
        let reached = |certificate: f64| settings.below.is_some_and(|below| certificate < below);
        let mut first = reached(now).then_some(0);
        let mut curve = vec![now];
        for case in 1..=settings.cases {
            environment.play(&mut *learner)?;
            if case % WATCHED == 0 && !watch(draw) {
                return Ok(None);
            }
            let point = is_point(case, settings.cases);
            if (first.is_some() || settings.below.is_none()) && !point {
                continue;
            }
            let certificate = certificate(&mut *learner, spec);
            if first.is_none() && reached(certificate) {
                first = Some(case);
            }
            if point {
                curve.push(certificate);
            }
        }
        firsts.push(first.unwrap_or(u64::MAX));
        curves.push(curve);
        if !watch(draw + 1) {
            return Ok(None);
        }
    }
    let points = (0..=settings.cases).filter(|&case| case == 0 || is_point(case, settings.cases));
    let curve = points.enumerate().map(|(i, cases)| Point {
        cases,
        certificate: Band::of(curves.iter().map(|curve| curve[i]).collect()),
    });
    let curve = curve.collect();
    firsts.sort_unstable();
    let quantile = |share: f64| Some(firsts[rank(share, firsts.len())]).filter(|it| *it < u64::MAX);
    Ok(Some(Plan {
        learner: config.label().into(),
        episodes: fitted.log.learned,
        now: Some(now).filter(|it| it.is_finite()),
        below: settings.below,
        draws,
        reached: firsts.iter().filter(|it| **it < u64::MAX).count() as u64,
        cases: Cases {
            median: quantile(0.5),
            lower: quantile((1.0 - BAND) / 2.0),
            upper: quantile((1.0 + BAND) / 2.0),
        },
        curve,
    }))
}

/// Whether the curve has a point after this many cases.
fn is_point(case: u64, cases: u64) -> bool {
    let at = |case: u64| u128::from(case) * u128::from(POINTS) / u128::from(cases.max(1));
    case == cases || at(case) != at(case - 1)
}

/// The index of a quantile of sorted values.
fn rank(share: f64, count: usize) -> usize {
    ((share * count as f64).ceil() as usize).clamp(1, count) - 1
}

impl Band {
    fn of(mut values: Vec<f64>) -> Band {
        values.sort_by(f64::total_cmp);
        let quantile = |share: f64| values[rank(share, values.len())];
        Band {
            median: quantile(0.5),
            lower: quantile((1.0 - BAND) / 2.0),
            upper: quantile((1.0 + BAND) / 2.0),
        }
    }
}

/// How far the choice at step 1 can be from the best one (Corollary 1), the largest over the start states.
fn certificate(learner: &mut (dyn Learner + Send), spec: &Spec) -> f64 {
    let of = |&x: &usize| {
        let action = learner.choose(1, x);
        let width = learner.estimate(1, x, action).map(|it| it.width);
        let shortfall = shortfall(learner, spec, 1, x, action);
        match (width, shortfall) {
            (Some(width), Some(shortfall)) => shortfall.max(2.0 * width),
            _ => f64::INFINITY,
        }
    };
    spec.starts().iter().map(of).fold(0.0, f64::max)
}
