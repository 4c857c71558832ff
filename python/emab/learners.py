"""A class for each learner of `emab learners`. Written by tools/learners.py."""

from __future__ import annotations

from emab._emab import Learner, Problem, Spec
from emab._learner import learner_text


class FeedBAL(Learner):
    """Upper confidence bounds on the gain of each action, by step and state.

    Tekin, van der Schaar, Episodic Multi-armed Bandits, Algorithm 2.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - width: confidence width: `paper` (Equations 3 and 4 as printed), `sound` (also covers the randomness of the
        feedback) or `bernstein` (adapts to its observed variance) (default: paper)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - feedback_spread: for width=sound and bernstein: how far one feedback can move the next expected reward (default:
        [learning])
    - stop_bias: added to the index of `stop` (the epsilon of Section 4), a finite number (default: 0)
    - ties: which continuation action wins a tie: `lowest` or `random` (default: lowest)
    - window: for drift: the number of most recent episodes used, at least 1 (default: all)
    - gamma: for drift: the discount of an episode for every later one, in (0, 1) (default: 1)
    - pending: `true`: choices in flight count in the widths, so that open episodes do not all repeat the same choice;
        `false`: they do not (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        width: float | str | bool | None = None,
        sigma2_cost: float | str | bool | None = None,
        sigma2_reward: float | str | bool | None = None,
        feedback_spread: float | str | bool | None = None,
        stop_bias: float | str | bool | None = None,
        ties: float | str | bool | None = None,
        window: float | str | bool | None = None,
        gamma: float | str | bool | None = None,
        pending: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> FeedBAL:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "sigma2": sigma2,
            "delta": delta,
            "width": width,
            "sigma2_cost": sigma2_cost,
            "sigma2_reward": sigma2_reward,
            "feedback_spread": feedback_spread,
            "stop_bias": stop_bias,
            "ties": ties,
            "window": window,
            "gamma": gamma,
            "pending": pending,
        }
        text = learner_text("feedbal", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class FeedBALPooled(Learner):
    """FeedBAL with values estimated through the feedback distribution and an index by their variance; allows for
    choices in flight.

    Emab, docs/theory.md; after Tekin, van der Schaar.

    - target: what is learned: the `optimal` policy, or the `benchmark` of the paper, which looks one step ahead
        (default: optimal)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - feedback_spread: how far one feedback can move the next expected reward: the prior of a pair never seen, and a
        limit in the confidence bounds (default: 1)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - explore: factor of the variance in the index, at least 0; below 0.5 some runs recover very late from an
        unfavourable start (default: 0.7)
    - pending: `true`: choices in flight count in the index, so that open episodes do not all repeat the same choice;
        `false`: they do not (default: true)
    - rho: number of observations near which widths are tight, from 0.001 to 1e6 (default: 3)
    - updates: with `target=optimal`, how many values of pairs outside of an episode are updated after it, those that
        may change most first (default: 0)
    - unknown_costs: feedback whose cost is unknown: `impute` (it counts, and the mean of later costs stands for its
        cost) or `drop` (it does not count, as in earlier versions: no certificate) (default: impute)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        target: float | str | bool | None = None,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        sigma2_cost: float | str | bool | None = None,
        sigma2_reward: float | str | bool | None = None,
        feedback_spread: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        explore: float | str | bool | None = None,
        pending: float | str | bool | None = None,
        rho: float | str | bool | None = None,
        updates: float | str | bool | None = None,
        unknown_costs: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> FeedBALPooled:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "target": target,
            "sigma2": sigma2,
            "delta": delta,
            "sigma2_cost": sigma2_cost,
            "sigma2_reward": sigma2_reward,
            "feedback_spread": feedback_spread,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "explore": explore,
            "pending": pending,
            "rho": rho,
            "updates": updates,
            "unknown_costs": unknown_costs,
        }
        text = learner_text("feedbal-pooled", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class FeedBALKL(Learner):
    """FeedBAL-pooled with an index by the Kullback-Leibler divergence from the observed feedback, for long studies.

    Emab, docs/theory.md; after Garivier, Cappé (2011).

    - target: what is learned: the `optimal` policy, or the `benchmark` of the paper, which looks one step ahead
        (default: optimal)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - feedback_spread: how far one feedback can move the next expected reward: the prior of a pair never seen, and a
        limit in the confidence bounds (default: 1)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - explore: factor of the divergence that the index allows, at least 0; below 1 it explores less than a consistent
        learner must (default: 1)
    - pending: `true`: choices in flight count in the index, so that open episodes do not all repeat the same choice;
        `false`: they do not (default: true)
    - rho: number of observations near which widths are tight, from 0.001 to 1e6 (default: 3)
    - updates: with `target=optimal`, how many values of pairs outside of an episode are updated after it, those that
        may change most first (default: 0)
    - unknown_costs: feedback whose cost is unknown: `impute` (it counts, and the mean of later costs stands for its
        cost) or `drop` (it does not count, as in earlier versions: no certificate) (default: impute)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        target: float | str | bool | None = None,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        sigma2_cost: float | str | bool | None = None,
        sigma2_reward: float | str | bool | None = None,
        feedback_spread: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        explore: float | str | bool | None = None,
        pending: float | str | bool | None = None,
        rho: float | str | bool | None = None,
        updates: float | str | bool | None = None,
        unknown_costs: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> FeedBALKL:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "target": target,
            "sigma2": sigma2,
            "delta": delta,
            "sigma2_cost": sigma2_cost,
            "sigma2_reward": sigma2_reward,
            "feedback_spread": feedback_spread,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "explore": explore,
            "pending": pending,
            "rho": rho,
            "updates": updates,
            "unknown_costs": unknown_costs,
        }
        text = learner_text("feedbal-kl", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class FeedBALModel(Learner):
    """FeedBAL with gains estimated through the feedback distribution and rewards pooled over all visits of a pair.

    Emab, docs/theory.md; after Tekin, van der Schaar.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - width: confidence width: `joint` (one bound for feedback, cost and rewards) or `bernstein` (adapts to the variance
        of the feedback) (default: joint)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - feedback_spread: upper limit on how far one feedback can move the next expected reward; a smaller spread that the
        data supports replaces it (default: 1)
    - rule: `trust`: the action with the largest moderate index where its estimate is precise enough; `boldest`: always
        the largest upper bound (default: trust)
    - trust: number of widths by which the mean of the action with the largest moderate index must reach the largest
        upper bound, at least 1 (default: 3)
    - explore: standard errors added to the mean in the moderate index, at least 0 (default: 1)
    - rho: number of observations near which widths are tight, from 0.001 to 1e6 (default: 3)
    - unknown_costs: feedback whose cost is unknown: `impute` (it counts, and the mean of later costs stands for its
        cost) or `drop` (it does not count, as in earlier versions: no certificate) (default: impute)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        width: float | str | bool | None = None,
        sigma2_cost: float | str | bool | None = None,
        sigma2_reward: float | str | bool | None = None,
        feedback_spread: float | str | bool | None = None,
        rule: float | str | bool | None = None,
        trust: float | str | bool | None = None,
        explore: float | str | bool | None = None,
        rho: float | str | bool | None = None,
        unknown_costs: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> FeedBALModel:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "sigma2": sigma2,
            "delta": delta,
            "width": width,
            "sigma2_cost": sigma2_cost,
            "sigma2_reward": sigma2_reward,
            "feedback_spread": feedback_spread,
            "rule": rule,
            "trust": trust,
            "explore": explore,
            "rho": rho,
            "unknown_costs": unknown_costs,
        }
        text = learner_text("feedbal-model", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class FeedBALLookahead(Learner):
    """FeedBAL with several steps of lookahead; with depth = horizon it targets the optimal policy.

    Emab, docs/theory.md; after Tekin, van der Schaar.

    - depth: steps of lookahead: a whole number of at least 1 (1 targets the benchmark), or `horizon` (default: horizon)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - rule: `trust`: the action with the largest moderate index where its estimate is precise enough; `boldest`: always
        the largest upper bound (default: trust)
    - trust: number of widths by which the mean of the action with the largest moderate index must reach the largest
        upper bound, at least 1 (default: 3)
    - explore: standard errors added to the mean in the moderate index, at least 0 (default: 1)
    - rho: number of observations near which widths are tight, from 0.001 to 1e6 (default: 3)
    - unknown_costs: feedback whose cost is unknown: `impute` (it counts, and the mean of later costs stands for its
        cost) or `drop` (it does not count, as in earlier versions: no certificate) (default: impute)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        depth: float | str | bool | None = None,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        sigma2_cost: float | str | bool | None = None,
        sigma2_reward: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        rule: float | str | bool | None = None,
        trust: float | str | bool | None = None,
        explore: float | str | bool | None = None,
        rho: float | str | bool | None = None,
        unknown_costs: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> FeedBALLookahead:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "depth": depth,
            "sigma2": sigma2,
            "delta": delta,
            "sigma2_cost": sigma2_cost,
            "sigma2_reward": sigma2_reward,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "rule": rule,
            "trust": trust,
            "explore": explore,
            "rho": rho,
            "unknown_costs": unknown_costs,
        }
        text = learner_text("feedbal-lookahead", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class UCB1(Learner):
    """UCB1 with one arm per sequence of actions; updates the played arm.

    Auer, Cesa-Bianchi, Fischer 2002, over sequences as in Section 5 of the paper.
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        seed: int = 0,
        remember: bool = True,
    ) -> UCB1:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        text = learner_text("ucb1", {})
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class UCB1V(Learner):
    """UCB1 that also updates every prefix of the played sequence.

    Tekin, van der Schaar, Section 5.
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        seed: int = 0,
        remember: bool = True,
    ) -> UCB1V:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        text = learner_text("ucb1v", {})
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class UCBVI(Learner):
    """Optimistic backward induction on the estimated decision process before every episode.

    Azar, Osband, Munos 2017, Minimax Regret Bounds for Reinforcement Learning.

    - bonus: the bonus: `hoeffding` (Algorithm 3) or `bernstein` (Algorithm 4) (default: bernstein)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - scale: factor of the published bonus, at least 0; below 1 the proof does not apply, and the regret is often
        smaller (default: 1)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        bonus: float | str | bool | None = None,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        scale: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> UCBVI:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "bonus": bonus,
            "sigma2": sigma2,
            "delta": delta,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "scale": scale,
            "reveal": reveal,
        }
        text = learner_text("ucbvi", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class UCRL2(Learner):
    """Optimal policy of the most optimistic plausible process, recomputed when a count has doubled.

    Auer, Jaksch, Ortner 2008, Near-optimal Regret Bounds for Reinforcement Learning.

    - outcomes: S in the bound on transition probabilities: `arrows` (pairs that can follow the action) or `pairs` (all,
        as published) (default: arrows)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - scale: factor of the published bonus, at least 0; below 1 the proof does not apply, and the regret is often
        smaller (default: 1)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        outcomes: float | str | bool | None = None,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        scale: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> UCRL2:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "outcomes": outcomes,
            "sigma2": sigma2,
            "delta": delta,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "scale": scale,
            "reveal": reveal,
        }
        text = learner_text("ucrl2", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class OLP(Learner):
    """Values of the estimated process; at each step the action with the largest optimistic value.

    Tewari, Bartlett 2007, Optimistic Linear Programming gives Logarithmic Regret for Irreducible MDPs.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - scale: factor of the published bonus, at least 0; below 1 the proof does not apply, and the regret is often
        smaller (default: 1)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        sigma2: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        scale: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> OLP:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "sigma2": sigma2,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "scale": scale,
            "reveal": reveal,
        }
        text = learner_text("olp", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class OREPS(Learner):
    """Mirror descent on occupancy measures, with the feedback distribution known.

    Zimin, Neu 2013, Online Learning in Episodic Markovian Decision Processes by Relative Entropy Policy Search.

    It reads the model, and so needs the problem, not only its spec.

    - eta: learning rate, above 0; `doubling`: about the published rate, with the doubling trick (default: doubling)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Problem | None = None,
        *,
        eta: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> OREPS:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "eta": eta,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "reveal": reveal,
        }
        text = learner_text("o-reps", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class OASM(Learner):
    """For items that work or fail and known rewards: greedy with optimistic success probabilities pooled over steps.

    Gabillon, Kveton, Wen, Eriksson, Muthukrishnan 2013, Adaptive Submodular Maximization in Bandit Setting.

    It reads the model, and so needs the problem, not only its spec.

    - scale: factor of the published bonus, at least 0; below 1 the proof does not apply, and the regret is often
        smaller (default: 1)
    """

    def __new__(
        cls,
        spec: Problem | None = None,
        *,
        scale: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> OASM:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "scale": scale,
        }
        text = learner_text("oasm", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class PSRL(Learner):
    """Samples a decision process from the posterior before every episode and plays its optimal policy.

    Osband, Russo, Van Roy 2013, (More) Efficient Reinforcement Learning via Posterior Sampling.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - prior: weight of each possible next pair in the Dirichlet prior of the transition probabilities, more than 0
        (default: 1)
    - prior_sd: standard deviation of the normal prior of every mean, as a multiple of the length of [reward_least,
        reward_most]; more than 0 (default: 0.5)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        sigma2: float | str | bool | None = None,
        prior: float | str | bool | None = None,
        prior_sd: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> PSRL:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "sigma2": sigma2,
            "prior": prior,
            "prior_sd": prior_sd,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "reveal": reveal,
        }
        text = learner_text("psrl", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class OPSRL(Learner):
    """Best of several posterior samples per action, drawn again when a count has doubled.

    Agrawal, Jia 2017, Optimistic posterior sampling for reinforcement learning: worst-case regret bounds.

    - samples: psi: posterior samples per action, of which the best is used; published: O(S log(S A / rho)) (default:
        10)
    - eta: number of visits from which samples come from the posterior, at least 0; published: sqrt(T S / A) + 12 omega
        S^4 (default: 5)
    - omega: weight of each possible next pair in the Dirichlet prior, more than 0; published: O(log(T / rho)) (default:
        1)
    - kappa: divisor of the posterior weights, more than 0; published: O(log(T / rho)) (default: 1)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - prior_sd: standard deviation of the normal prior of every mean, as a multiple of the length of [reward_least,
        reward_most]; more than 0 (default: 0.5)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        samples: float | str | bool | None = None,
        eta: float | str | bool | None = None,
        omega: float | str | bool | None = None,
        kappa: float | str | bool | None = None,
        sigma2: float | str | bool | None = None,
        prior_sd: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> OPSRL:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "samples": samples,
            "eta": eta,
            "omega": omega,
            "kappa": kappa,
            "sigma2": sigma2,
            "prior_sd": prior_sd,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "reveal": reveal,
        }
        text = learner_text("opsrl", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class QLearning(Learner):
    """Action values learned from steps, without a model.

    Watkins 1989, Learning from Delayed Rewards; Jin, Allen-Zhu, Bubeck, Jordan 2018, Is Q-learning Provably Efficient?.

    - explore: `ucb` (bonus, Jin et al.) or `epsilon` (random choice with small probability, Watkins) (default: ucb)
    - c: for explore=ucb: factor of the bonus, at least 0; published: an unspecified constant (default: 0.1)
    - epsilon: probability of exploring at the first visit to a step-state pair, from 0 to 1 (default: 1)
    - epsilon_decay: the probability of exploring at the n-th visit is epsilon / n^epsilon_decay; from 0 (constant) to 1
        (default: 0.5)
    - alpha: initial step size of an action in a pair, more than 0 and at most 1 (default: 1)
    - alpha_decay: the n-th step size is alpha / n^alpha_decay; from 0 (constant) to 1, above 0.5 for convergence
        (default: 0.8)
    - initial: for explore=epsilon: initial action value, a finite number (default: 0)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: probability with which some confidence bound may fail, in (0, 1); `1/n` for one over the episodes of the
        run (default: 0.01)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        explore: float | str | bool | None = None,
        c: float | str | bool | None = None,
        epsilon: float | str | bool | None = None,
        epsilon_decay: float | str | bool | None = None,
        alpha: float | str | bool | None = None,
        alpha_decay: float | str | bool | None = None,
        initial: float | str | bool | None = None,
        sigma2: float | str | bool | None = None,
        delta: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> QLearning:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "explore": explore,
            "c": c,
            "epsilon": epsilon,
            "epsilon_decay": epsilon_decay,
            "alpha": alpha,
            "alpha_decay": alpha_decay,
            "initial": initial,
            "sigma2": sigma2,
            "delta": delta,
            "reward_least": reward_least,
            "reward_most": reward_most,
            "reveal": reveal,
        }
        text = learner_text("q-learning", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class TDLambda(Learner):
    """Sarsa(lambda): action values learned from temporal differences with eligibility traces.

    Rummery, Niranjan 1994, On-line Q-learning using connectionist systems; Sutton, Barto 1998, Section 7.5.

    - lambda_: trace decay, from 0 (one step) to 1 (all steps) (default: 0.9)
    - epsilon: probability of exploring at the first visit to a step-state pair, from 0 to 1 (default: 1)
    - epsilon_decay: the probability of exploring at the n-th visit is epsilon / n^epsilon_decay; from 0 (constant) to 1
        (default: 0.5)
    - alpha: initial step size of an action in a pair, more than 0 and at most 1 (default: 1)
    - alpha_decay: the n-th step size is alpha / n^alpha_decay; from 0 (constant) to 1, above 0.5 for convergence
        (default: 0.8)
    - initial: initial action value, a finite number (default: 0)
    - reveal: `true`: learn from the terminal reward of every step passed, as eMAB reveals it; `false`: from the earned
        reward only (default: false)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        lambda_: float | str | bool | None = None,
        epsilon: float | str | bool | None = None,
        epsilon_decay: float | str | bool | None = None,
        alpha: float | str | bool | None = None,
        alpha_decay: float | str | bool | None = None,
        initial: float | str | bool | None = None,
        reveal: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> TDLambda:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "lambda": lambda_,
            "epsilon": epsilon,
            "epsilon_decay": epsilon_decay,
            "alpha": alpha,
            "alpha_decay": alpha_decay,
            "initial": initial,
            "reveal": reveal,
        }
        text = learner_text("td-lambda", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class Thompson(Learner):
    """Samples the gain of each action from its posterior, by step and state, and takes the largest.

    Agrawal, Goyal 2013, Further Optimal Regret Bounds for Thompson Sampling.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - feedback_spread: how far one feedback can move the next expected reward (default: 0)
    - prior_sd: standard deviation of the normal prior of every mean, as a multiple of the length of [reward_least,
        reward_most]; more than 0 (default: 0.5)
    - reward_least: smallest possible expected terminal reward (default: 0)
    - reward_most: largest possible expected terminal reward; bounds the value of every policy while costs are not
        negative (default: 1)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        sigma2: float | str | bool | None = None,
        feedback_spread: float | str | bool | None = None,
        prior_sd: float | str | bool | None = None,
        reward_least: float | str | bool | None = None,
        reward_most: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> Thompson:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "sigma2": sigma2,
            "feedback_spread": feedback_spread,
            "prior_sd": prior_sd,
            "reward_least": reward_least,
            "reward_most": reward_most,
        }
        text = learner_text("thompson", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class EpsilonGreedy(Learner):
    """Largest mean gain by step and state, and a random action with probability epsilon.

    Auer, Cesa-Bianchi, Fischer 2002, Finite-time Analysis of the Multiarmed Bandit Problem, Figure 3.

    - schedule: probability of exploring: `decay`, min(1, c K / (d^2 n)) at the n-th visit with K choices, or `constant`
        (default: decay)
    - c: for schedule=decay: more than 0; the proof requires more than 5 (default: 0.1)
    - d: for schedule=decay: more than 0 and at most 1; the proof requires at most the smallest gap (default: 0.2)
    - epsilon: for schedule=constant: the probability, from 0 to 1 (default: 0.1)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        schedule: float | str | bool | None = None,
        c: float | str | bool | None = None,
        d: float | str | bool | None = None,
        epsilon: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> EpsilonGreedy:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "schedule": schedule,
            "c": c,
            "d": d,
            "epsilon": epsilon,
        }
        text = learner_text("epsilon-greedy", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class ExploreThenCommit(Learner):
    """Tries every action m times by step and state, then keeps the one with the largest mean gain.

    Lattimore, Szepesvári 2020, Bandit Algorithms, Chapter 6.

    - m: number of trials of each action in each pair, a whole number of at least 1 (default: 10)
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        m: float | str | bool | None = None,
        seed: int = 0,
        remember: bool = True,
    ) -> ExploreThenCommit:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        settings = {
            "m": m,
        }
        text = learner_text("explore-then-commit", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class Benchmark(Learner):
    """Algorithm 1: takes the action with the best next step.

    Tekin, van der Schaar, Algorithm 1.

    It reads the model, and so needs the problem, not only its spec.
    """

    def __new__(
        cls,
        spec: Problem | None = None,
        *,
        seed: int = 0,
        remember: bool = True,
    ) -> Benchmark:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        text = learner_text("benchmark", {})
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class Optimal(Learner):
    """Plays the optimal policy, found by backward induction.

    Backward induction.

    It reads the model, and so needs the problem, not only its spec.
    """

    def __new__(
        cls,
        spec: Problem | None = None,
        *,
        seed: int = 0,
        remember: bool = True,
    ) -> Optimal:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        text = learner_text("optimal", {})
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class BestFixed(Learner):
    """Plays the best sequence of actions that ignores feedback.

    Tekin, van der Schaar, Section 2.

    It reads the model, and so needs the problem, not only its spec.
    """

    def __new__(
        cls,
        spec: Problem | None = None,
        *,
        seed: int = 0,
        remember: bool = True,
    ) -> BestFixed:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        text = learner_text("best-fixed", {})
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class Random(Learner):
    """An allowed action or `stop`, uniformly at random.

    None.
    """

    def __new__(
        cls,
        spec: Spec | Problem | None = None,
        *,
        seed: int = 0,
        remember: bool = True,
    ) -> Random:
        """Create a learner for a problem or, without one, a setting for `emab.run`."""
        text = learner_text("random", {})
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


BY_NAME: dict[str, type[Learner]] = {
    "feedbal": FeedBAL,
    "feedbal-pooled": FeedBALPooled,
    "feedbal-kl": FeedBALKL,
    "feedbal-model": FeedBALModel,
    "feedbal-lookahead": FeedBALLookahead,
    "ucb1": UCB1,
    "ucb1v": UCB1V,
    "ucbvi": UCBVI,
    "ucrl2": UCRL2,
    "olp": OLP,
    "o-reps": OREPS,
    "oasm": OASM,
    "psrl": PSRL,
    "opsrl": OPSRL,
    "q-learning": QLearning,
    "td-lambda": TDLambda,
    "thompson": Thompson,
    "epsilon-greedy": EpsilonGreedy,
    "explore-then-commit": ExploreThenCommit,
    "benchmark": Benchmark,
    "optimal": Optimal,
    "best-fixed": BestFixed,
    "random": Random,
}
"""The classes by their name on the command line."""

__all__ = [
    "BY_NAME",
    "OASM",
    "OLP",
    "OPSRL",
    "OREPS",
    "PSRL",
    "UCB1",
    "UCB1V",
    "UCBVI",
    "UCRL2",
    "Benchmark",
    "BestFixed",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "FeedBAL",
    "FeedBALKL",
    "FeedBALLookahead",
    "FeedBALModel",
    "FeedBALPooled",
    "Optimal",
    "QLearning",
    "Random",
    "TDLambda",
    "Thompson",
]
