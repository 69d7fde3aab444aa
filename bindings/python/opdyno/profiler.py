"""Profiles of the whole process: the calls of all VMs on all threads, and ranges of the program, on one time line.

    from opdyno.profiler import profile, record_function

    with profile() as p:
        with record_function("preprocess"):
            x = prepare(data)
        vm["main"](x)
    p.export_chrome_trace("trace.json.gz")  # for Perfetto, chrome://tracing, TensorBoard

Names are those of `torch.profiler`.
"""

from __future__ import annotations

import contextlib
import gzip
import os

from . import _native
from .profiling import Trace


class Profiler(_native.Handle):
    __slots__ = ()


_native.register_class("Profiler", Profiler)


class profile:  # noqa: N801  torch.profiler's name
    """Records the process between `start` and `stop`; a context manager. May be started again. Any thread may use it.

    `all_calls`: also calls without a tensor among their arguments. `max_events`: of each thread, calls and ranges together;
    further ones are counted (`trace.dropped`).
    """

    def __init__(self, *, all_calls: bool = False, max_events: int = 1 << 20) -> None:
        options = {"all_calls": int(bool(all_calls)), "max_events": max_events}
        self._profiler = _native.opd_profiler_create(options)
        self._trace: Trace | None = None

    def start(self) -> None:
        """Records from now on; an `Error` (code FAILED_PRECONDITION) if it records already."""
        _native.opd_profiler_start(self._profiler)

    def stop(self) -> None:
        """Ends the recording, once the calls that are being recorded have ended. Not from within such a call."""
        self._trace = _native.opd_profiler_stop(self._profiler)

    @property
    def trace(self) -> Trace:
        """The last recording, once it was stopped."""
        if self._trace is None:
            raise RuntimeError("the profiler has not been stopped")
        return self._trace

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the last recording as Chrome trace events; compressed if the path ends in ".gz". Any number of times."""
        text = self.trace.chrome()
        if os.fspath(path).endswith(".gz"):
            with gzip.open(path, "wt", encoding="utf-8") as file:
                file.write(text)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


class record_function(contextlib.ContextDecorator):  # noqa: N801  torch.profiler's name
    """Marks a range of the program: a context manager or a decorator. Ranges of a thread are nested.

    One object may be entered again, also within itself. Use one object on one thread at a time.
    """

    __slots__ = ("_begins", "_name", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._name: int | None = None
        self._begins: list[int] = []

    def __enter__(self) -> record_function:
        self._begins.append(_native.opd_range_begin())
        return self

    def __exit__(self, *exception: object) -> None:
        begin = self._begins.pop()
        if begin:
            if self._name is None:
                self._name = _native.opd_range_name(self.name)
            _native.opd_range_end(begin, self._name)

    def _recreate_cm(self) -> record_function:  # a decorated function may run on several threads
        return record_function(self.name)


__all__ = ["profile", "record_function"]
