"""The formats of a recording: lists of events, tables, files for other tools."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterable
from typing import Any

from . import _native
from ._report import Diff, Report, Trace
from ._report import diff as diff_reports
from ._trace_events import EventList, averages_of, events_of


class Forms:
    """Base of classes with a trace. It has their methods."""

    _trace: Trace | None = None
    with_flops = False  # whether tables show the operations of operators
    profile_memory = True  # whether a memory timeline may be exported
    _metadata: dict[str, str]  # JSON by key
    _is_of_this_host = True

    @property
    def trace(self) -> Trace:
        """The recorded trace. AssertionError if there is none yet."""
        if self._trace is None:
            raise AssertionError("the profiler has recorded nothing yet: start it, and stop it")
        return self._trace

    def events(self) -> EventList:
        """Returns all calls, runs of programs and ranges, in the order of their start times."""
        return events_of(self.trace, self.with_flops)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool = False,
    ) -> EventList:
        """Sums up the events by name and, if requested, by shapes.

        With `group_by_stack_n`, and `with_stack` of the profile, events are also grouped by this number of innermost
        host functions. The other arguments have no effect here.
        """
        return averages_of(self.trace, bool(group_by_input_shape), group_by_stack_n, self.with_flops)

    def tasks(self) -> Report:
        """Returns a report with a row for each task of a parallel loop. Its columns, such as "Wait (us)", are those of
        `OPD_TRACE_TASKS` (opdyno/trace.h)."""
        return _native.opd_trace_to_report(self.trace, _native.OPD_TRACE_TASKS, None)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes Chrome trace events. If the path ends in ".gz", the file is compressed. It can be called any number of
        times."""
        self._save(path, _native.OPD_TRACE_CHROME, metadata=self._all_metadata())

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total", *, per_event: bool = False
    ) -> None:
        """Writes lines for flame graphs. A line has the names of a stack, outermost first, joined by ";", and the self
        time of the innermost span in µs.

        There is one line for each stack, with its µs rounded up. With `per_event`, there is one line for each span,
        with its µs rounded down, as in PyTorch. `metric` may be "self_cuda_time_total". ValueError for any other text.
        """
        self._save(path, _native.OPD_TRACE_STACKS, metric=metric, per_event=int(per_event))

    def export_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Writes Perfetto's format, which has an eighth of the size of Chrome's. The suffix is .pftrace or
        .pftrace.gz."""
        self._save(path, _native.OPD_TRACE_PERFETTO)

    def export_speedscope(self, path: str | os.PathLike[str]) -> None:
        """Writes a file for https://www.speedscope.app."""
        self._save(path, _native.OPD_TRACE_SPEEDSCOPE)

    def export_pprof(self, path: str | os.PathLike[str]) -> None:
        """Writes a profile for pprof, with the number of spans and the time of each stack."""
        self._save(path, _native.OPD_TRACE_PPROF)

    def export_html(self, path: str | os.PathLike[str]) -> None:
        """Writes a page for a browser with time line, flame graph and table of operators. The page needs no network."""
        self._save(path, _native.OPD_TRACE_HTML)

    def export_flame_graph(self, path: str | os.PathLike[str], *, before: Forms | Trace | None = None) -> None:
        """Writes a flame graph as SVG. The titles of its boxes have times and numbers of spans.

        `before`: an earlier recording. The picture then compares both: by `diff(before, self, by="path")`, a box is red
        if its self time grew, and blue if it fell.
        """
        self._save(path, _native.OPD_TRACE_FLAME_SVG, before=None if before is None else _trace_of(before))

    def export_memory_timeline(self, path: str | os.PathLike[str], device: str | None = None) -> None:
        """Writes the memory in use over time by category. `device`: a device such as "cuda:0"; None: the device that is
        not the host.

        Paths: "….html": a page; "….raw.json.gz": a list of (ns, action, bytes, category), with torch's actions,
        INCREMENT_VERSION included; else a list of times and of sizes by category, compressed if the path ends in ".gz".
        ValueError without `profile_memory=True`.
        """
        if not self.profile_memory:
            raise ValueError("a memory timeline needs profile_memory=True")
        name = os.fspath(path)
        form = _native.OPD_TRACE_MEMORY_TIMELINE
        if name.endswith(".html"):
            form = _native.OPD_TRACE_MEMORY_TIMELINE_HTML
        elif name.endswith(".raw.json.gz"):
            form = _native.OPD_TRACE_MEMORY_TIMELINE_RAW
        self._save(path, form, device=device)

    def _save(self, path: str | os.PathLike[str], form: int, **options: Any) -> None:
        _native.opd_trace_save(self.trace, os.fspath(path), form, options)

    def _all_metadata(self) -> str:
        flags = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
        known = {name: "1" for name in flags if getattr(self, name, False)}
        if self._is_of_this_host:
            known["host_name"] = json.dumps(socket.gethostname())
        return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in {**known, **self._metadata}.items()) + "}"

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the metadata of files. It can be called even after the recording."""
        self._metadata[str(key)] = json.dumps(str(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a value, given as JSON text, to the metadata of files. ValueError if the text is not JSON."""
        if not isinstance(value, str):  # json.loads() would accept bytes, too
            raise TypeError(f"the metadata {key!r} must be JSON as str, not {type(value).__name__}")
        try:
            _check_json(value)
        except ValueError as error:
            raise ValueError(f"the metadata {key!r} is not valid JSON: {error}") from None
        self._metadata[str(key)] = value

    preset_metadata_json = add_metadata_json


_MOST_LEVELS = 99  # the limit of the library's parser, minus the object with all metadata
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


# Refuses all text that the library would refuse later, because then the trace could not be written.
def _check_json(text: str) -> None:
    text.encode()  # an unpaired surrogate is a UnicodeEncodeError, which is a ValueError
    level = 0
    for bracket in re.findall(r"[][{}]", _JSON_TEXT.sub("", text)):
        level += 1 if bracket in "[{" else -1
        if level > _MOST_LEVELS:
            raise ValueError(f"it nests deeper than {_MOST_LEVELS} levels")
    json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class LoadedTrace(Forms):
    """A trace from a file, or from a recording that continues. It has the formats of a `profile`."""

    _is_of_this_host = False

    def __init__(self, trace: Trace, with_flops: bool = False) -> None:
        self._trace, self.with_flops, self._metadata = trace, with_flops, {}


def load(path: str | os.PathLike[str], *, with_flops: bool = False) -> LoadedTrace:
    """Reads the file of a recording (`profile(file=…)`). The recording may be finished, still running, or left by a
    killed process. A killed process leaves another file beside it, with the suffix ".live".

    Damaged blocks of 64 KiB are left out, and their events are counted (`trace.dropped`). FileNotFoundError if there is
    no such file, ValueError if it is not a recording.
    """
    return LoadedTrace(_native.opd_trace_load(os.fspath(path)), with_flops)


class MergedTrace(Forms):
    """The recordings of several processes on one time line, made by `merge`. It has the events and the formats of a
    `profile`."""

    _is_of_this_host = False

    def __init__(self, trace: Trace, recordings: list[Forms | Trace]) -> None:
        self._trace, self._metadata = trace, {}
        profiles = [each for each in recordings if isinstance(each, Forms)]
        self.profile_memory = any(each.profile_memory for each in profiles)
        self.with_flops = any(each.with_flops for each in profiles)
        for number, each in enumerate(profiles):
            for key, value in each._metadata.items():
                is_other = self._metadata.get(key, value) != value
                self._metadata[f"{key} of {number}" if is_other else key] = value


def _trace_of(recorded: Forms | Trace) -> Trace:
    return recorded.trace if isinstance(recorded, Forms) else recorded


def merge(
    recordings: Iterable[Forms | Trace],
    *,
    labels: Iterable[str] | None = None,
    offsets_ns: Iterable[int] | None = None,
    clock_errors_ns: Iterable[int] | None = None,
) -> MergedTrace:
    """Joins recordings of several processes and machines on one time line, which is Unix time.

    Each list has an item for each recording. `labels`: names of the processes in all formats, such as "rank 0"; "": the
    process keeps its own name. `offsets_ns`: offsets that are added to the times. `clock_errors_ns`: errors of the
    clocks, which Chrome traces and the page show; -1: the error that the system states. Processes of one machine share
    its monotonic clock. A `MergedTrace` can be merged again. ValueError if there is no recording, if a recording is
    given twice, or if a list has another length.
    """
    given = list(recordings)
    lists = {"labels": labels, "offsets_ns": offsets_ns, "clock_errors_ns": clock_errors_ns}
    options = {name: list(items) for name, items in lists.items() if items is not None}
    return MergedTrace(_native.opd_trace_merge([_trace_of(each) for each in given], options), given)


_VIEWS = {"name": _native.OPD_TRACE_KEY_AVERAGES_BY_PART, "path": _native.OPD_TRACE_PATHS_BY_PART}


def diff(
    before: Forms | Trace | Iterable[Forms | Trace],
    after: Forms | Trace | Iterable[Forms | Trace],
    *,
    by: str = "name",
    **options: Any,
) -> Diff:
    """Compares recordings from before and after a change, by the names of spans. With "path", the names of enclosing
    spans are compared, too.

    Each step of a schedule is a run. Without steps, each outermost run of a program is a run; without these, each
    outermost range. `options` and the statistics are those of `opdyno.profiling.diff`.
    """
    if by not in _VIEWS:
        raise ValueError(f"by must be one of {', '.join(_VIEWS)}, not {by!r}")
    sides = [[side] if isinstance(side, (Forms, Trace)) else list(side) for side in (before, after)]
    reports = [[_native.opd_trace_to_report(_trace_of(each), _VIEWS[by], None) for each in side] for side in sides]
    return diff_reports(*reports, **options)
