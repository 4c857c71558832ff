"""A class for each learner of `emab learners`. Written by tools/learners.py."""

from __future__ import annotations

from emab._emab import Learner, Problem, Spec
from emab._learner import learner_text


class FeedBAL(Learner):
    """Upper confidence bounds on the gain of each action, by step and state.

    Tekin, van der Schaar, Episodic Multi-armed Bandits, Algorithm 2.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run
        (default: 0.01)
    - width: confidence width: `paper` (Equations 3 and 4 as printed), `sound` (covers the feedback too) or `bernstein`
        (adapts to its observed variance) (default: paper)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - feedback_spread: for width=sound and bernstein: how far one feedback can move the next expected reward (default:
        [learning])
    - stop_bias: added to the index of `stop` (the epsilon of Section 4), a finite number (default: 0)
    - ties: who wins a tie among continuation actions: `lowest` or `random` (default: lowest)
    - window: for laws that drift: only the last so many episodes count, at least 1 (default: all)
    - gamma: for laws that drift: how much an episode counts against the one after it, in (0, 1) (default: 1)
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
        }
        text = learner_text("feedbal", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class FeedBALModel(Learner):
    """FeedBAL with the gain through the estimated law and rewards pooled over all that reached a pair.

    Emab, docs/theory.md; after Tekin, van der Schaar.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run
        (default: 0.01)
    - width: confidence width: `joint` (one bound for feedback, cost and rewards) or `bernstein` (adapts to the variance
        of the feedback) (default: joint)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - feedback_spread: how far one feedback can move the next expected reward at most; where it was seen to move less,
        that counts (default: 1)
    - rule: `trust`: the action of the largest modest index where its estimate can be trusted; `boldest`: that of the
        largest upper bound, always (default: trust)
    - trust: the action of the largest modest index is played if its mean plus so many widths reaches the largest upper
        bound, at least 1 (default: 3)
    - explore: the modest index is the mean plus so many standard errors, at least 0 (default: 1)
    - rho: the number of observations near which widths are made tight, from 0.001 to 1e6 (default: 3)
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
        }
        text = learner_text("feedbal-model", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class FeedBALLookahead(Learner):
    """FeedBAL on the gain of the best several steps ahead; with depth = horizon it competes with the optimal policy.

    Emab, docs/theory.md; after Tekin, van der Schaar.

    - depth: steps ahead: a whole number of at least 1 (1 competes with the benchmark), or `horizon` (default: horizon)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run
        (default: 0.01)
    - sigma2_cost: variance proxy of the noise on costs alone (default: sigma2)
    - sigma2_reward: variance proxy of the noise on rewards alone (default: sigma2)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - rule: `trust`: the action of the largest modest index where its estimate can be trusted; `boldest`: that of the
        largest upper bound, always (default: trust)
    - trust: the action of the largest modest index is played if its mean plus so many widths reaches the largest upper
        bound, at least 1 (default: 3)
    - explore: the modest index is the mean plus so many standard errors, at least 0 (default: 1)
    - rho: the number of observations near which widths are made tight, from 0.001 to 1e6 (default: 3)
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
        }
        text = learner_text("feedbal-lookahead", settings)
        return Learner.__new__(cls, text, spec, seed=seed, remember=remember)


class UCB1(Learner):
    """One arm for each sequence of actions; updates the arm it played.

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
    """UCB1 that updates every prefix of the sequence it played.

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
    """Optimistic backward induction on the estimated process, before every episode.

    Azar, Osband, Munos 2017, Minimax Regret Bounds for Reinforcement Learning.

    - bonus: the bonus: `hoeffding` (Algorithm 3) or `bernstein` (Algorithm 4) (default: bernstein)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run
        (default: 0.01)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - scale: multiplies the published bonus, at least 0; below 1 the proof no longer holds and the regret is often
        smaller (default: 1)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """The best policy of the best plausible process, until some count has doubled.

    Auer, Jaksch, Ortner 2008, Near-optimal Regret Bounds for Reinforcement Learning.

    - outcomes: what S counts in the bound on the law: `arrows`, what may follow the action, or `pairs`, all, as
        published (default: arrows)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run
        (default: 0.01)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - scale: multiplies the published bonus, at least 0; below 1 the proof no longer holds and the regret is often
        smaller (default: 1)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """Values of the estimated process, and at each step the action that could best lead on to them.

    Tewari, Bartlett 2007, Optimistic Linear Programming gives Logarithmic Regret for Irreducible MDPs.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - scale: multiplies the published bonus, at least 0; below 1 the proof no longer holds and the regret is often
        smaller (default: 1)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """Knows the law: after every episode the nearest policy, by relative entropy, that loses less.

    Zimin, Neu 2013, Online Learning in Episodic Markovian Decision Processes by Relative Entropy Policy Search.

    It reads the model, and so needs the problem, not only its spec.

    - eta: the learning rate, above 0; `doubling` for the published one with the doubling trick (default: doubling)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """For items that work or fail and a known reward: greedy with optimistic chances, pooled over all steps.

    Gabillon, Kveton, Wen, Eriksson, Muthukrishnan 2013, Adaptive Submodular Maximization in Bandit Setting.

    It reads the model, and so needs the problem, not only its spec.

    - scale: multiplies the published bonus, at least 0; below 1 the proof no longer holds and the regret is often
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
    """Draws a process from the posterior before every episode and plays its optimal policy.

    Osband, Russo, Van Roy 2013, (More) Efficient Reinforcement Learning via Posterior Sampling.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - prior: weight of each possible next pair in the Dirichlet prior of a law, more than 0 (default: 1)
    - prior_sd: standard deviation of the normal prior of every mean, in lengths of [reward_least, reward_most]; more
        than 0 (default: 0.5)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """The best of several draws from the posterior of each action, anew when some count has doubled.

    Agrawal, Jia 2017, Optimistic posterior sampling for reinforcement learning: worst-case regret bounds.

    - samples: psi: draws for each action, of which the best counts; published is O(S log(S A / rho)) (default: 10)
    - eta: visits from which on draws come from the posterior, at least 0; published is sqrt(T S / A) + 12 omega S^4
        (default: 5)
    - omega: weight of each possible next pair in the Dirichlet prior, more than 0; published is O(log(T / rho))
        (default: 1)
    - kappa: divides the weights of the posterior, more than 0; published is O(log(T / rho)) (default: 1)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - prior_sd: standard deviation of the normal prior of every mean, in lengths of [reward_least, reward_most]; more
        than 0 (default: 0.5)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """Values of actions learned from steps, without a model.

    Watkins 1989, Learning from Delayed Rewards; Jin, Allen-Zhu, Bubeck, Jordan 2018, Is Q-learning Provably Efficient?.

    - explore: `ucb` (a bonus, Jin et al.) or `epsilon` (any choice with a small chance, Watkins) (default: ucb)
    - c: for explore=ucb: multiplies the bonus, at least 0; published is some absolute constant (default: 0.1)
    - epsilon: chance to explore at the first visit to a step-state pair, from 0 to 1 (default: 1)
    - epsilon_decay: the chance to explore at the n-th visit is epsilon / n^epsilon_decay; from 0 (constant) to 1
        (default: 0.5)
    - alpha: first step size of an action in a pair, more than 0 and at most 1 (default: 1)
    - alpha_decay: the n-th step size is alpha / n^alpha_decay; from 0 (constant) to 1, above 0.5 for convergence
        (default: 0.8)
    - initial: for explore=epsilon: what values begin at, a finite number (default: 0)
    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - delta: chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run
        (default: 0.01)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
        negative (default: 1)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """Temporal differences with traces: values of actions learned from all that follows them.

    Rummery, Niranjan 1994, On-line Q-learning using connectionist systems; Sutton, Barto 1998, Section 7.5.

    - lambda_: how far differences reach back, from 0 (one step) to 1 (all) (default: 0.9)
    - epsilon: chance to explore at the first visit to a step-state pair, from 0 to 1 (default: 1)
    - epsilon_decay: the chance to explore at the n-th visit is epsilon / n^epsilon_decay; from 0 (constant) to 1
        (default: 0.5)
    - alpha: first step size of an action in a pair, more than 0 and at most 1 (default: 1)
    - alpha_decay: the n-th step size is alpha / n^alpha_decay; from 0 (constant) to 1, above 0.5 for convergence
        (default: 0.8)
    - initial: what values begin at, a finite number (default: 0)
    - reveal: `true` to see the terminal reward of every step that was passed, as eMAB reveals it; `false` for only what
        it earned (default: false)
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
    """Draws the gain of each action from its posterior, by step and state, and takes the largest.

    Agrawal, Goyal 2013, Further Optimal Regret Bounds for Thompson Sampling.

    - sigma2: variance proxy of the noise on costs and rewards, at least 0 (default: 0.25)
    - feedback_spread: how far one feedback can move the next expected reward (default: 0)
    - prior_sd: standard deviation of the normal prior of every mean, in lengths of [reward_least, reward_most]; more
        than 0 (default: 0.5)
    - reward_least: the least that an expected terminal reward can be (default: 0)
    - reward_most: the most that an expected terminal reward can be; no policy can be worth more while costs are not
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
    """The largest mean gain by step and state, and with a small chance any action.

    Auer, Cesa-Bianchi, Fischer 2002, Finite-time Analysis of the Multiarmed Bandit Problem, Figure 3.

    - schedule: the chance to explore: `decay`, min(1, c K / (d^2 n)) at the n-th visit with K choices, or `constant`
        (default: decay)
    - c: for schedule=decay: more than 0; the proof asks for more than 5 (default: 0.1)
    - d: for schedule=decay: from 0 to 1 and not 0; the proof asks for at most the least gap (default: 0.2)
    - epsilon: for schedule=constant: the chance, from 0 to 1 (default: 0.1)
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
    """Every action a number of times by step and state, then for ever that of the largest mean gain.

    Lattimore, Szepesvári 2020, Bandit Algorithms, Chapter 6.

    - m: how often each action is tried in each pair, a whole number of at least 1 (default: 10)
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
    """Always takes the best next step.

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
    """Plays the optimal policy.

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
    """Plays the best sequence that looks at no feedback.

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
    """Any allowed action or stop, each with the same chance.

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
    "FeedBALLookahead",
    "FeedBALModel",
    "Optimal",
    "QLearning",
    "Random",
    "TDLambda",
    "Thompson",
]
