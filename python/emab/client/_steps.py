"""Which step is meant."""

from __future__ import annotations

from ._decision import Decision


def step_of(decision: Decision | None, step: int | None) -> int:
    """The step that was said, or that of the decision that came last.

    The service is not asked for it: what was told before an answer got lost would then be told of the next
    step as well.
    """
    if step is not None:
        return step
    if decision is not None:
        return decision.step
    raise ValueError("which step is meant? `ask()` first, to see what is recommended there, or say `step=`")
