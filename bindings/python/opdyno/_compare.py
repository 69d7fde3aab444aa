"""Comparison of the values that two builds of a program compute."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native
from ._objects import Array
from ._outcome import Outcome, path_text, tolerance_text
from ._report import Report
from ._tensor import tensor
from ._time import limit_ns
from .vm import VirtualMachine


class Comparison(Outcome):
    """The result of `compare`. True if nothing differs."""

    _HOLDS = "Equal"

    def __init__(self, report: Report, times: Report | None) -> None:
        super().__init__(report)
        self._times = times

    @property
    def cause(self) -> str | None:
        """The operators of `b`, one of which caused the first difference; None if there is no difference."""
        return self._entry("Cause")

    @property
    def report(self) -> Report:
        """A report with a row for each operator of both programs and for each tensor of the result."""
        return self._report

    @property
    def times(self) -> Report | None:
        """The operators that became slower, as a report of `profiling.diff`; None if nothing was measured."""
        return self._times


def _kept(value: Any) -> Any:
    """Converts an array of another library to a tensor, because a call only borrows arrays, but an `Array` keeps its
    items."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, _native.Handle)):
        return Array(_kept(item) for item in value)
    is_foreign = not isinstance(value, _native.Handle) and (hasattr(value, "__dlpack__") or hasattr(value, "__array__"))
    return tensor(value) if is_foreign else value


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
    save: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    b_inputs: Sequence[Any] | None = None,
) -> Comparison:
    """Runs `function` of two programs on the same `inputs`, and compares what their operators read and write.

    `rtol`, `atol`: a number for all real dtypes, or numbers by dtype, such as {"float16": 1e-2}. Default: the
    tolerances of PyTorch's assert_close. `repeat`: number of measured runs of each program, for `Comparison.times`.
    `keep_bytes`: limit of memory for copies of values. `save`: directory for a.npz and b.npz, the tensors around the
    first difference. `timeout`: seconds; None: no limit. The arguments are copied, so the programs may write to them. If
    an object cannot be copied, `b` needs another one: `b_inputs` are the arguments of `b`. docs/compare.md says more.
    """
    options = {"repeat": repeat, "rtol": tolerance_text(rtol), "atol": tolerance_text(atol), "keep_bytes": keep_bytes,
               "save_directory": path_text(save), "timeout_ns": limit_ns("timeout", timeout), "equal_nan": int(equal_nan),
               "b_args": None if b_inputs is None else _kept(b_inputs)}
    report, times = _native.opd_compare(a, b, function, tuple(inputs), options)
    return Comparison(report, times)
