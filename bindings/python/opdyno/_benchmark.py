"""Benchmarks, which measure the time of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _native
from ._device import Device
from ._function import Function, get_global_func
from ._report import Report
from ._results import BenchmarkStats


class BenchmarkResult(_native.Handle):
    """Times of a function, in seconds per call: one result for each repeat and thread. Immutable. `print(result)` shows them in ms.

    Source: TVM's BenchmarkResult.
    """

    __slots__ = ("__weakref__",)

    @property
    def results(self) -> tuple[float, ...]:
        """All samples, in the order of the repeats."""
        return _native.seconds_of(self)

    @property
    def mean(self) -> float:
        """The mean of the samples, in seconds."""
        return self.stats.mean

    @property
    def median(self) -> float:
        """The median of the samples, in seconds."""
        return self.stats.median

    @property
    def std(self) -> float:
        """The population standard deviation of the samples, in seconds."""
        return self.stats.std

    @property
    def min(self) -> float:
        """The shortest sample, in seconds."""
        return self.stats.min

    @property
    def max(self) -> float:
        """The longest sample, in seconds."""
        return self.stats.max

    def percentile(self, percent: float) -> float:
        """The percentile of the samples at `percent` (0 to 100), in seconds, interpolated between two samples."""
        return _native.opd_benchmark_percentile(self, percent)

    def diff(
        self,
        after: BenchmarkResult,
        *,
        min_effect: float = 0.01,
        level: float = 0.05,
        confidence: float = 0.95,
        fail_above: float | None = None,
        paired: bool = False,
    ) -> Report:
        """Compares these times with those of another result. Returns a report with one row, which has the change and
        the verdict.

        The options are those of `opdyno.profiling.diff`.
        """
        options = {"min_effect": min_effect, "level": level, "confidence": confidence,
                   "fail_above": -1.0 if fail_above is None else fail_above, "is_paired": int(paired)}
        return _native.opd_benchmark_diff(self, after, options)

    @property
    def stats(self) -> BenchmarkStats:
        """All statistics: the interval of the median, outliers, calls per second …"""
        return _native.opd_benchmark_get_stats(self)

    def __reduce__(self) -> Any:  # pickles only the results, so a copy lacks how they were measured
        return _benchmark_of, (self.results,)

    def __str__(self) -> str:
        return _native.opd_benchmark_to_text(self)

    def __repr__(self) -> str:
        stats = self.stats
        figures = ", ".join(f"{name}={getattr(stats, name):g}" for name in ("mean", "median", "min", "max", "std"))
        return f"BenchmarkResult({figures}, count={len(self.results)})"


def _benchmark_of(results: tuple[float, ...]) -> BenchmarkResult:
    return _native.benchmark_of(results)


class _Evaluator(_native.CollectedHandle):
    __slots__ = ("__weakref__",)

    def __call__(self, *args: Any) -> BenchmarkResult:
        return _native.opd_evaluator_call(self, args)


def evaluator(
    function: Function, dev: Device | None, f_preproc: str | Callable[..., Any], **options: int
) -> Callable[..., BenchmarkResult]:
    """Makes the function that `Module.time_evaluator` returns; `options` are its further parameters."""
    before = get_global_func(f_preproc) if isinstance(f_preproc, str) and f_preproc else f_preproc
    return _native.opd_evaluator_create(
        function, {**options, "device": dev, "preprocess": Function(before) if before else None}
    )


_native.register_class("Benchmark", BenchmarkResult)
_native.register_class("Evaluator", _Evaluator)
