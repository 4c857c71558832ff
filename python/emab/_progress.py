"""Progress of long work: a bar in terminals and notebooks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Called with the number of episodes done and in total."""


def _is_interactive() -> bool:
    """Return whether there is a terminal or a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


@contextmanager
def progress_bar(progress: bool | Progress | None, description: str) -> Iterator[Progress | None]:
    """Return the function to report progress to, or None.

    ``None`` shows a bar in a terminal or notebook if the work takes more than a moment. A function replaces the bar.
    """
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not _is_interactive()):
        yield None
        return
    with warnings.catch_warnings():
        # Without ipywidgets tqdm warns and falls back to text, which is good enough.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    bar = tqdm(desc=description, unit=" episodes", unit_scale=True, leave=False, delay=0.3)

    def report(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield report
    finally:
        bar.close()
