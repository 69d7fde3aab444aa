"""Ranges and marks with the names of `torch.profiler.itt`: `from opdyno.profiler import itt`.

A tool that sets INTEL_LIBITTNOTIFY64 to its collector, such as VTune, gets them. A running `profile` records them, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from . import _native


def is_available() -> bool:
    """Whether a tool receives ranges and marks."""
    return bool(_native.opd_itt_is_available())


def mark(msg: str) -> None:
    """Marks a moment on the calling thread."""
    if _native.opd_range_is_recorded():
        _native.opd_range_mark(_native.opd_range_name(msg))


def range_push(msg: str) -> int:
    """Begins a range that `range_pop` ends on the same thread. Returns how many ranges enclose it."""
    return _native.opd_range_push(msg)


def range_pop() -> int:
    """Ends the range that was begun last on this thread. Returns the number that its `range_push` returned; -1 if there is none."""
    return _native.opd_range_pop()


@contextlib.contextmanager
def range(msg: str) -> Iterator[None]:  # noqa: A001  torch.profiler's name
    """Makes a range around a with block."""
    range_push(msg)
    try:
        yield
    finally:
        range_pop()


__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]
