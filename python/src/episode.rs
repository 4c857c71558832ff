//! Finished episodes.

use pyo3::prelude::*;

use crate::errors;
use crate::integers::indices;
use crate::lists::List;

/// The most entries of a list of an episode: one for each step.
const MOST: usize = emab::Spec::MAX_HORIZON;

/// The pickled form: states, actions, feedbacks; costs, rewards.
type Lists = ([Vec<usize>; 3], [Vec<f64>; 2]);

/// One finished episode: actions, feedbacks, costs and rewards.
///
/// ``states`` and ``rewards`` have one entry per step, the others one less: at the last step the action is ``stop``. NaN is
/// an unknown cost or reward; empty rewards are all unknown. States may be left out: they follow from the actions and feedbacks.
///
/// >>> episode = emab.Episode(actions=[0], feedbacks=[1], costs=[0.1], rewards=[0.0, 1.0])
/// >>> episode.gain
/// 0.9
#[pyclass(frozen, module = "emab")]
pub struct Episode {
    pub inner: emab::Episode,
}

impl Episode {
    /// An error where a cost or a reward is left out: the core takes missing values at the end for unknown ones. Empty rewards
    /// are those after a dropout. `validate_episode` rejects other lengths.
    pub fn check_lengths(&self) -> PyResult<()> {
        let (taken, steps) = (self.inner.actions.len(), self.steps());
        let lists = [
            ("costs", self.inner.costs.len(), taken, "action"),
            (
                "rewards",
                self.inner.rewards.len(),
                steps,
                "step, that of `stop` included",
            ),
        ];
        for (name, length, expected, each) in lists {
            let dropout = name == "rewards" && length == 0;
            if length < expected && !dropout {
                return Err(errors::invalid(format!(
                    "`{name}` has {length} values, expected {expected}: one for each {each}; NaN is an unknown value"
                )));
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Episode {
    #[new]
    #[pyo3(signature = (*, actions, feedbacks, costs, rewards, states = None))]
    fn new(
        actions: &Bound<'_, PyAny>,
        feedbacks: &Bound<'_, PyAny>,
        costs: List<f64, MOST>,
        rewards: List<f64, MOST>,
        states: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Episode> {
        let states = states.map(|states| indices("states", states, MOST));
        Ok(Episode {
            inner: emab::Episode {
                states: states.transpose()?.unwrap_or_default(),
                actions: indices("actions", actions, MOST)?,
                feedbacks: indices("feedbacks", feedbacks, MOST)?,
                costs: costs.0,
                rewards: rewards.0,
            },
        })
    }

    /// The states, one per step; empty if they were left out.
    #[getter]
    fn states(&self) -> Vec<usize> {
        self.inner.states.clone()
    }

    /// The continuation actions.
    #[getter]
    fn actions(&self) -> Vec<usize> {
        self.inner.actions.clone()
    }

    /// The feedbacks.
    #[getter]
    fn feedbacks(&self) -> Vec<usize> {
        self.inner.feedbacks.clone()
    }

    /// The costs of the actions.
    #[getter]
    fn costs(&self) -> Vec<f64> {
        self.inner.costs.clone()
    }

    /// The terminal reward of every step.
    #[getter]
    fn rewards(&self) -> Vec<f64> {
        self.inner.rewards.clone()
    }

    /// The number of steps, including that of ``stop``.
    #[getter]
    fn steps(&self) -> usize {
        self.inner.actions.len() + 1
    }

    /// The gain: the terminal reward of the last step minus the costs; NaN if one of them is unknown.
    #[getter]
    fn gain(&self) -> f64 {
        let costs = (1..self.steps()).map(|t| self.inner.known_cost(t).unwrap_or(f64::NAN));
        let reward = self.inner.known_reward(self.steps());
        reward.unwrap_or(f64::NAN) - costs.sum::<f64>()
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, Lists)> {
        let restore = slf.get_type().getattr("_from_lists")?;
        let e = &slf.get().inner;
        Ok((
            restore.unbind(),
            (
                [e.states.clone(), e.actions.clone(), e.feedbacks.clone()],
                [e.costs.clone(), e.rewards.clone()],
            ),
        ))
    }

    #[staticmethod]
    fn _from_lists(indices: [List<usize, MOST>; 3], values: [List<f64, MOST>; 2]) -> Episode {
        let [states, actions, feedbacks] = indices.map(|list| list.0);
        let [costs, rewards] = values.map(|list| list.0);
        Episode {
            inner: emab::Episode {
                states,
                actions,
                feedbacks,
                costs,
                rewards,
            },
        }
    }

    fn __eq__(&self, other: &Episode) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        let e = &self.inner;
        let text = format!(
            "Episode(actions={:?}, feedbacks={:?}, costs={:?}, rewards={:?})",
            e.actions, e.feedbacks, e.costs, e.rewards
        );
        text.replace("NaN", "nan")
    }
}
