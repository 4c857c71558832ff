//! A study: a problem file without `model`, and the learner that recommends. It is immutable.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use emab::input::{did_you_mean, nearest};
use emab::learners::{LearnerConfig, LearnerDefaults};
use emab::{Action, Spec};
use emab_problem::document::FIELDS;
use emab_problem::{Format, OutcomeRange, ProblemFile, json_error};
pub use emab_problem::{NAME_RULE, is_name};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::domain::json::{Name, Strict, pointer_at, pointer_to, read_at, short};
use crate::domain::{
    Outcome, Protocol, Rejection, ResolvedProtocol, RewardProxy, Thresholds, sha256, validate,
};

/// The largest horizon of a live study.
pub const MAX_STEPS: usize = 10_000;
/// The number of step-state pairs that are checked when a study is created.
pub(crate) const CHECKED_PAIRS: usize = 100_000;
const MAX_SHADOWS: usize = 16;
/// The fields of a study that are not of its problem.
const OWN_FIELDS: [&str; 7] = [
    "learner",
    "shadow",
    "missing_at_random",
    "outcome_range",
    "protocol",
    "expected_delay",
    "thresholds",
];

/// The fields of a problem that a study does not have.
const SIMULATED: [&str; 2] = ["model", "conditions"];

/// Reads the ranges of observed values that are stated beside the problem.
fn read_range(value: Value) -> Result<OutcomeRange, Rejection> {
    let form = "`outcome_range` is an object such as {\"reward\": [0, 1], \"cost\": [0, 10]}";
    let wrong = |what: String| Rejection::malformed(what).at("/outcome_range");
    let range = read_object(&value, "/outcome_range", form)?;
    if range == OutcomeRange::default() {
        return Err(wrong(form.into()));
    }
    Ok(range)
}

/// Reads the initial protocol.
fn read_protocol(value: Value) -> Result<Protocol, Rejection> {
    let form = "`protocol` is an object such as {\"first\": 20, \"sequence\": [\"test\"]}";
    read_object(&value, "/protocol", form)
}

/// Reads a field of a study that is an object of this form.
fn read_object<T: DeserializeOwned>(
    value: &Value,
    pointer: &str,
    form: &str,
) -> Result<T, Rejection> {
    if !value.is_object() {
        let got = short(&value.to_string());
        return Err(Rejection::malformed(format!("{form}, got {got}")).at(pointer));
    }
    // From text, because errors then have a place.
    read_at(value.to_string().as_bytes(), pointer).map_err(|error| Rejection {
        detail: format!("{form}: {}", error.detail),
        ..error
    })
}

/// Reads the limits of the health checks.
fn read_thresholds(value: Value) -> Result<Thresholds, Rejection> {
    let form = "`thresholds` is an object such as {\"overrides\": {\"yellow\": 0.2, \"red\": 0.5}}";
    let thresholds: Thresholds = read_object(&value, "/thresholds", form)?;
    if thresholds == Thresholds::default() {
        let what = format!("{form}, with one check at least");
        return Err(Rejection::not_possible(what).at("/thresholds"));
    }
    thresholds.check()?;
    Ok(thresholds)
}

/// Reads the time after which outcomes are expected.
fn read_delay(text: &str) -> Result<Duration, Rejection> {
    const UNITS: [(char, u64); 5] = [
        ('s', 1),
        ('m', 60),
        ('h', 3_600),
        ('d', 86_400),
        ('w', 604_800),
    ];
    let parts = UNITS.iter().find_map(|(unit, seconds)| {
        let digits = text.strip_suffix(*unit)?;
        let plain = digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
        let number = digits.parse::<u64>().ok();
        number
            .filter(|it| plain && (1..1_000).contains(it))
            .map(|it| it * seconds)
    });
    let seconds = parts.ok_or_else(|| {
        let text = short(text);
        let what =
            "a number from 1 to 999 and a unit (s, m, h, d or w), such as \"30d\" or \"12h\"";
        Rejection::not_possible(format!("`expected_delay` is {what}, got `{text}`"))
            .at("/expected_delay")
    })?;
    Ok(Duration::from_secs(seconds))
}

/// Checks the ranges of observed values, which stand at a JSON pointer.
fn check_range(range: OutcomeRange, pointer: &str) -> Result<OutcomeRange, Rejection> {
    for (field, range) in [("cost", range.cost), ("reward", range.reward)] {
        if let Some([low, high]) = range
            && (low > high || low.abs().max(high.abs()) > validate::MAX_VALUE)
        {
            let [low, high] = [low, high].map(emab::spec::format_number);
            return Err(Rejection::not_possible(format!(
                "the range of a {field} is from {low} to {high}: the first number must be at most the second, and both at \
                 most 1e100 in absolute value"
            ))
            .at(format!("{pointer}/{field}")));
        }
    }
    Ok(range)
}

/// The fields of a specification, each as JSON: a tree of values needs many times the memory.
type Fields = BTreeMap<String, Box<RawValue>>;

fn internal(error: serde_json::Error) -> Rejection {
    Rejection::internal(error.to_string())
}

/// The canonical specification: the fields are in the order of their names.
#[derive(Serialize)]
struct Canonical<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_delay: Option<&'a str>,
    learner: &'a str,
    missing_at_random: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_range: Option<&'a OutcomeRange>,
    problem: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'a Protocol>,
    shadow: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thresholds: Option<&'a Thresholds>,
}

#[derive(Debug)]
pub struct Study {
    pub name: String,
    /// The specification that learners see.
    pub spec: Arc<Spec>,
    /// The specification, as canonical JSON.
    pub canonical: String,
    /// SHA-256 of the canonical JSON.
    pub hash: String,
    pub learner: LearnerConfig,
    /// Learners whose choices are recorded and not shown.
    pub shadows: Vec<LearnerConfig>,
    /// Whether missing outcomes are declared missing at random.
    pub missing_at_random: bool,
    /// The ranges of observed values; values outside them are outliers.
    pub outcome_range: OutcomeRange,
    /// What is recommended at first, if it is stated.
    pub protocol: Option<ResolvedProtocol>,
    /// When outcomes are expected, after the end of their episodes, if it is stated.
    pub expected_delay: Option<Duration>,
    /// The limits of the health checks.
    pub thresholds: Thresholds,
    /// The variance proxy of terminal rewards, if it is stated.
    pub reward_proxy: Option<RewardProxy>,
    /// What the stated ranges allow.
    pub limits: GainLimits,
    /// Why its decisions have no certificate, if they have none.
    pub unsound: Option<String>,
    actions: HashMap<String, usize>,
    feedbacks: HashMap<String, usize>,
}

/// The variance proxy of terminal rewards: as stated, or by Hoeffding's lemma from the range of observed ones.
fn reward_proxy(learning: &LearnerDefaults, observed: OutcomeRange) -> Option<RewardProxy> {
    let stated = learning.sigma2_reward.or(learning.sigma2);
    let proxy = match (stated, observed.reward) {
        (Some(sigma2), _) => RewardProxy::Stated(sigma2.get()),
        (None, Some([low, high])) => RewardProxy::Range((high - low) * (high - low) / 4.0),
        (None, None) => return None,
    };
    let (RewardProxy::Stated(value) | RewardProxy::Range(value)) = proxy;
    Some(proxy).filter(|_| value > 0.0)
}

/// What the ranges of a study allow of expected gains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GainLimits {
    /// Of `stop`.
    pub stop: [f64; 2],
    /// Of every other action.
    pub action: [f64; 2],
}

impl GainLimits {
    /// From the range of expected rewards and that of costs. Values to the end of an episode include later costs.
    fn new(reward: Option<(f64, f64)>, cost: Option<[f64; 2]>, are_values: bool) -> GainLimits {
        const NONE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
        let Some((low, high)) = reward else {
            return GainLimits {
                stop: NONE,
                action: NONE,
            };
        };
        let action = cost.map_or(NONE, |[least, most]| match are_values && least < 0.0 {
            true => [low - most, f64::INFINITY],
            false => [low - most, high - least],
        });
        GainLimits {
            stop: [low, high],
            action,
        }
    }
}

impl Study {
    /// Parses and checks the body of a request that creates a study.
    ///
    /// ```
    /// let body = br#"{"horizon": 3, "states": 4, "actions": ["test"], "feedbacks": ["negative", "positive"],
    ///     "transition": "x + f", "learning": {"sigma2": 0.2, "delta": 0.05, "feedback_spread": 1},
    ///     "learner": "feedbal:width=sound"}"#;
    /// let study = emab_server::domain::study::Study::read("clinic", body).unwrap();
    /// assert_eq!(study.spec.horizon(), 3);
    /// ```
    pub fn read(name: &str, body: &[u8]) -> Result<Study, Rejection> {
        let Strict(value) = crate::domain::json::read(body)?;
        let Value::Object(fields) = value else {
            let what = "a study is a JSON object: a problem without `model`, and `learner`";
            return Err(Rejection::malformed(what).at(""));
        };
        let texts = fields.into_iter().map(|(field, value)| {
            let text = RawValue::from_string(value.to_string()).map_err(internal)?;
            Ok((field, text))
        });
        let texts = texts.collect::<Result<Fields, Rejection>>()?;
        let (study, file, source) = Study::from_fields(name, texts)?;
        study.check(&file, &source)?;
        Ok(study)
    }

    /// Checks every pair of the problem, and that the learners can be built.
    fn check(&self, file: &ProblemFile, source: &str) -> Result<(), Rejection> {
        let checked = file.check(CHECKED_PAIRS);
        checked.map_err(|error| problem_error(&error, source))?;
        let shadows = self.shadows.iter().enumerate();
        let shadows = shadows.map(|(i, config)| (format!("/shadow/{i}"), config));
        for (pointer, config) in [("/learner".into(), &self.learner)]
            .into_iter()
            .chain(shadows)
        {
            let built = config.build(&self.spec, None);
            built.map_err(|error| Rejection::not_possible(error.to_string()).at(pointer))?;
        }
        Ok(())
    }

    fn from_fields(
        name: &str,
        mut fields: Fields,
    ) -> Result<(Study, ProblemFile, String), Rejection> {
        if !is_name(name) {
            let name = short(name);
            let what = format!("`{name}` cannot be the name of a study: {NAME_RULE}");
            return Err(Rejection::not_possible(what));
        }
        for (field, why) in [
            ("model", "a live study has no `model`: the model is unknown"),
            ("conditions", "`conditions` apply to simulations only"),
        ] {
            if fields.contains_key(field) {
                return Err(Rejection::not_possible(why).at(format!("/{field}")));
            }
        }
        let text = |field: &str, value: Value| match value {
            Value::String(text) => Ok(text),
            other => Err(Rejection::malformed(format!(
                "{field} is a text such as \"feedbal:width=sound\", got {}",
                short(&other.to_string())
            ))),
        };
        let unknown = unknown_field(&fields);
        let mut remove = |field: &str| {
            let text = fields.remove(field);
            text.and_then(|text| serde_json::from_str::<Value>(text.get()).ok())
        };
        let learner = remove("learner").ok_or_else(|| match &unknown {
            Some((field, what)) if nearest(field, ["learner"]).is_some() => {
                Rejection::malformed(what).at(pointer_to(field))
            }
            _ => {
                let what = "`learner` is missing: name a learner, such as \"feedbal:width=sound\"";
                Rejection::malformed(what).at("")
            }
        })?;
        let learner = text("`learner`", learner).map_err(|rejection| rejection.at("/learner"))?;
        let shadows = match remove("shadow") {
            None => Vec::new(),
            Some(Value::Array(list)) if list.len() <= MAX_SHADOWS => list,
            Some(other) => {
                let got = match other.as_array() {
                    Some(list) => format!("{} of them", list.len()),
                    None => short(&other.to_string()),
                };
                let what =
                    format!("`shadow` is a list of at most {MAX_SHADOWS} learners, got {got}");
                return Err(Rejection::malformed(what).at("/shadow"));
            }
        };
        let missing_at_random = match remove("missing_at_random") {
            None => false,
            Some(Value::Bool(value)) => value,
            Some(other) => {
                let got = short(&other.to_string());
                let what =
                    format!("`missing_at_random` is true or false, without quotes, got {got}");
                return Err(Rejection::malformed(what).at("/missing_at_random"));
            }
        };
        let outcome_range = remove("outcome_range").map(read_range).transpose()?;
        let protocol = remove("protocol").map(read_protocol).transpose()?;
        let thresholds = remove("thresholds").map(read_thresholds).transpose()?;
        let delay = match remove("expected_delay") {
            None => None,
            Some(Value::String(text)) => Some((read_delay(&text)?, text)),
            Some(other) => {
                let got = short(&other.to_string());
                let what =
                    format!("`expected_delay` is a text such as \"30d\" or \"12h\", got {got}");
                return Err(Rejection::malformed(what).at("/expected_delay"));
            }
        };
        if let Some((field, what)) = unknown {
            return Err(Rejection::not_possible(what).at(pointer_to(&field)));
        }
        if !fields.contains_key("name") {
            fields.insert("name".into(), to_raw_value(name).map_err(internal)?);
        }
        let source = serde_json::to_string(&fields).map_err(internal)?;
        drop(fields);
        let file = ProblemFile::parse_as(Format::Json, name, &source)
            .map_err(|error| problem_error(&error, &source))?;
        let spec = file.spec().clone();
        if spec.horizon() > MAX_STEPS {
            let horizon = spec.horizon();
            let what =
                format!("`horizon` must be at most {MAX_STEPS} in a live study, got {horizon}");
            return Err(Rejection::not_possible(what).at("/horizon"));
        }

        let of_problem = file.outcome_range();
        let observed = match outcome_range {
            Some(_) if of_problem != OutcomeRange::default() => {
                let what = "`outcome_range` is stated here and in `learning`; state it once";
                return Err(Rejection::not_possible(what).at("/outcome_range"));
            }
            Some(range) => check_range(range, "/outcome_range")?,
            None => check_range(of_problem, "/learning/outcome_range")?,
        };

        let config = |text: &str, pointer: String| {
            let read = || {
                let config = LearnerConfig::parse(text, file.learning())?;
                config.chooses_from_tables()?;
                Ok(config)
            };
            read().map_err(|error: emab::learners::LearnerError| {
                Rejection::not_possible(error.to_string()).at(pointer)
            })
        };
        let learner = config(&learner, "/learner".into())?;
        let shadows: Vec<LearnerConfig> = shadows
            .into_iter()
            .enumerate()
            .map(|(i, value)| {
                let pointer = format!("/shadow/{i}");
                let text = text("an entry of `shadow`", value)
                    .map_err(|rejection| rejection.at(&*pointer))?;
                config(&text, pointer)
            })
            .collect::<Result<_, _>>()?;

        let labels: Vec<&str> = shadows.iter().map(LearnerConfig::label).collect();
        // The problem stays text: a tree of values needs many times the memory.
        let problem = serde_json::from_str::<&RawValue>(file.canonical());
        let canonical = problem.and_then(|problem| {
            serde_json::to_string(&Canonical {
                expected_delay: delay.as_ref().map(|(_, text)| text.as_str()),
                learner: learner.label(),
                missing_at_random,
                outcome_range: outcome_range.as_ref(),
                problem,
                protocol: protocol.as_ref(),
                shadow: labels,
                thresholds: thresholds.as_ref(),
            })
        });
        let canonical = canonical.map_err(internal)?;
        let unsound = learner.certified(&spec).err().map(|why| why.to_string());
        let index = |names: &emab::Names| {
            let names = (0..names.len()).map(|i| (names.name(i).into_owned(), i));
            names.collect()
        };
        let resolved = protocol.as_ref().map(|protocol| protocol.resolve(&spec));
        let rewards = file.learning().reward_range;
        let limits = GainLimits::new(rewards, observed.cost, learner.estimates_values());
        let study = Study {
            name: name.into(),
            protocol: resolved.transpose()?,
            expected_delay: delay.map(|(delay, _)| delay),
            thresholds: thresholds.unwrap_or_default(),
            reward_proxy: reward_proxy(file.learning(), observed),
            limits,
            actions: index(spec.actions()),
            feedbacks: index(spec.feedbacks()),
            hash: sha256(canonical.as_bytes()),
            canonical,
            spec,
            learner,
            shadows,
            missing_at_random,
            outcome_range: observed,
            unsound,
        };
        Ok((study, file, source))
    }

    /// Parses the canonical JSON of a stored study, which was checked when the study was created.
    pub fn from_canonical(name: &str, canonical: &str) -> Result<Study, Rejection> {
        Study::parse_canonical(name, canonical).map(|(study, ..)| study)
    }

    /// Parses the canonical JSON of a study from another service, and checks it as [`Study::read`] does.
    pub fn check_canonical(name: &str, canonical: &str) -> Result<Study, Rejection> {
        // The export is input: a fault in it is not an internal error.
        let input = |rejection: Rejection| Rejection::not_possible(rejection.detail);
        let (study, file, source) = Study::parse_canonical(name, canonical).map_err(input)?;
        study.check(&file, &source)?;
        Ok(study)
    }

    fn parse_canonical(
        name: &str,
        canonical: &str,
    ) -> Result<(Study, ProblemFile, String), Rejection> {
        let broken = |what: String| Rejection::internal(format!("study `{name}`: {what}"));
        let read = |text: &str| -> Result<Fields, Rejection> {
            serde_json::from_str(text)
                .map_err(|error| broken(json_error(&error, "its specification")))
        };
        let mut fields = read(canonical)?;
        let Some(problem) = fields.remove("problem") else {
            return Err(broken("its specification has no `problem`".into()));
        };
        let mut problem = read(problem.get())?;
        problem.extend(fields);
        let parsed = Study::from_fields(name, problem)?;
        if parsed.0.canonical == canonical {
            return Ok(parsed);
        }
        Err(broken("its specification is not in canonical form".into()))
    }

    /// The state in which an episode begins: the given one, which must be a start state, or the only one.
    pub fn start(&self, given: Option<&Name>) -> Result<usize, Rejection> {
        let (starts, states) = (self.spec.starts(), self.spec.states());
        let is = |x: usize| match given {
            None => starts.len() == 1,
            Some(Name::Index(index)) => *index == x as u64,
            Some(Name::Text(text)) => *states.name(x) == **text,
        };
        if let Some(&x) = starts.iter().find(|&&x| is(x)) {
            return Ok(x);
        }
        let few: Vec<String> = starts
            .iter()
            .take(8)
            .map(|&x| format!("`{}`", states.name(x)))
            .collect();
        let more = if starts.len() > few.len() {
            ", …"
        } else {
            ""
        };
        let few = few.join(", ");
        let what = match given {
            None => format!("`start` is missing: an episode of this study begins in {few}{more}"),
            Some(name) => {
                let near = match name {
                    Name::Text(text) => {
                        let names: Vec<_> = starts.iter().map(|&x| states.name(x)).collect();
                        did_you_mean(text, names.iter().map(|name| &**name))
                    }
                    Name::Index(_) => String::new(),
                };
                format!(
                    "no episode of this study begins in state {name}{near}; the start states are {few}{more}"
                )
            }
        };
        Err(Rejection::not_possible(what).at("/start"))
    }

    /// The name of a start state for an event; none if there is only one.
    pub fn start_name(&self, x: usize) -> Option<String> {
        let several = self.spec.starts().len() > 1;
        several.then(|| self.spec.states().name(x).into_owned())
    }

    /// The start state that an event names, which it does where there are several.
    pub fn recorded_start(&self, name: Option<&str>) -> Result<usize, Rejection> {
        let x = self.start(name.map(|name| Name::Text(name.into())).as_ref())?;
        if self.start_name(x).as_deref() == name {
            return Ok(x);
        }
        let what = "an event names a `start` where there are several, and only there";
        Err(Rejection::conflict(what).at("/start"))
    }

    /// The index of a continuation action; fails if the study has no such action.
    pub fn action(&self, name: &Name) -> Result<usize, Rejection> {
        if matches!(name, Name::Text(text) if text == "stop") {
            let what = "`stop` is not a continuation action; end the episode with POST …:stop";
            return Err(Rejection::not_possible(what).at("/action"));
        }
        find(name, &self.actions, self.spec.actions(), "action")
    }

    /// The action of a recorded name, `stop` included; none if the study has no such action.
    pub fn action_of(&self, name: &str) -> Option<Action> {
        match name {
            "stop" => Some(Action::Stop),
            name => self.actions.get(name).copied().map(Action::Continue),
        }
    }

    /// The problem in its specification, as JSON.
    pub fn problem_json(&self) -> Result<String, Rejection> {
        let fields: Fields = serde_json::from_str(&self.canonical).map_err(internal)?;
        let problem = fields.get("problem").map(|it| it.get().to_owned());
        problem.ok_or_else(|| Rejection::internal("the specification has no `problem`"))
    }

    /// The first value outside the stated range: its JSON pointer, and the fault.
    pub fn outlier(&self, given: &Outcome) -> Option<(String, String)> {
        let OutcomeRange { cost, reward } = self.outcome_range;
        let lists = [
            ("cost", cost, &given.costs),
            ("reward", reward, &given.rewards),
        ];
        lists.into_iter().find_map(|(what, range, values)| {
            let [low, high] = range?;
            let outside = |value: &Option<f64>| value.is_some_and(|it| it < low || it > high);
            let i = values.iter().position(outside)?;
            let numbers = [values[i]?, low, high];
            let [value, low, high] = numbers.map(emab::spec::format_number);
            let fault =
                format!("the {what} {value} is outside the range of this study, {low} to {high}");
            Some((format!("/{what}s/{i}"), fault))
        })
    }

    /// The index of a feedback; fails if the study has no such feedback.
    pub fn feedback(&self, name: &Name) -> Result<usize, Rejection> {
        find(name, &self.feedbacks, self.spec.feedbacks(), "feedback")
    }
}

/// An error in the problem, with its JSON pointer in the source.
fn problem_error(error: &emab_problem::ReadError, source: &str) -> Rejection {
    let place = error.span.as_ref().map(|span| span.start);
    let pointer = place.map_or(String::new(), |at| pointer_at(source, at));
    Rejection::not_possible(error.sentence()).at(pointer)
}

/// The first field that a study does not have, and the error.
fn unknown_field(fields: &Fields) -> Option<(String, String)> {
    let of_problem = FIELDS.iter().filter(|field| !SIMULATED.contains(field));
    let known = || OWN_FIELDS.iter().chain(of_problem.clone()).copied();
    let unknown = fields.keys().find(|field| known().all(|it| it != *field))?;
    let near = match did_you_mean(unknown, known()) {
        none if none.is_empty() => {
            let all: Vec<&str> = known().collect();
            format!("; a study has `{}`", all.join("`, `"))
        }
        near => near,
    };
    let what = format!("unknown field `{}`{near}", short(unknown));
    Some((unknown.clone(), what))
}

fn find(
    name: &Name,
    known: &HashMap<String, usize>,
    names: &emab::Names,
    what: &str,
) -> Result<usize, Rejection> {
    let found = match name {
        Name::Index(index) => Some(*index as usize).filter(|_| *index < names.len() as u64),
        Name::Text(text) => known.get(text).copied(),
    };
    found.ok_or_else(|| {
        let given = match name {
            Name::Text(text) => text.as_str(),
            Name::Index(_) => "",
        };
        let text = format!("this study has no {what} {name}{}", names.instead_of(given));
        Rejection::not_possible(text).at(format!("/{what}"))
    })
}
