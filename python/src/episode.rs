//! Finished episodes.

use pyo3::prelude::*;

use crate::integers::indices;

/// The pickled form: states, actions, feedbacks; costs, rewards.
type Lists = ([Vec<usize>; 3], [Vec<f64>; 2]);

/// One finished episode: actions, feedbacks, costs and rewards.
///
/// ``states`` and ``rewards`` have one entry per step, the others one less: at the last step the action is ``stop``. NaN is
/// an unknown cost or reward. States may be left out: they follow from the actions and feedbacks.
///
/// >>> episode = emab.Episode(actions=[0], feedbacks=[1], costs=[0.1], rewards=[0.0, 1.0])
/// >>> episode.gain
/// 0.9
#[pyclass(frozen, module = "emab")]
pub struct Episode {
    pub inner: emab::Episode,
}

#[pymethods]
impl Episode {
    #[new]
    #[pyo3(signature = (*, actions, feedbacks, costs, rewards, states = None))]
    fn new(
        actions: &Bound<'_, PyAny>,
        feedbacks: &Bound<'_, PyAny>,
        costs: Vec<f64>,
        rewards: Vec<f64>,
        states: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Episode> {
        let states = states.map(|states| indices("states", states)).transpose()?;
        Ok(Episode {
            inner: emab::Episode {
                states: states.unwrap_or_default(),
                actions: indices("actions", actions)?,
                feedbacks: indices("feedbacks", feedbacks)?,
                costs,
                rewards,
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
    fn _from_lists(indices: [Vec<usize>; 3], values: [Vec<f64>; 2]) -> Episode {
        let ([states, actions, feedbacks], [costs, rewards]) = (indices, values);
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
