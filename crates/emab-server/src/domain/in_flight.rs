//! Episodes in flight: the choices whose outcome is not known yet, for learners that allow for them.
//!
//! What is in flight is a function of the log: the steps of episodes that are open, or stopped without a complete outcome.
//! An outcome that never comes must not count for ever: an episode counts for [`IN_FLIGHT_EVENTS`] events after the one that opened
//! it, or until it is abandoned.

use std::collections::BTreeMap;

use emab::Action;

use crate::domain::{EpisodeRecord, Status, StudyLearners};

/// The number of events, from the one that opened an episode, for which the episode counts.
pub const IN_FLIGHT_EVENTS: u64 = 10_000;

/// The choices in flight: by the number of the event that opened the episode, the state and the action of every step.
#[derive(Debug, Default)]
pub struct InFlight(BTreeMap<u64, Vec<(usize, Action)>>);

impl InFlight {
    /// Replaces the choices of an episode by those that it has now.
    pub fn update(&mut self, episode: &EpisodeRecord, learners: &mut StudyLearners) {
        let number = episode.opened;
        self.remove(number, learners);
        let choices = pending_choices(episode);
        if !choices.is_empty() {
            announce(number, &choices, learners);
            self.0.insert(number, choices);
        }
    }

    /// Removes the choices of an episode.
    pub fn remove(&mut self, number: u64, learners: &mut StudyLearners) {
        if self.0.remove(&number).is_some() {
            learners.settle(number);
        }
    }

    /// Removes the episodes that no longer count after this event, before a decision is made.
    pub fn expire(&mut self, seq: u64, learners: &mut StudyLearners) {
        while let Some(first) = self.0.first_entry() {
            if first.key() + IN_FLIGHT_EVENTS > seq {
                break;
            }
            learners.settle(*first.key());
            first.remove();
        }
    }

    /// Announces all choices to new learners.
    pub fn announce_all(&self, learners: &mut StudyLearners) {
        for (&number, choices) in &self.0 {
            announce(number, choices, learners);
        }
    }
}

fn announce(number: u64, choices: &[(usize, Action)], learners: &mut StudyLearners) {
    for (i, &(x, action)) in choices.iter().enumerate() {
        learners.announce(number, i + 1, x, action);
    }
}

/// The choices of an episode that are in flight, the state and the action of every step: the actions that were taken, and at the
/// current step the recommended one, or `stop` after the end.
pub fn pending_choices(episode: &EpisodeRecord) -> Vec<(usize, Action)> {
    if !matches!(episode.status(), Status::Open | Status::Stopped) {
        return Vec::new();
    }
    let taken = episode
        .steps
        .iter()
        .map(|step| Action::Continue(step.action));
    // `finish` clears the recommendation.
    let current = episode.recommended.map_or(Action::Stop, Action::Continue);
    let actions = taken.chain([current]);
    episode.states.iter().copied().zip(actions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{End, RULES, Step, Study};

    const SPEC: &str = r#"{
        "horizon": 2, "states": 1, "actions": 3, "feedbacks": 1, "transition": "0", "learner": "feedbal-pooled"
    }"#;

    fn opened(number: u64, recommended: Option<usize>) -> EpisodeRecord {
        EpisodeRecord {
            states: vec![0],
            recommended,
            opened: number,
            ..EpisodeRecord::default()
        }
    }

    #[test]
    fn episodes_count_until_they_end_or_expire() {
        let study = Study::read("s", SPEC.as_bytes()).unwrap();
        let mut learners = StudyLearners::new(&study, RULES).unwrap();
        let mut in_flight = InFlight::default();
        let next = |learners: &mut StudyLearners| learners.choose(1, 0);
        assert_eq!(next(&mut learners), Action::Continue(0));
        in_flight.update(&opened(2, Some(0)), &mut learners);
        assert_eq!(next(&mut learners), Action::Continue(1));
        // The second was recommended action 1, and took action 2.
        let mut second = opened(3, Some(1));
        in_flight.update(&second, &mut learners);
        assert_eq!(next(&mut learners), Action::Continue(2));
        second.states.push(0);
        second.steps.push(Step {
            action: 2,
            ..Step::default()
        });
        second.recommended = None;
        in_flight.update(&second, &mut learners);
        assert_eq!(next(&mut learners), Action::Continue(1));
        // A restart announces the same.
        let mut again = StudyLearners::new(&study, RULES).unwrap();
        in_flight.announce_all(&mut again);
        assert_eq!(next(&mut again), Action::Continue(1));
        in_flight.expire(2 + IN_FLIGHT_EVENTS - 1, &mut learners);
        assert_eq!(next(&mut learners), Action::Continue(1));
        in_flight.expire(2 + IN_FLIGHT_EVENTS, &mut learners);
        assert_eq!(next(&mut learners), Action::Continue(0));
        second.finish(End {
            abandoned: true,
            ..End::default()
        });
        in_flight.update(&second, &mut learners);
        in_flight.update(&opened(4, Some(0)), &mut learners);
        in_flight.update(&opened(5, Some(1)), &mut learners);
        assert_eq!(next(&mut learners), Action::Continue(2));
    }
}
