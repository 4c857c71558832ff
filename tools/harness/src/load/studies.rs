//! The studies of the load. Every action is valid in every state, and any feedback may follow.

#[derive(Debug)]
pub(crate) struct Study {
    pub name: &'static str,
    /// The body of the request that creates it.
    pub body: &'static str,
    pub actions: &'static [&'static str],
    pub feedbacks: &'static [&'static str],
    /// The states in which an episode may begin, if there are several.
    pub starts: &'static [&'static str],
    /// The step at which only `stop` is possible.
    pub horizon: usize,
    /// Whether outcomes are corrected. A correction rebuilds the learner, so only a small study allows it.
    pub amended: bool,
    /// Percentage of episodes.
    pub share: u64,
}

/// The first one is the study of the benchmarks.
pub(crate) static STUDIES: [Study; 5] = [
    Study {
        name: "hot",
        body: r#"{"horizon": 4, "states": 8, "actions": ["blood", "scan"], "feedbacks": ["negative", "positive"],
            "transition": "(2*x + f) % 8",
            "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
            "learner": "feedbal:width=sound"}"#,
        actions: &["blood", "scan"],
        feedbacks: &["negative", "positive"],
        starts: &[],
        horizon: 4,
        amended: false,
        share: 63,
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
        starts: &[],
        horizon: 5,
        amended: false,
        share: 15,
    },
    Study {
        name: "school",
        body: r#"{"horizon": 6, "states": ["new", "behind", "ahead"], "actions": ["text", "quiz"],
            "feedbacks": ["wrong", "right"], "start": ["new", "behind"], "transition": "min(x + f, 2)",
            "expected_delay": "1s", "learning": {"reward_range": [0, 1]}, "learner": "q-learning"}"#,
        actions: &["text", "quiz"],
        feedbacks: &["wrong", "right"],
        starts: &["new", "behind"],
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
        starts: &[],
        horizon: 3,
        amended: true,
        share: 10,
    },
    // It has no episodes: one client pauses, resumes, closes and reopens it.
    Study {
        name: "paused",
        body: r#"{"horizon": 2, "states": 1, "actions": 1, "feedbacks": 1, "transition": "0", "learner": "feedbal"}"#,
        actions: &["a0"],
        feedbacks: &["0"],
        starts: &[],
        horizon: 2,
        amended: false,
        share: 0,
    },
];

/// The place of the study that is paused.
pub(crate) const PAUSED: u8 = STUDIES.len() as u8 - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_accepts_every_study() {
        for study in &STUDIES {
            let read = emab_server::domain::study::Study::read(study.name, study.body.as_bytes());
            let read = read.unwrap_or_else(|error| panic!("{}: {error:?}", study.name));
            assert_eq!(read.spec.horizon(), study.horizon);
        }
        let shares: u64 = STUDIES.iter().map(|study| study.share).sum();
        assert_eq!(shares, 100);
    }
}
