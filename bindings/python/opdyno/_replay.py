"""Replays of calls that were recorded to files."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from . import _native
from ._device import Device
from ._function import Function
from ._module import Module
from ._outcome import Outcome, path_text, tolerance_text
from ._report import Report
from ._time import limit_ns


class Replayed(Outcome):
    """The result of `replay`. True if the call had the recorded result or error."""

    _HOLDS = "Same"

    def __init__(self, module: Module | None, report: Report, profile: Report | None) -> None:
        super().__init__(report)
        self._module, self._profile = module, profile

    @property
    def module(self) -> Module | None:
        """The program; None if the recording has only the program's hash."""
        return self._module

    @property
    def report(self) -> Report:
        """A report with a row for each argument, host function, operator that differs, and part of the result."""
        return self._report

    @property
    def profile(self) -> Report | None:
        """A report like that of `VirtualMachine.profile`; None if nothing was measured."""
        return self._profile

    @property
    def minimised(self) -> str | None:
        """The operator to which `minimise` reduced the call."""
        return self._entry("Minimised")


def replay(
    path: str | os.PathLike[str],
    *,
    module: Module | None = None,
    instrument: Callable[..., Any] | None = None,
    minimise: str | os.PathLike[str] | None = None,
    rtol: float | Mapping[str, float] | None = None,
    atol: float | Mapping[str, float] | None = None,
    repeat: int = 0,
    timeout: float | None = None,
    device: Device | None = None,
) -> Replayed:
    """Repeats a recorded call and compares the outcome. This runs the code in the file.

    `module`: the program that runs instead of the recorded one. `instrument`: as for `VirtualMachine.set_instrument`.
    `minimise`: path for a recording of only the operator that fails, ends the process, or is the first that differs.
    `rtol`, `atol`: tolerances for results whose elements were kept, as for `compare`. `repeat`: number of measured
    calls, for `Replayed.profile`. `timeout`: seconds; None: no limit. `device`: replaces the first device of the recorded
    VM. docs/replay.md says more.
    """
    options = {"module": module, "instrument": None if instrument is None else Function(instrument),
               "minimise": path_text(minimise), "rtol": tolerance_text(rtol), "atol": tolerance_text(atol),
               "repeat": repeat, "timeout_ns": limit_ns("timeout", timeout), "device": device}
    return Replayed(*_native.opd_replay(os.fspath(path), options))
