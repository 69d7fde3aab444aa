"""How long functions take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _native
from ._function import Function, get_global_func
from ._types import Device, cpu


class BenchmarkResult(_native.Handle):
    """Times of a function, in seconds per call: one result for each repeat."""

    __slots__ = ("__weakref__",)

    @property
    def results(self) -> tuple[float, ...]:
        """Every sample, in the order of the repeats."""
        return tuple(_native.seconds_of(self))

    @property
    def mean(self) -> float:
        return float(_native.opd_benchmark_mean(self))

    @property
    def median(self) -> float:
        return float(_native.opd_benchmark_median(self))

    @property
    def std(self) -> float:
        """Standard deviation of the population."""
        return float(_native.opd_benchmark_std(self))

    @property
    def min(self) -> float:
        return float(_native.opd_benchmark_min(self))

    @property
    def max(self) -> float:
        return float(_native.opd_benchmark_max(self))

    def percentile(self, percent: float) -> float:
        """The value that `percent` of the samples do not exceed; between two samples it is interpolated."""
        return float(_native.opd_benchmark_percentile(self, percent))

    @property
    def reliability(self) -> dict[str, float | int | bool]:
        """The 95 % interval of the median (`median_low`, `median_high`), `outlier_count`, `autocorrelation` and `is_noisy`."""
        made: dict[str, float | int | bool] = _native.opd_benchmark_get_stats(self)
        return made

    def __str__(self) -> str:
        return str(_native.opd_benchmark_to_text(self))

    def __repr__(self) -> str:
        return f"BenchmarkResult(mean={self.mean:g}, median={self.median:g}, min={self.min:g}, max={self.max:g}, count={len(self.results)})"


class _Evaluator(_native.Handle):
    __slots__ = ("__weakref__",)

    def __call__(self, *args: Any) -> BenchmarkResult:
        made: BenchmarkResult = _native.opd_evaluator_call(self, args)
        return made


def evaluator(
    function: Function,
    dev: Device | None = None,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: int = 0,
    repeats_to_cooldown: int = 1,
    cache_flush_bytes: int = 0,
    f_preproc: str | Callable[..., Any] = "",
) -> Callable[..., BenchmarkResult]:
    """Makes a function that calls `function` with its arguments 1 + number × repeat times and gives the times.

    The first call is not measured. `min_repeat_ms` raises `number` until a repeat lasts that long. Source: TVM's
    time_evaluator.
    """
    options: dict[str, Any] = {
        "device": dev if dev is not None else cpu(),
        "number": number,
        "repeat": repeat,
        "min_repeat_ms": min_repeat_ms,
        "limit_zero_time_iterations": limit_zero_time_iterations,
        "cooldown_interval_ms": cooldown_interval_ms,
        "repeats_to_cooldown": repeats_to_cooldown,
        "cache_flush_bytes": cache_flush_bytes,
    }
    if f_preproc:
        options["preprocess"] = get_global_func(f_preproc) if isinstance(f_preproc, str) else Function(f_preproc)
    made: Callable[..., BenchmarkResult] = _native.opd_evaluator_create(function, options)
    return made


_native.register_class("Benchmark", BenchmarkResult)
_native.register_class("Evaluator", _Evaluator)
