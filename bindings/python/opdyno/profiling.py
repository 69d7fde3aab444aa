"""Reports of where time went, in the form of TVM's runtime.profiling."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import dataclass
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


_METRICS: dict[str, Callable[[Any], Any]] = {
    "count": lambda v: Count(int(v)),
    "microseconds": lambda v: Duration(float(v)),
    "percent": lambda v: Percent(float(v)),
    "ratio": lambda v: Ratio(float(v)),
    "string": str,
}


def _metric(encoded: Any) -> Any:
    """A metric of TVM's JSON: {"kind": value}."""
    if isinstance(encoded, dict) and len(encoded) == 1:
        ((kind, value),) = encoded.items()
        if kind in _METRICS:
            return _METRICS[kind](value)
    return encoded


class Report(_native.Handle):
    """Metrics of each call, of each device, and the configuration of a run. `print(report)` shows its table."""

    __slots__ = ("__weakref__",)

    @classmethod
    def from_json(cls, s: str | bytes) -> Report:
        """Reads what `json()` wrote, here or in TVM. Malformed text is a ValueError that gives the place."""
        made: Report = _native.opd_report_from_json(s)
        return made

    def json(self) -> str:
        """One line of JSON in TVM's form."""
        return str(_native.opd_report_to_json(self))

    def csv(self) -> str:
        """The calls as CSV."""
        return str(_native.opd_report_to_csv(self))

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A text table: by descending duration, calls of one operator in one row, with sums."""
        options = {"sort": int(sort), "aggregate": int(aggregate), "col_sums": int(col_sums)}
        return str(_native.opd_report_to_table(self, options))

    def _part(self, name: str) -> Any:
        return json.loads(self.json())[name]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """For each call its metrics by name."""
        return [{name: _metric(value) for name, value in call.items()} for call in self._part("calls")]

    @property
    def device_metrics(self) -> dict[str, dict[str, Any]]:
        """For each device its metrics by name."""
        return {
            device: {name: _metric(value) for name, value in metrics.items()}
            for device, metrics in self._part("device_metrics").items()
        }

    @property
    def configuration(self) -> dict[str, Any]:
        """What the run was like."""
        return {name: _metric(value) for name, value in self._part("configuration").items()}

    def __len__(self) -> int:
        return int(_native.opd_report_call_count(self))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<Report of {len(self)} calls>"

    def _repr_html_(self) -> str:
        """The calls as a table for notebooks."""
        columns = list(_native.opd_report_list_columns(self))
        rows = self.calls

        def text(value: Any) -> str:
            if isinstance(value, Duration):
                return f"{value.microseconds:,.2f}"
            if isinstance(value, Percent):
                return f"{value.percent:.2f}"
            if isinstance(value, Count):
                return str(value.value)
            return html.escape(str(getattr(value, "ratio", value)))

        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{text(row[name]) if name in row else ''}</td>" for name in columns) + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

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


_native.register_class("Report", Report)
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
    "Count",
    "DeviceWrapper",
    "Duration",
    "EnergyMetricCollector",
    "MemoryMetricCollector",
    "MetricCollector",
    "PAPIMetricCollector",
    "Percent",
    "PerfMetricCollector",
    "Ratio",
    "Report",
    "TimeMetricCollector",
    "Trace",
    "profile_function",
]
