"""Metrics, reports, differences of reports, and traces. Their public names are in `opdyno.profiling`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from . import _native, _shown
from ._device import Device
from ._frozen import Frozen
from ._results import MachinePeak


class _Metric(Frozen):
    """A number with a unit. Metrics of one kind can be compared, added and subtracted, and multiplied by numbers.
    `float(metric)` is the number."""

    __module__ = "opdyno.profiling"  # shown by help()
    __slots__ = ()
    _is_whole = False  # whether the number is an int

    def __init__(self, value: Any) -> None:
        if self._is_whole:
            if not hasattr(value, "__index__") or not -(2**63) <= value.__index__() < 2**63:
                raise TypeError(f"a {type(self).__name__} is made of an int of 64 bits, not of {value!r}")
            value = value.__index__()
        elif isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
            raise TypeError(f"a {type(self).__name__} is made of a number, not of {value!r}")
        super().__init__(value)

    def _of(self, number: Any) -> Any:
        """A metric of a part of this one. A part of a Count that is no whole number is a Ratio."""
        if not self._is_whole:
            return type(self)(number)
        return type(self)(int(number)) if number == int(number) else Ratio(number)

    @property
    def _number(self) -> Any:
        return self._fields()[0]

    def __float__(self) -> float:
        return float(self._number)

    def __add__(self, other: Any) -> Any:
        return type(self)(self._number + other._number) if type(other) is type(self) else NotImplemented

    def __radd__(self, other: Any) -> Any:  # sum() starts with 0 + metric
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return type(self)(self._number - other._number) if type(other) is type(self) else NotImplemented

    def __mul__(self, factor: Any) -> Any:
        return self._of(self._number * factor) if isinstance(factor, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Divides the metric: by a number, which returns a metric, or by a metric of its kind, which returns a
        float."""
        if type(other) is type(self):
            return self._number / other._number
        return self._of(self._number / other) if isinstance(other, (int, float)) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self._number < other._number if type(other) is type(self) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self._number <= other._number if type(other) is type(self) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self._number > other._number if type(other) is type(self) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self._number >= other._number if type(other) is type(self) else NotImplemented


class Count(_Metric):
    """A count: `value`."""

    __slots__ = ("value",)
    _is_whole = True
    value: int


class Duration(_Metric):
    """A duration: `microseconds`."""

    __slots__ = ("microseconds",)
    microseconds: float


class Percent(_Metric):
    """A percentage: `percent`, from 0 to 100."""

    __slots__ = ("percent",)
    percent: float


class Ratio(_Metric):
    """A ratio: `ratio`."""

    __slots__ = ("ratio",)
    ratio: float


class Bytes(_Metric):
    """An amount of memory: `value`. Names of such metrics end in " (bytes)"."""

    __slots__ = ("value",)
    _is_whole = True
    value: int


class Hertz(_Metric):
    """A frequency: `hertz`. Names of such metrics end in " (Hz)"."""

    __slots__ = ("hertz",)
    hertz: float


METRIC_KINDS: dict[type[Any], int] = {
    Count: _native.OPD_METRIC_COUNT,
    Duration: _native.OPD_METRIC_DURATION,
    Percent: _native.OPD_METRIC_PERCENT,
    Ratio: _native.OPD_METRIC_RATIO,
    Bytes: _native.OPD_METRIC_BYTES,
    Hertz: _native.OPD_METRIC_HERTZ,
}


_KINDS = {number: metric for metric, number in METRIC_KINDS.items()}


def metric_of(kind: int, value: Any) -> Any:
    """Makes a metric from its kind and value in a report. Text stays unchanged. Metrics of unknown kinds stay JSON
    text."""
    if kind == _native.OPD_METRIC_JSON:
        return json.loads(value)
    return _KINDS[kind](value) if kind in _KINDS else value


def kind_and_value(name: str, metric: Any) -> tuple[int, Any]:
    """Converts a metric for native code."""
    if isinstance(metric, str):
        return _native.OPD_METRIC_STRING, metric
    for kind, number in METRIC_KINDS.items():
        if isinstance(metric, kind):
            return number, getattr(metric, kind.__slots__[0])
    raise TypeError(
        f"{name} is of type {type(metric).__name__}; a metric is a Count, Duration, Percent, Ratio, Bytes, Hertz or text"
    )


class Report(_native.Handle):
    """Metrics of each call and of each device, and the configuration of a run. `print(report)` shows it.

    A terminal shows `summary()`, a pipe `table()`, a notebook a sentence, bars and the table. A report is immutable and
    can be pickled. Any thread may read it. Source: TVM's profiling.Report.
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        calls: Iterable[Mapping[str, Any]],
        device_metrics: Mapping[str | Device, Mapping[str, Any]],
        configuration: Mapping[str, Any],
    ) -> Report:
        """Makes a report from the values of its attributes, which have metrics or text by name.

        Metrics are `Duration`, `Percent`, `Count`, `Ratio`, `Bytes` and `Hertz`; TypeError for another kind. A device
        has a name such as "cpu0".
        """
        builder = _native.opd_report_builder_create()
        for call in calls:
            _native.opd_report_builder_add_call(builder)
            for name, metric in call.items():
                _native.opd_report_builder_set(builder, _native.OPD_REPORT_CALLS, None, name, *kind_and_value(name, metric))
        for where, metrics in device_metrics.items():
            device = f"{where.type}{where.index}" if isinstance(where, Device) else where
            for name, metric in metrics.items():
                _native.opd_report_builder_set(builder, _native.OPD_REPORT_DEVICES, device, name, *kind_and_value(name, metric))
        for name, metric in configuration.items():
            _native.opd_report_builder_set(
                builder, _native.OPD_REPORT_CONFIGURATION, None, name, *kind_and_value(name, metric)
            )
        return _native.opd_report_builder_finish(builder)

    @classmethod
    def from_json(cls, s: str | bytes) -> Report:
        """Reads the output of `json()` of opdyno or TVM. ValueError with the offset for malformed text."""
        return _native.opd_report_from_json(s)

    def json(self) -> str:
        """Returns one line of JSON in TVM's format, with calls, device_metrics and configuration."""
        return _native.opd_report_write(self, _native.OPD_REPORT_JSON, None)

    def csv(self) -> str:
        """Returns the calls as CSV: a line of names, then a line for each call."""
        return _native.opd_report_write(self, _native.OPD_REPORT_CSV, None)

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Returns a text table of the calls.

        `sort`: rows are sorted by descending duration, else in the program's order. `aggregate`: calls of one operator
        with equal shapes on one device make one row. `col_sums`: adds rows of sums.
        """
        return _native.opd_report_write(self, _native.OPD_REPORT_TABLE, self._options(sort, aggregate, col_sums))

    def summary(self, width: int = 100, max_rows: int = 10, colored: bool = False) -> str:
        """Returns the summary that `opdyno profile` shows: the slowest operators, times with units, and a sentence
        about what would help.

        `width`: limit of characters in a line, at least 40. `max_rows`: limit of rows of operators; 0: all. `colored`:
        adds bars and the colours of a terminal.
        """
        options = {"width": width, "max_rows": max_rows, "colored": int(colored)}
        return _native.opd_report_write(self, _native.OPD_REPORT_TABLE, options)

    def to_markdown(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Returns the rows of `table()` as a Markdown table."""
        return _native.opd_report_write(self, _native.OPD_REPORT_MARKDOWN, self._options(sort, aggregate, col_sums))

    def to_html(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Returns an HTML page that needs no other file. It has a sortable table, the time of each operator as bars,
        and a roofline if the report has the numbers for it."""
        return _native.opd_report_write(self, _native.OPD_REPORT_HTML, self._options(sort, aggregate, col_sums))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the calls as a Parquet file, with the devices and the configuration as its metadata. Needs pyarrow."""
        table = import_module("pyarrow").table(self)
        import_module("pyarrow.parquet").write_table(table, path)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Exports the calls to pyarrow, Polars, DuckDB and others, without a copy of columns that have no gaps."""
        return _native.opd_report_to_arrow(self)

    @staticmethod
    def _options(sort: bool, aggregate: bool, col_sums: bool) -> dict[str, int]:
        return {"sort": int(sort), "aggregate": int(aggregate), "col_sums": int(col_sums)}

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The metrics of each call by name, in the program's order. They are `Duration`, `Percent`, `Count`, `Ratio` …
        or text.

        The metrics of `VirtualMachine.profile` are "Name", "Duration (us)", "Percent", "Device", "Count" and "Argument
        Shapes".
        """
        return self._rows(_native.OPD_REPORT_CALLS)

    @property
    def device_metrics(self) -> dict[str, dict[str, Any]]:
        """The metrics of each device by name. A device has a name such as "cpu0"."""
        return {row.pop("Device"): row for row in self._rows(_native.OPD_REPORT_DEVICES)}

    @property
    def configuration(self) -> dict[str, Any]:
        """The conditions of the run, by name."""
        return self._rows(_native.OPD_REPORT_CONFIGURATION)[0]

    def _rows(self, section: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [{} for _ in range(_native.opd_report_count(self, section))]
        for name in _native.opd_report_list(self, section):
            values, kinds = _native.opd_report_get_column(self, section, name)
            for row, value, kind in zip(rows, values, kinds):
                if kind:
                    row[name] = metric_of(kind, value)
        return rows

    def __len__(self) -> int:
        return _native.opd_report_call_count(self)

    def __str__(self) -> str:
        screen = _shown.screen()
        return self.table() if screen is None else _shown.summary(self, screen)

    def __repr__(self) -> str:
        times = [
            f", {device}: {metrics['Duration (us)'].microseconds:,.2f} us"
            for device, metrics in self.device_metrics.items()
            if isinstance(metrics.get("Duration (us)"), Duration)
        ]
        return f"<Report of {len(self)} calls{''.join(times)}>"

    def with_roofline(self, peak: MachinePeak | None = None) -> Report:
        """Returns the report with columns for the operations and the memory traffic of operators, if their names and
        shapes tell these.

        The columns are FLOP, Tensors (bytes), GFLOP/s, Arithmetic Intensity (FLOP/byte) and, with the machine's peaks,
        Percent of Peak. For your own operators, a global function "opdyno.flop.<name>" counts the operations from the
        text of "Argument Shapes". Source: Williams, Waterman, Patterson: Roofline, 2009.
        """
        gflops, bandwidth = (peak.gflops, peak.bandwidth_gbps) if peak else (0.0, 0.0)
        return _native.opd_report_add_roofline(self, gflops, bandwidth)

    def _repr_html_(self) -> str:
        """The sentence, the bars and the table of `to_html()`, for notebooks."""
        return _shown.report_html(self.to_html())

    def __reduce__(self) -> Any:
        return Report.from_json, (self.json(),)


class Diff:
    """The changes of each operator between two sets of runs. `print(diff)` shows them: on a terminal the important
    changes, the total and a sentence; in a pipe all changes."""

    def __init__(self, before: list[Report], after: list[Report], options: dict[str, Any]) -> None:
        self._runs, self._options = (before, after), options
        self._report: Report = _native.opd_report_diff(before, after, options)

    @property
    def verdict(self) -> str:
        """The verdict on the total and the deciding operators: the first of "regression", "undecided", "improvement"
        and "same" that one of them has."""
        return str(self._report.configuration["Verdict"])

    @property
    def report(self) -> Report:
        """A report with a row for each operator: before, after, change with its interval, verdict, runs, p-values."""
        return self._report

    def runs_needed(self, index: int, effect: float) -> int:
        """Returns how many runs each side needs so that 9 of 10 diffs find a change `effect` (0.03 is 3 %) of the
        operator."""
        options = {**self._options, "min_effect": effect, "fail_above": -1.0}
        report: Report = _native.opd_report_diff(*self._runs, options)
        number, _kind = _native.opd_report_get(report, _native.OPD_REPORT_CALLS, index, "Runs Needed")
        return -1 if number is None else int(number)

    def __len__(self) -> int:
        return len(self._report)

    def __str__(self) -> str:
        screen = _shown.screen()
        return self.report.table(col_sums=False) if screen is None else _shown.diff_text(self.report, screen)

    def __repr__(self) -> str:
        return f"<Diff of {len(self)} operators: {self.verdict}>"

    def _repr_html_(self) -> str:
        """The sentence, each operator's effect as a bar, and the table, for notebooks."""
        return _shown.diff_html(self.report)


def merge(reports: Iterable[Report]) -> Report:
    """Joins reports of several runs, machines or ranks. Configuration entries that differ become columns."""
    return _native.opd_report_merge(list(reports))


def diff(
    before: Report | Iterable[Report],
    after: Report | Iterable[Report],
    *,
    min_effect: float = 0.01,
    level: float = 0.05,
    confidence: float = 0.95,
    metric: str | None = None,
    min_share: float = 0.01,
    fail_above: float | None = None,
    paired: bool = False,
) -> Diff:
    """Compares two sets of runs. Each report is one run, or has several runs, which its column "Run" numbers.

    `min_effect`: smallest relative change that matters. `level`: largest share of false verdicts. `metric`: the column
    that is compared. Default: "Duration (us)". `fail_above`: 0.03 marks rows that are slower by more than 3 % in the
    column "Fails", if they take at least `min_share` of the time. `paired`: runs of both sides alternated. docs/diff.md
    describes the test.
    """
    sides = [[side] if isinstance(side, Report) else list(side) for side in (before, after)]
    options = {"min_effect": min_effect, "level": level, "confidence": confidence, "metric": metric,
               "min_share": min_share, "fail_above": -1.0 if fail_above is None else fail_above, "is_paired": int(paired)}
    return Diff(sides[0], sides[1], options)


class Trace(_native.Handle):
    """Calls on a time line, from `VirtualMachine.profile_with_trace`. A trace is immutable. Any thread may read it.

    `print(trace)` shows the times by name: on a terminal the ten slowest, in a pipe PyTorch's table."""

    __slots__ = ("__weakref__",)

    def __len__(self) -> int:
        return _native.opd_trace_call_count(self)

    @property
    def dropped(self) -> int:
        """The number of calls that were dropped because of the limit `max_records` of `VirtualMachine.profile`."""
        return _native.opd_trace_dropped_count(self)

    def chrome(self) -> str:
        """Returns JSON in Chrome's trace event format, which Perfetto opens."""
        return _native.opd_trace_write(self, _native.OPD_TRACE_CHROME, None).decode()

    def __str__(self) -> str:
        screen = _shown.screen()
        if screen is None:
            return _native.opd_trace_write(self, _native.OPD_TRACE_TABLE, {"row_limit": -1}).decode()
        return _shown.summary(_native.opd_trace_to_report(self, _native.OPD_TRACE_KEY_AVERAGES, None), screen)

    def _repr_html_(self) -> str:
        """The times by name: a sentence, bars and a table, for notebooks."""
        return _native.opd_trace_to_report(self, _native.OPD_TRACE_KEY_AVERAGES, None)._repr_html_()

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} calls, {self.dropped} dropped>"


class ReportBuilder(_native.Handle):
    __slots__ = ()


_native.register_class("Report", Report)
_native.register_class("ReportBuilder", ReportBuilder)
_native.register_class("Trace", Trace)
