"""Dumps, which are files that a profiler writes while it records."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from . import _native
from ._time import nanoseconds

_FORMS = {
    ".speedscope.json": _native.OPD_TRACE_SPEEDSCOPE,
    ".memory.json": _native.OPD_TRACE_MEMORY_TIMELINE,
    ".memory.raw.json": _native.OPD_TRACE_MEMORY_TIMELINE_RAW,
    ".memory.html": _native.OPD_TRACE_MEMORY_TIMELINE_HTML,
    ".json": _native.OPD_TRACE_CHROME,
    ".pftrace": _native.OPD_TRACE_PERFETTO,
    ".html": _native.OPD_TRACE_HTML,
    ".svg": _native.OPD_TRACE_FLAME_SVG,
    ".pb": _native.OPD_TRACE_PPROF,
    ".stacks": _native.OPD_TRACE_STACKS,
    ".txt": _native.OPD_TRACE_TABLE,
}


def _form_of(path: str) -> int:
    name = path.lower().removesuffix(".gz")
    for suffix, form in _FORMS.items():
        if name.endswith(suffix):
            return form
    raise ValueError(f"the suffix of {path!r} names no form of a trace; supported are {', '.join(_FORMS)}, each also with .gz")


@dataclass(frozen=True)
class Dumps:
    """The triggers and the path of dumps for `profile(dumps=…)`. A dump is a file with the events; the recording
    continues.

    `path`: path of each dump. "%p" is the process ID, "%n" the number of the dump, from 1; "%%" is "%". The
    suffix selects the format: .json, .pftrace, .html …, optionally with .gz. `signal`: signal that triggers a dump, such as
    `signal.SIGUSR2`; the program must have no handler for it. `slow_ms`: a range or a run of a program that takes at
    least this time triggers a dump. `on_error`: a run that fails triggers a dump. Dumps for slow spans and errors are
    at least `min_interval` seconds apart, and there are at most `most` of them in a recording. A trigger does not delay
    its thread.
    """

    path: str | os.PathLike[str]
    signal: int = 0
    slow_ms: float = 0.0
    on_error: bool = False
    min_interval: float = 10.0
    most: int = 100

    def _options(self) -> dict[str, Any]:
        path = os.fsdecode(self.path)
        return {
            "path": path,
            "format": _form_of(path),
            "signal": int(self.signal),
            "slow_ns": nanoseconds("slow_ms", self.slow_ms, 1e6),
            "on_error": int(bool(self.on_error)),
            "min_interval_ns": nanoseconds("min_interval", self.min_interval),
            "max_dumps": self.most,
        }
