"""Where the values of two builds of a program part."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from .profiling import Report
from .vm import VirtualMachine


class Comparison:
    """What `compare` found. True if nothing differs."""

    def __init__(self, report: Report, times: Report | None) -> None:
        self._report, self._times = report, times

    @property
    def verdict(self) -> str:
        """One sentence: the first difference and the operator that caused it, or that there is none."""
        return str(self._report.configuration["Verdict"])

    @property
    def cause(self) -> str | None:
        """The operators of B of which one caused the first difference; None if there is none."""
        cause = self._report.configuration.get("Cause")
        return None if cause is None else str(cause)

    @property
    def report(self) -> Report:
        """A row for each operator of both programs and for each tensor of the result."""
        return self._report

    @property
    def times(self) -> Report | None:
        """Which operators became slower, as the report of `profiling.diff`; None if nothing was measured."""
        return self._times

    def __bool__(self) -> bool:
        return bool(self._report.configuration["Equal"].value)

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        return f"<Comparison: {self.verdict}>"


def _tolerance(given: float | Mapping[str, float] | None) -> str | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return ",".join(f"{dtype}={float(number)!r}" for dtype, number in given.items())
    return repr(float(given))


def compare(
    a: VirtualMachine,
    b: VirtualMachine,
    inputs: Sequence[Any],
    function: str = "main",
    *,
    rtol: float | Mapping[str, float] | None = None,
    atol: float | Mapping[str, float] | None = None,
    equal_nan: bool = True,
    repeat: int = 0,
    keep_bytes: int = 2 << 30,
    save: str | None = None,
    timeout: float = 0.0,
) -> Comparison:
    """Runs `function` of two programs on the same `inputs`, and compares what their operators read and write.

    `rtol`, `atol`: a number for all real dtypes, or numbers by dtype as {"float16": 1e-2}; without, those of PyTorch's
    assert_close. `repeat`: measured runs of each program, for `Comparison.times`. `keep_bytes`: most memory for copies of
    values. `save`: the directory where the tensors around the first difference go, as a.npz and b.npz. `timeout`: seconds;
    0: none. The arguments are copied, so the programs may write theirs. docs/compare.md says more.
    """
    options = {"repeat": repeat, "rtol": _tolerance(rtol), "atol": _tolerance(atol), "keep_bytes": keep_bytes,
               "save_directory": save, "timeout_ns": int(timeout * 1e9), "equal_nan": int(equal_nan)}
    report, times = _native.opd_compare(a, b, function, tuple(inputs), options)
    return Comparison(report, times)
