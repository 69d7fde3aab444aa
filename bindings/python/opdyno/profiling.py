"""Reports of where time went, with the names and the form of TVM's runtime.profiling.

    report = vm.profile("main", x)
    print(report)                                   # a table; in a notebook the report shows itself
    report.calls[0]["Duration (us)"].microseconds   # metrics are Duration, Percent, Count, Ratio or text
    again = Report.from_json(report.json())         # as TVM writes and reads it
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _native
from ._device import Device
from ._frozen import Frozen

if TYPE_CHECKING:
    from .vm import VirtualMachine


class Count(Frozen):
    """A number of things: `value`."""

    __slots__ = ("value",)
    value: int

    def __init__(self, value: int) -> None:
        super().__init__(value)


class Duration(Frozen):
    """A time: `microseconds`."""

    __slots__ = ("microseconds",)
    microseconds: float

    def __init__(self, microseconds: float) -> None:
        super().__init__(microseconds)


class Percent(Frozen):
    """A share: `percent`, from 0 to 100."""

    __slots__ = ("percent",)
    percent: float

    def __init__(self, percent: float) -> None:
        super().__init__(percent)


class Ratio(Frozen):
    """A quotient: `ratio`."""

    __slots__ = ("ratio",)
    ratio: float

    def __init__(self, ratio: float) -> None:
        super().__init__(ratio)

class Bytes(Frozen):
    """An amount of memory: `value`. Names of such metrics end in " (bytes)"."""

    __slots__ = ("value",)
    value: int

    def __init__(self, value: int) -> None:
        super().__init__(value)


class Hertz(Frozen):
    """A frequency: `hertz`. Names of such metrics end in " (Hz)"."""

    __slots__ = ("hertz",)
    hertz: float

    def __init__(self, hertz: float) -> None:
        super().__init__(hertz)


_METRICS: dict[str, Callable[[Any], Any]] = {
    "count": lambda v: Count(int(v)),
    "microseconds": lambda v: Duration(float(v)),
    "percent": lambda v: Percent(float(v)),
    "ratio": lambda v: Ratio(float(v)),
    "string": str,
}


def _metric(name: str, encoded: Any) -> Any:
    """A metric of TVM's JSON: {"kind": value}; the end of its name tells what TVM's kinds cannot."""
    if isinstance(encoded, dict) and len(encoded) == 1:
        ((kind, value),) = encoded.items()
        if kind == "count" and name.endswith(" (bytes)"):
            return Bytes(int(value))
        if kind == "ratio" and name.endswith(" (Hz)"):
            return Hertz(float(value))
        if kind in _METRICS:
            return _METRICS[kind](value)
    return encoded


def _metrics(encoded: dict[str, Any]) -> dict[str, Any]:
    return {name: _metric(name, value) for name, value in encoded.items()}


METRIC_KINDS: dict[type[Any], int] = {
    Count: _native.OPD_METRIC_COUNT,
    Duration: _native.OPD_METRIC_DURATION,
    Percent: _native.OPD_METRIC_PERCENT,
    Ratio: _native.OPD_METRIC_RATIO,
    Bytes: _native.OPD_METRIC_BYTES,
    Hertz: _native.OPD_METRIC_HERTZ,
}


def kind_and_value(name: str, metric: Any) -> tuple[int, Any]:
    """A metric as native code takes it."""
    if isinstance(metric, str):
        return _native.OPD_METRIC_STRING, metric
    for kind, number in METRIC_KINDS.items():
        if isinstance(metric, kind):
            return number, getattr(metric, kind.__slots__[0])
    raise TypeError(
        f"{name} is of type {type(metric).__name__}; a metric is a Count, Duration, Percent, Ratio, Bytes, Hertz or text"
    )


class Report(_native.Handle):
    """Metrics of each call, of each device, and the configuration of a run. `print(report)` shows its table.

    Immutable; any thread may read it; may be pickled. Notebooks show it as a table. Source: TVM's profiling.Report.
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        calls: Iterable[Mapping[str, Any]],
        device_metrics: Mapping[str | Device, Mapping[str, Any]],
        configuration: Mapping[str, Any],
    ) -> Report:
        """Makes a report of what its attributes of these names give: metrics by name, or text.

        Metrics are `Duration`, `Percent`, `Count`, `Ratio`, `Bytes` and `Hertz`; a TypeError for another kind. Devices may be
        named as "cpu0".
        """
        builder = _native.opd_report_builder_create()
        for call in calls:
            _native.opd_report_builder_add_call(builder)
            for name, metric in call.items():
                _native.opd_report_builder_set_call(builder, name, *kind_and_value(name, metric))
        for where, metrics in device_metrics.items():
            device = f"{where.type}{where.index}" if isinstance(where, Device) else where
            for name, metric in metrics.items():
                _native.opd_report_builder_set_device(builder, device, name, *kind_and_value(name, metric))
        for name, metric in configuration.items():
            _native.opd_report_builder_set_configuration(builder, name, *kind_and_value(name, metric))
        return _native.opd_report_builder_finish(builder)

    @classmethod
    def from_json(cls, s: str | bytes) -> Report:
        """Reads what `json()` wrote, here or in TVM. Malformed text is a ValueError that gives the offset."""
        return _native.opd_report_from_json(s)

    @classmethod
    def from_table(cls, s: str | bytes) -> Report:
        """Reads what `table()` wrote, here or in TVM. Other text is a ValueError that gives the line."""
        return _native.opd_report_from_table(s)

    def json(self) -> str:
        """One line of JSON: calls, device_metrics and configuration, in TVM's form."""
        return _native.opd_report_to_json(self)

    def csv(self) -> str:
        """The calls as CSV: a line of names, then a line for each call."""
        return _native.opd_report_to_csv(self)

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A text table of the calls.

        `sort`: by descending duration, else in the program's order. `aggregate`: calls of one operator with equal shapes on
        one device make one row. `col_sums`: adds lines of sums.
        """
        return _native.opd_report_to_table(self, self._options(sort, aggregate, col_sums))

    def to_markdown(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """The table's rows as a Markdown table."""
        return _native.opd_report_to_markdown(self, self._options(sort, aggregate, col_sums))

    def to_html(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A page that needs no other file: the table's rows to sort, the time of each operator as bars, and a roofline
        where the report has its numbers."""
        return _native.opd_report_to_html(self, self._options(sort, aggregate, col_sums))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the calls as a Parquet file, with the devices and the configuration as its metadata. Needs pyarrow."""
        table = import_module("pyarrow").table(self)
        import_module("pyarrow.parquet").write_table(table, path)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The calls for pyarrow, Polars, DuckDB and others, without a copy of columns that have no gaps."""
        return _native.opd_report_to_arrow(self)

    @staticmethod
    def _options(sort: bool, aggregate: bool, col_sums: bool) -> dict[str, int]:
        return {"sort": int(sort), "aggregate": int(aggregate), "col_sums": int(col_sums)}

    def _part(self, name: str) -> Any:
        return json.loads(self.json())[name]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """For each call, in the program's order, its metrics by name: `Duration`, `Percent`, `Count`, `Ratio` … or text.

        Those of `VirtualMachine.profile` are "Name", "Duration (us)", "Percent", "Device", "Count" and "Argument Shapes".
        """
        return [_metrics(call) for call in self._part("calls")]

    @property
    def device_metrics(self) -> dict[str, dict[str, Any]]:
        """For each device, as "cpu0", its metrics by name."""
        return {device: _metrics(metrics) for device, metrics in self._part("device_metrics").items()}

    @property
    def configuration(self) -> dict[str, Any]:
        """What the run was like, by name."""
        return _metrics(self._part("configuration"))

    def __len__(self) -> int:
        return _native.opd_report_call_count(self)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        times = [
            f", {device}: {metrics['Duration (us)'].microseconds:,.2f} us"
            for device, metrics in self.device_metrics.items()
            if isinstance(metrics.get("Duration (us)"), Duration)
        ]
        return f"<Report of {len(self)} calls{''.join(times)}>"

    def with_roofline(self, peak: MachinePeak | None = None) -> Report:
        """The report with columns for what its operators compute and move, as far as their names and shapes tell.

        They are FLOP, Tensors (bytes), GFLOP/s, Arithmetic Intensity (FLOP/byte) and, with the machine's peaks, Percent of Peak.
        A global function "opdyno.flop.<name>" tells the operations of an operator of your own: it gets the text of
        "Argument Shapes". Source: Williams, Waterman, Patterson: Roofline, 2009.
        """
        gflops, bandwidth = (peak.gflops, peak.bandwidth_gbps) if peak else (0.0, 0.0)
        return _native.opd_report_add_roofline(self, gflops, bandwidth)

    def _repr_html_(self) -> str:
        """The table of `to_html()`, for notebooks."""
        page = self.to_html()
        return page[page.index("<table>") : page.index("</table>") + len("</table>")]

    def __reduce__(self) -> Any:
        return Report.from_json, (self.json(),)


class MachinePeak(Frozen):
    """What the processors reach at most: `gflops` (GFLOP/s, float32) and `bandwidth_gbps` (GB/s), with `num_threads`."""

    __slots__ = ("gflops", "bandwidth_gbps", "num_threads")
    gflops: float
    bandwidth_gbps: float
    num_threads: int

    def __init__(self, gflops: float, bandwidth_gbps: float, num_threads: int = 0) -> None:
        super().__init__(gflops, bandwidth_gbps, num_threads)


def measure_peak() -> MachinePeak:
    """Measures this machine's peaks with all threads, for about half a second. Source: STREAM's triad for the bandwidth."""
    return MachinePeak(**_native.opd_machine_measure_peak())


class Diff(_native.Handle):
    """What changed between two sets of runs, operator by operator. `print(diff)` shows its table."""

    __slots__ = ("__weakref__",)

    @property
    def verdict(self) -> str:
        """Of all operators: "regression" if one has it, else "undecided", "improvement" or "same"."""
        return _native.opd_verdict_name(_native.opd_diff_verdict(self))

    @property
    def report(self) -> Report:
        """A row for each operator: before, after, change with its interval, verdict, runs, p-values."""
        return _native.opd_diff_to_report(self)

    def runs_needed(self, index: int, effect: float) -> int:
        """How many runs on each side would show such a change (0.03 is 3 %) of the operator in 9 of 10 diffs."""
        return _native.opd_diff_runs_needed(self, index, effect)

    def __len__(self) -> int:
        return _native.opd_diff_operator_count(self)

    def __str__(self) -> str:
        return self.report.table(col_sums=False)

    def __repr__(self) -> str:
        return f"<Diff of {len(self)} operators: {self.verdict}>"

    def _repr_html_(self) -> str:
        """The operators as a table for notebooks."""
        return self.report._repr_html_()


def merge(reports: Iterable[Report]) -> Report:
    """Joins reports of several runs, machines or ranks. What differs in their configurations becomes columns."""
    return _native.opd_report_merge(list(reports))


def diff(
    before: Report | Iterable[Report],
    after: Report | Iterable[Report],
    *,
    min_effect: float = 0.01,
    level: float = 0.05,
    confidence: float = 0.95,
    metric: str | None = None,
) -> Diff:
    """Compares two sets of runs. Each report is one run, or as many as its column "Run" counts.

    `min_effect`: changes below it do not matter. `level`: most false verdicts, as a share of all that are given.
    `metric`: the column that is compared; "Duration (us)". docs/diff.md says which test is made and why.
    """
    sides = [[side] if isinstance(side, Report) else list(side) for side in (before, after)]
    options = {"min_effect": min_effect, "level": level, "confidence": confidence, "metric": metric}
    return _native.opd_report_diff(sides[0], sides[1], options)


class Trace(_native.Handle):
    """Calls on a time line, from `VirtualMachine.profile_with_trace`. Immutable; any thread may read it."""

    __slots__ = ("__weakref__",)

    def __len__(self) -> int:
        return _native.opd_trace_call_count(self)

    @property
    def dropped(self) -> int:
        """Number of calls that found no room; see `max_records` of `VirtualMachine.profile`."""
        return _native.opd_trace_dropped_count(self)

    def chrome(self) -> str:
        """JSON of Chrome's trace event format, which Perfetto opens."""
        return _native.opd_trace_to_chrome(self)

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} calls, {self.dropped} dropped>"


_BUILTINS = {"with_tensors": 0, "all": 1, "folded": 2}


def profile_options(max_records: int, builtins: str, details: bool) -> dict[str, int]:
    """Options of opd_profile_options that all ways of profiling have."""
    if builtins not in _BUILTINS:
        raise ValueError(f'builtins must be one of {", ".join(_BUILTINS)}, not "{builtins}"')
    return {"max_records": max_records, "builtins": _BUILTINS[builtins], "details": int(details)}


class Profiling:
    """A recording of all calls of a VM, as `VirtualMachine.profiling()` makes it: a context manager, or `start` and `stop`."""

    def __init__(self, vm: VirtualMachine, options: Mapping[str, Any]) -> None:
        self._vm, self._options = vm, dict(options)
        self._result: tuple[Report, Trace] | None = None

    def start(self) -> None:
        """Starts to record; an `Error` (code FAILED_PRECONDITION) if the VM is being recorded already."""
        _native.opd_vm_profile_start(self._vm, self._options)

    def stop(self) -> Report:
        """Ends it, once the calls that are being recorded have ended. Not from within a call of the VM."""
        self._result = _native.opd_vm_profile_stop(self._vm)
        return self.report

    def _stopped(self) -> tuple[Report, Trace]:
        if self._result is None:
            raise RuntimeError("the recording has not been stopped")
        return self._result

    @property
    def report(self) -> Report:
        """The report, once it was stopped."""
        return self._stopped()[0]

    @property
    def trace(self) -> Trace:
        """The calls on a time line, once it was stopped."""
        return self._stopped()[1]

    def __enter__(self) -> Profiling:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


class ReportBuilder(_native.Handle):
    __slots__ = ()


_native.register_class("Report", Report)
_native.register_class("ReportBuilder", ReportBuilder)
_native.register_class("Diff", Diff)
_native.register_class("Trace", Trace)

from ._collectors import (  # noqa: E402  they use the metrics above
    DeviceWrapper,
    EnergyMetricCollector,
    MemoryMetricCollector,
    MetricCollector,
    PAPIMetricCollector,
    PerfMetricCollector,
    TimeMetricCollector,
    profile_function,
)

__all__ = [
    "Bytes", "Count", "DeviceWrapper", "Diff", "Duration", "EnergyMetricCollector", "Hertz", "MachinePeak",
    "MemoryMetricCollector", "MetricCollector", "PAPIMetricCollector", "Percent", "PerfMetricCollector", "Profiling", "Ratio",
    "Report", "TimeMetricCollector", "Trace", "diff", "measure_peak", "merge", "profile_function",
]  # fmt: skip

for _name in __all__:  # shown as of here
    if getattr(globals()[_name], "__module__", "").startswith("opdyno._"):
        globals()[_name].__module__ = __name__
