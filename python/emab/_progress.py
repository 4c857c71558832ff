"""How far long work is: a bar in terminals and notebooks, silence elsewhere."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watch = Callable[[int, int], None]
"""Called with what is done and what is to do, in episodes."""


def _somebody_looks() -> bool:
    """Whether there is a terminal or a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


@contextmanager
def watched(progress: bool | Watch | None, what: str) -> Iterator[Watch | None]:
    """Something to tell how far it is.

    ``None`` shows a bar if somebody looks and it takes more than a moment; a function is told instead of a bar.
    """
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not _somebody_looks()):
        yield None
        return
    with warnings.catch_warnings():
        # Without ipywidgets a notebook has a bar of text, and need not be told.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    bar = tqdm(desc=what, unit=" episodes", unit_scale=True, leave=False, delay=0.3)

    def tell(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        bar.close()
