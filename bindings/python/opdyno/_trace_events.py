"""The spans of a trace as lists of Python objects, with the names of torch.profiler's FunctionEvent and EventList."""

from __future__ import annotations

import os
import re
from typing import Any

from . import _native
from ._report import Report, Trace

# Finds the dimensions in a tensor's text. They are the last brackets, because the dtype may have brackets, too.
_SHAPE = re.compile(r"\[([-\d, ]*)\](?:, |$)")


def _shapes(text: str) -> list[list[int]]:
    return [[int(dim) for dim in dims.split(",")] if dims else [] for dims in _SHAPE.findall(text)]


class Interval:
    """The time from `start` to `end`, in µs since the start of the trace."""

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length in µs."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start}, end={self.end})"


def _time_text(us: float) -> str:
    """Formats a time as in PyTorch's tables."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class _Columns:
    """The columns of a trace's report, which are read all at once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._names = set(_native.opd_report_list(report, _native.OPD_REPORT_CALLS))
        self._read: dict[str, Any] = {}
        self.size = _native.opd_report_count(report, _native.OPD_REPORT_CALLS)

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = (
                _native.opd_report_get_column(self._report, _native.OPD_REPORT_CALLS, name)[0]
                if name in self._names
                else [None] * self.size
            )
        return self._read[name]


class _Row:
    """The common base of a single span and of the sum of several spans. Times are in µs."""

    __slots__ = ("_columns", "_row")

    def __init__(self, columns: _Columns, row: int) -> None:
        self._columns, self._row = columns, row

    def _cell(self, name: str) -> Any:
        return self._columns[name][self._row]

    @property
    def key(self) -> str:
        """The name; all steps of a profiler have the name "ProfilerStep*"."""
        return str(self._cell("Name"))

    @property
    def count(self) -> int:
        """The number of spans."""
        return int(self._cell("Count"))

    @property
    def cpu_time_total(self) -> float:
        """The time on the host, nested spans included, in µs."""
        return float(self._cell("Duration (us)"))

    @property
    def self_cpu_time_total(self) -> float:
        """The time on the host without nested spans, in µs."""
        return float(self._cell("Self (us)"))

    @property
    def cpu_time(self) -> float:
        """The mean of `cpu_time_total`, in µs."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` as in tables: "1.234ms"."""
        return _time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` as in tables."""
        return _time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` as in tables."""
        return _time_text(self.self_cpu_time_total)

    @property
    def device_time_total(self) -> float:
        """The time on other devices of the work that the span submitted, nested spans included, in µs. For a kernel or
        copy, its own time."""
        return float(self._cell("Device Duration (us)") or 0)

    @property
    def self_device_time_total(self) -> float:
        """`device_time_total` without nested spans."""
        return float(self._cell("Self Device Duration (us)") or 0)

    @property
    def device_time(self) -> float:
        """The mean of `device_time_total`, in µs."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def device_time_str(self) -> str:
        """`device_time` as in tables."""
        return _time_text(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        """`device_time_total` as in tables."""
        return _time_text(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        """`self_device_time_total` as in tables."""
        return _time_text(self.self_device_time_total)

    cuda_time, cuda_time_total, self_cuda_time_total = device_time, device_time_total, self_device_time_total

    @property
    def cpu_memory_usage(self) -> int:
        """The bytes that the span's thread allocated on the host minus the bytes that it freed; 0 if memory was not
        recorded."""
        return self._cell("Memory (bytes)") or 0

    @property
    def self_cpu_memory_usage(self) -> int:
        """`cpu_memory_usage` without nested spans."""
        return self._cell("Self Memory (bytes)") or 0

    @property
    def device_memory_usage(self) -> int:
        """Like `cpu_memory_usage`, for devices other than the host."""
        return self._cell("Device Memory (bytes)") or 0

    @property
    def self_device_memory_usage(self) -> int:
        """`device_memory_usage` without nested spans."""
        return self._cell("Self Device Memory (bytes)") or 0

    cuda_memory_usage, self_cuda_memory_usage = device_memory_usage, self_device_memory_usage

    @property
    def flops(self) -> int:
        """The number of floating-point operations; 0 if the number is not known."""
        return self._cell("FLOP") or 0

    @property
    def input_shapes(self) -> list[list[int]]:
        """The dimensions of each tensor among the arguments."""
        return _shapes(self._cell("Argument Shapes"))

    @property
    def kind(self) -> str:
        """The kind of the span: "call", "run", "range", "step" or "mark"; "device" for a kernel or copy on a device."""
        return str(self._cell("Kind"))

    @property
    def is_user_annotation(self) -> bool:
        """Whether the program marked the span, as a range or mark."""
        return self.kind in ("range", "step", "mark")

    @property
    def device_type(self) -> str:
        """The kind of the device on which the span ran, such as "OPENCL"; "CPU" for the host."""
        return str(self._cell("Device")).rstrip("0123456789").upper() if self.kind == "device" else "CPU"

    @property
    def stack(self) -> list[str]:
        """With `with_stack`: the host's call stack at its start, innermost function first, as "file(line):
        function"."""
        return str(self._cell("Stack") or "").split(";")[:-1]

    # Attributes of torch's events for asynchronous calls, other devices and backward passes, which opdyno lacks.
    is_async = is_remote = is_legacy = False
    node_id = -1
    use_device = None
    overload_name = ""

    @property
    def scope(self) -> int:
        """Torch's RecordScope: 7 for a range or mark of the program, else 0."""
        return 7 if self.is_user_annotation else 0


class _Spans:
    """The spans by their indices. If the user changes a list of events, this is not affected."""

    __slots__ = ("_children_of", "_launched_in", "all")

    def __init__(self, columns: _Columns) -> None:
        self.all = [FunctionEvent(columns, row, self) for row in range(columns.size)]
        self._children_of: dict[int, list[FunctionEvent]] | None = None
        self._launched_in: dict[int, list[FunctionEvent]] | None = None

    def _by(self, column: str) -> dict[int, list[FunctionEvent]]:
        """The spans grouped by the index in a column, such as the parent's."""
        found: dict[int, list[FunctionEvent]] = {}
        for event in self.all:
            row = event._cell(column)
            if row is not None:
                found.setdefault(row, []).append(event)
        return found

    def children_of(self, row: int) -> list[FunctionEvent]:
        if self._children_of is None:
            self._children_of = self._by("Parent")
        return list(self._children_of.get(row, ()))

    def launched_in(self, row: int) -> list[FunctionEvent]:
        if self._launched_in is None:
            self._launched_in = self._by("Launched In")
        return list(self._launched_in.get(row, ()))


class FunctionEvent(_Row):
    """A single span, such as a call, a run of a program or a range."""

    __slots__ = ("_spans",)

    def __init__(self, columns: _Columns, row: int, spans: _Spans) -> None:
        super().__init__(columns, row)
        self._spans = spans

    @property
    def id(self) -> int:
        """The index of the span in `events()`."""
        return self._row

    sequence_nr = -1
    fwd_thread = None

    @property
    def device_index(self) -> int:
        """The index of the device on which the span ran; 0 for the host."""
        device = str(self._cell("Device"))
        return int(device[len(device.rstrip("0123456789")) :] or 0) if self.kind == "device" else 0

    @property
    def kernels(self) -> list[FunctionEvent]:
        """The kernels and copies on devices that the span itself launched, without those of nested spans."""
        return self._spans.launched_in(self._row)

    @property
    def concrete_inputs(self) -> list[Any]:
        """An empty list, because the values of arguments are not recorded."""
        return []

    @property
    def device_resource_id(self) -> int:
        """The span's stream on a device, or its thread on the host."""
        return int(self._cell("Stream")) if self.kind == "device" else self.thread

    name = _Row.key

    @property
    def trace_name(self) -> str:
        """The name that files have. In files, steps are numbered."""
        step = self._cell("Step")
        return self.name if step is None else f"ProfilerStep#{step}"

    @property
    def time_range(self) -> Interval:
        """The interval in which the span ran."""
        start = self._cell("Start (us)")
        return Interval(start, start + (self.device_time_total if self.kind == "device" else self.cpu_time_total))

    @property
    def thread(self) -> int:
        """The system's ID of the span's thread."""
        return int(self._cell("Thread ID"))

    @property
    def is_open(self) -> bool:
        """Whether the span was unfinished when the recording ended."""
        return bool(self._cell("Open"))

    @property
    def error(self) -> str | None:
        """The message of the error that ended the span; None if it did not fail."""
        error = self._cell("Error")
        return None if error is None else str(error)

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """The enclosing span; None if there is none."""
        parent = self._cell("Parent")
        return None if parent is None else self._spans.all[parent]

    @property
    def module_hierarchy(self) -> str:
        """The functions of the program that enclose the span, outermost first: "main.block.layer"; "" outside of
        programs."""
        path, event = [], self.cpu_parent
        while event is not None:
            if event.kind in ("run", "call"):
                path.append(event.name)
            event = event.cpu_parent
        return ".".join(reversed(path))

    @property
    def cpu_children(self) -> list[FunctionEvent]:
        """The spans directly within this span."""
        return self._spans.children_of(self._row)

    def __repr__(self) -> str:
        return f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time:.3f}us thread={self.thread}>"


class FunctionEventAvg(_Row):
    """The sum of all spans of one name and, if requested, of the same shapes or host functions."""

    __slots__ = ()

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total:.3f}us "
            f"cpu_time={self.cpu_time:.3f}us count={self.count}>"
        )


class TotalAverage:
    """The sums of all spans."""

    __slots__ = (
        "count",
        "cpu_memory_usage",
        "cpu_time_total",
        "device_memory_usage",
        "flops",
        "self_cpu_memory_usage",
        "self_cpu_time_total",
        "self_device_memory_usage",
    )
    key = "Total"
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    device_memory_usage: int
    self_device_memory_usage: int
    flops: int

    def __init__(self, rows: EventList) -> None:
        for name in self.__slots__:
            setattr(self, name, sum(getattr(row, name) for row in rows))

    @property
    def cpu_time(self) -> float:
        """The mean of `cpu_time_total`, in µs."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total:.3f}us "
            f"cpu_time={self.cpu_time:.3f}us count={self.count}>"
        )


class EventList(list[Any]):
    """A list of the spans of a trace, or of sums of spans. `print(list.table())` shows it."""

    def __init__(self, trace: Trace, with_flops: bool, options: dict[str, Any]) -> None:
        super().__init__()
        self._trace, self._options = trace, {**options, "with_flops": int(with_flops)}

    @property
    def self_cpu_time_total(self) -> float:
        """The recorded time, in µs."""
        return float(sum(row.self_cpu_time_total for row in self))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Returns a text table of all spans of the trace in PyTorch's layout. `row_limit` -1: all rows. AttributeError
        for an unknown `sort_by`."""
        options = {
            **self._options,
            "sort_by": sort_by,
            "row_limit": row_limit,
            "max_src_column_width": max_src_column_width,
            "max_name_column_width": max_name_column_width,
            "max_shapes_column_width": max_shapes_column_width,
            "header": header,
            "top_level_events_only": int(top_level_events_only),
            "time_unit": time_unit,
        }
        try:
            return _native.opd_trace_write(self._trace, _native.OPD_TRACE_TABLE, options).decode()
        except LookupError as error:
            raise AttributeError(str(error.args[0] if error.args else error)) from None

    def total_average(self) -> TotalAverage:
        """The sums of all spans."""
        return TotalAverage(self)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **_: Any) -> EventList:
        """Sums up the spans of the trace by name and, if requested, by shapes and stacks."""
        return averages_of(self._trace, group_by_input_shape, group_by_stack_n, bool(self._options["with_flops"]))

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace as Chrome trace events."""
        _native.opd_trace_save(self._trace, os.fspath(path), _native.OPD_TRACE_CHROME, None)

    def __str__(self) -> str:
        return self.table()


def events_of(trace: Trace, with_flops: bool) -> EventList:
    columns = _Columns(_native.opd_trace_to_report(trace, _native.OPD_TRACE_EVENTS, None))
    found = EventList(trace, with_flops, {"per_event": 1})
    found.extend(_Spans(columns).all)
    return found


def averages_of(trace: Trace, by_shape: bool, stack_n: int, with_flops: bool) -> EventList:
    groups = {"group_by_input_shape": int(by_shape), "group_by_stack_n": stack_n}
    columns = _Columns(_native.opd_trace_to_report(trace, _native.OPD_TRACE_KEY_AVERAGES, groups))
    found = EventList(trace, with_flops, groups)
    found.extend(FunctionEventAvg(columns, row) for row in range(columns.size))
    return found
