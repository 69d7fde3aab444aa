"""Reports of where time went, in the form of TVM's runtime.profiling."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable
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


class Diff(_native.Handle):
    """What changed between two sets of runs, operator by operator. `print(diff)` shows its table."""

    __slots__ = ("__weakref__",)

    @property
    def verdict(self) -> str:
        """Of all operators: "regression" if one has it, else "undecided", "improvement" or "same"."""
        return str(_native.opd_verdict_name(_native.opd_diff_verdict(self)))

    @property
    def report(self) -> Report:
        """A row for each operator: before, after, change with its interval, verdict, runs, p-values."""
        made: Report = _native.opd_diff_to_report(self)
        return made

    def runs_needed(self, index: int, effect: float) -> int:
        """How many runs on each side would show such a change (0.03 is 3 %) of the operator in 9 of 10 diffs."""
        return int(_native.opd_diff_runs_needed(self, index, effect))

    def __len__(self) -> int:
        return int(_native.opd_diff_operator_count(self))

    def __str__(self) -> str:
        return self.report.table(col_sums=False)

    def __repr__(self) -> str:
        return f"<Diff of {len(self)} operators: {self.verdict}>"

    def _repr_html_(self) -> str:
        """The operators as a table for notebooks."""
        return self.report._repr_html_()


def merge(reports: Iterable[Report]) -> Report:
    """Joins reports of several runs, machines or ranks. What differs in their configurations becomes columns."""
    made: Report = _native.opd_report_merge(list(reports))
    return made


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
    made: Diff = _native.opd_report_diff(sides[0], sides[1], options)
    return made


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
_native.register_class("Diff", Diff)
_native.register_class("Trace", Trace)

__all__ = ["Count", "Diff", "Duration", "Percent", "Ratio", "Report", "Trace", "diff", "merge"]
