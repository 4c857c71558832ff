//! The studies of the demo: their problems, which have a model, and what a study adds to a problem.

use emab_problem::{Format, ProblemFile, ReadError};
use serde_json::{Value, json};

use super::people::Person;

/// A study of the demo.
pub struct StudyPlan {
    pub name: &'static str,
    /// What the names of its cases begin with.
    pub prefix: &'static str,
    file: &'static str,
    /// The fields that a study has beside its problem.
    fields: fn() -> Value,
    /// The people who act on its cases, those who report outcomes, and those who correct, in turns.
    pub acting: &'static [Person],
    pub reporting: &'static [Person],
    pub correcting: &'static [Person],
    /// Why people act against a recommendation.
    pub override_reasons: &'static [&'static str],
}

/// Screening, with a protocol for the first cases.
pub const CLINIC: StudyPlan = StudyPlan {
    name: "clinic",
    prefix: "p",
    file: include_str!("clinic.toml"),
    fields: || {
        json!({
            "learner": "feedbal-pooled",
            "shadow": ["feedbal:width=sound", "q-learning"],
            "protocol": {"first": 20, "sequence": ["blood", "scan"]},
            "outcome_range": {"reward": [0, 1], "cost": [0, 0.2]},
            "expected_delay": "60s",
            "missing_at_random": true,
        })
    },
    acting: &[Person::Nurse, Person::Doctor, Person::Blinded],
    reporting: &[Person::Nurse, Person::Doctor],
    correcting: &[Person::Doctor, Person::Admin],
    override_reasons: &[
        "the patient asked for it",
        "a recent result from another clinic",
        "the physician on duty decided otherwise",
    ],
};

/// Tutoring, with several start states.
pub const TUTORING: StudyPlan = StudyPlan {
    name: "tutoring",
    prefix: "s",
    file: include_str!("tutoring.toml"),
    fields: || {
        json!({
            "learner": "feedbal:width=sound",
            "shadow": ["feedbal-pooled"],
            "protocol": {"unobserved": true, "sequence": ["exercise"]},
            "outcome_range": {"reward": [0, 10], "cost": [0, 2]},
            "expected_delay": "90s",
            // Low, so that the check is yellow at times.
            "thresholds": {"overrides": {"yellow": 0.03, "red": 0.3}},
            "missing_at_random": true,
        })
    },
    acting: &[Person::Tutor, Person::Nurse],
    reporting: &[Person::Tutor],
    correcting: &[Person::Tutor, Person::Admin],
    override_reasons: &["the student asked for it", "the next exam is too close"],
};

impl StudyPlan {
    /// The problem with its model.
    pub fn problem(&self) -> Result<ProblemFile, ReadError> {
        ProblemFile::parse_as(Format::Toml, self.name, self.file)
    }

    /// The body of the request that creates the study.
    pub fn body(&self, problem: &ProblemFile) -> Result<Vec<u8>, serde_json::Error> {
        let mut body: Value = serde_json::from_str(&problem.spec_json())?;
        if let (Value::Object(body), Value::Object(fields)) = (&mut body, (self.fields)()) {
            body.extend(fields);
        }
        serde_json::to_vec(&body)
    }
}
