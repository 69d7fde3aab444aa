"""Reports of where time went, in the form of TVM's runtime.profiling."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from . import _native


@dataclass(frozen=True)
class Count:
    """A number of things."""

    value: int


@dataclass(frozen=True)
class Duration:
    """A time."""

    microseconds: float


@dataclass(frozen=True)
class Percent:
    """A share, from 0 to 100."""

    percent: float


@dataclass(frozen=True)
class Ratio:
    """A quotient."""

    ratio: float


@dataclass(frozen=True)
class Bytes:
    """An amount of memory. Names of such metrics end in " (bytes)"."""

    value: int


@dataclass(frozen=True)
class Hertz:
    """A frequency. Names of such metrics end in " (Hz)"."""

    hertz: float


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


def _kind_and_value(name: str, metric: Any) -> tuple[int, Any]:
    match metric:
        case str():
            return _native.OPD_METRIC_STRING, metric
        case Count(value):
            return _native.OPD_METRIC_COUNT, value
        case Duration(value):
            return _native.OPD_METRIC_DURATION, value
        case Percent(value):
            return _native.OPD_METRIC_PERCENT, value
        case Ratio(value):
            return _native.OPD_METRIC_RATIO, value
        case Bytes(value):
            return _native.OPD_METRIC_BYTES, value
        case Hertz(value):
            return _native.OPD_METRIC_HERTZ, value
    raise TypeError(
        f"{name} must be a Count, Duration, Percent, Ratio, Bytes, Hertz or str, not {type(metric).__name__}"
    )


class Report(_native.Handle):
    """Metrics of each call, of each device, and the configuration of a run. `print(report)` shows its table."""

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        calls: Iterable[Mapping[str, Any]],
        device_metrics: Mapping[str, Mapping[str, Any]],
        configuration: Mapping[str, Any],
    ) -> Report:
        """A report made by hand: metrics by name, of each call, of each device, and of the configuration."""
        builder = _native.opd_report_builder_create()
        for call in calls:
            _native.opd_report_builder_add_call(builder)
            for name, metric in call.items():
                _native.opd_report_builder_set_call(builder, name, *_kind_and_value(name, metric))
        for device, metrics in device_metrics.items():
            for name, metric in metrics.items():
                _native.opd_report_builder_set_device(builder, device, name, *_kind_and_value(name, metric))
        for name, metric in configuration.items():
            _native.opd_report_builder_set_configuration(builder, name, *_kind_and_value(name, metric))
        made: Report = _native.opd_report_builder_finish(builder)
        return made

    @classmethod
    def from_json(cls, s: str | bytes) -> Report:
        """Reads what `json()` wrote, here or in TVM. Malformed text is a ValueError that gives the place."""
        made: Report = _native.opd_report_from_json(s)
        return made

    @classmethod
    def from_table(cls, s: str | bytes) -> Report:
        """Reads what `table()` wrote, here or in TVM. Other text is a ValueError that gives the line."""
        made: Report = _native.opd_report_from_table(s)
        return made

    def json(self) -> str:
        """One line of JSON in TVM's form."""
        return str(_native.opd_report_to_json(self))

    def csv(self) -> str:
        """The calls as CSV."""
        return str(_native.opd_report_to_csv(self))

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A text table: by descending duration, calls of one operator in one row, with sums."""
        return str(_native.opd_report_to_table(self, self._options(sort, aggregate, col_sums)))

    def to_markdown(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """The table's rows as a Markdown table."""
        return str(_native.opd_report_to_markdown(self, self._options(sort, aggregate, col_sums)))

    def to_html(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A page that needs no other file: the table's rows to sort, the time of each operator as bars, and a roofline
        where the report has its numbers."""
        return str(_native.opd_report_to_html(self, self._options(sort, aggregate, col_sums)))

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
        """For each call its metrics by name."""
        return [_metrics(call) for call in self._part("calls")]

    @property
    def device_metrics(self) -> dict[str, dict[str, Any]]:
        """For each device its metrics by name."""
        return {device: _metrics(metrics) for device, metrics in self._part("device_metrics").items()}

    @property
    def configuration(self) -> dict[str, Any]:
        """What the run was like."""
        return _metrics(self._part("configuration"))

    def __len__(self) -> int:
        return int(_native.opd_report_call_count(self))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<Report of {len(self)} calls>"

    def _repr_html_(self) -> str:
        """The table of `to_html()`, for notebooks."""
        page = self.to_html()
        return page[page.index("<table>") : page.index("</table>") + len("</table>")]

    def __reduce__(self) -> Any:
        return Report.from_json, (self.json(),)


class Trace(_native.Handle):
    """Calls on a time line."""

    __slots__ = ("__weakref__",)

    def __len__(self) -> int:
        return int(_native.opd_trace_call_count(self))

    @property
    def dropped(self) -> int:
        """Calls that found no room."""
        return int(_native.opd_trace_dropped_count(self))

    def chrome(self) -> str:
        """JSON of Chrome's trace event format, which Perfetto opens."""
        return str(_native.opd_trace_to_chrome(self))


class _ReportBuilder(_native.Handle):
    __slots__ = ()


_native.register_class("Report", Report)
_native.register_class("ReportBuilder", _ReportBuilder)
_native.register_class("Trace", Trace)

__all__ = ["Bytes", "Count", "Duration", "Hertz", "Percent", "Ratio", "Report", "Trace"]
