//! The studies that the load plays: in each of them every action may be taken everywhere, and any feedback may follow.

/// A study as a client needs to know it.
#[derive(Debug)]
pub struct Study {
    /// Its name.
    pub name: &'static str,
    /// What it is created from.
    pub body: &'static str,
    /// Its actions.
    pub actions: &'static [&'static str],
    /// Its feedbacks.
    pub feedbacks: &'static [&'static str],
    /// The step at which all that can be done is to stop.
    pub horizon: usize,
    /// Whether outcomes are corrected in it. Each correction has everything learned anew, so it is a small one.
    pub amended: bool,
    /// How many of a hundred episodes are of it.
    pub share: u64,
}

/// All of them, the hot one first.
pub static STUDIES: [Study; 4] = [
    Study {
        name: "hot",
        body: r#"{"horizon": 4, "states": 8, "actions": ["blood", "scan"], "feedbacks": ["negative", "positive"],
            "transition": "(2*x + f) % 8",
            "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
            "learner": "feedbal:width=sound"}"#,
        actions: &["blood", "scan"],
        feedbacks: &["negative", "positive"],
        horizon: 4,
        amended: false,
        share: 70,
    },
    Study {
        name: "clinic",
        body: r#"{"horizon": 5, "states": ["minimal", "low", "raised", "high"],
            "actions": ["mammogram", "ultrasound", "mri"],
            "feedbacks": ["negative", "probably_benign", "suspicious", "malignant"],
            "transition": "min(max(x + f - 1, 0), 3)", "start": 1,
            "learning": {"sigma2": 0.25, "delta": 0.01, "feedback_spread": 9, "reward_range": [0, 1]},
            "learner": "feedbal-model", "shadow": ["feedbal:width=sound", "olp"], "missing_at_random": true}"#,
        actions: &["mammogram", "ultrasound", "mri"],
        feedbacks: &["negative", "probably_benign", "suspicious", "malignant"],
        horizon: 5,
        amended: false,
        share: 15,
    },
    Study {
        name: "school",
        body: r#"{"horizon": 6, "states": 3, "actions": ["text", "quiz"], "feedbacks": ["wrong", "right"],
            "transition": "min(x + f, 2)", "learning": {"reward_range": [0, 1]}, "learner": "q-learning"}"#,
        actions: &["text", "quiz"],
        feedbacks: &["wrong", "right"],
        horizon: 6,
        amended: false,
        share: 12,
    },
    Study {
        name: "corrected",
        body: r#"{"horizon": 3, "states": 3, "actions": ["blood"], "feedbacks": ["negative", "positive"],
            "transition": "1 + f", "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
            "learner": "feedbal"}"#,
        actions: &["blood"],
        feedbacks: &["negative", "positive"],
        horizon: 3,
        amended: true,
        share: 3,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_takes_them() {
        for study in &STUDIES {
            let read = emab_server::domain::study::Study::read(study.name, study.body.as_bytes());
            let read = read.unwrap_or_else(|refusal| panic!("{}: {refusal:?}", study.name));
            assert_eq!(read.spec.horizon(), study.horizon);
        }
        let shares: u64 = STUDIES.iter().map(|study| study.share).sum();
        assert_eq!(shares, 100);
    }
}
