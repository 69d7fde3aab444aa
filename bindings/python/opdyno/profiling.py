"""Reports about the time of operators, with the names and the format of TVM's runtime.profiling.

    report = vm.profile("main", x)
    print(report)                                   # on a terminal a summary, in a pipe a table; in a notebook bars
    report.calls[0]["Duration (us)"].microseconds   # metrics are Duration, Percent, Count, Ratio or text
    again = Report.from_json(report.json())         # as TVM writes and reads it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _native
from ._collectors import (
    DeviceMetricCollector,
    DeviceWrapper,
    EnergyMetricCollector,
    MemoryMetricCollector,
    MetricCollector,
    NVMLMetricCollector,
    PAPIMetricCollector,
    PerfMetricCollector,
    TimeMetricCollector,
    handles_of,
    profile_function,
)
from ._report import Bytes, Count, Diff, Duration, Hertz, Percent, Ratio, Report, Trace, diff, merge
from ._results import MachinePeak

if TYPE_CHECKING:
    from .vm import VirtualMachine


def measure_peak() -> MachinePeak:
    """Measures this machine's peaks with all threads, which takes about half a second. Source: STREAM's triad for the
    bandwidth."""
    return _native.opd_machine_measure_peak()


_BUILTINS = {"with_tensors": 0, "all": 1, "folded": 2}


def profile_options(max_records: int, builtins: str, details: bool) -> dict[str, int]:
    """Makes the options of opd_profile_options that all ways of profiling have."""
    if builtins not in _BUILTINS:
        raise ValueError(f'builtins must be one of {", ".join(_BUILTINS)}, not "{builtins}"')
    return {"max_records": max_records, "builtins": _BUILTINS[builtins], "details": int(details)}


class Profiling:
    """A recording of all calls of a VM, made by `VirtualMachine.profiling()`. Use it as a context manager, or by
    `start` and `stop`."""

    def __init__(self, vm: VirtualMachine, options: Mapping[str, Any], collectors: list[MetricCollector]) -> None:
        self._vm, self._options, self._collectors = vm, options, collectors
        self._result: tuple[Report, Trace] | None = None

    def start(self) -> None:
        """Starts the recording. `Error` (code FAILED_PRECONDITION) if the VM is being recorded already."""
        _native.opd_vm_profile_start(self._vm, {**self._options, "collectors": handles_of(self._collectors)})

    def stop(self) -> Report:
        """Waits until the calls that are being recorded have ended, then ends the recording. It cannot be called within
        a call of the VM."""
        self._result = _native.opd_vm_profile_stop(self._vm)
        return self.report

    def _stopped(self) -> tuple[Report, Trace]:
        if self._result is None:
            raise RuntimeError("the recording has not been stopped")
        return self._result

    @property
    def report(self) -> Report:
        """The report. It is available after the end of the recording."""
        return self._stopped()[0]

    @property
    def trace(self) -> Trace:
        """The calls on a time line. The trace is available after the end of the recording."""
        return self._stopped()[1]

    def __enter__(self) -> Profiling:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


__all__ = [
    "Bytes", "Count", "DeviceMetricCollector", "DeviceWrapper", "Diff", "Duration", "EnergyMetricCollector", "Hertz", "MachinePeak",
    "MemoryMetricCollector", "MetricCollector", "NVMLMetricCollector", "PAPIMetricCollector", "Percent", "PerfMetricCollector",
    "Profiling", "Ratio", "Report", "TimeMetricCollector", "Trace", "diff", "measure_peak", "merge", "profile_function",
]  # fmt: skip

for _name in __all__:  # help() and tracebacks show this module's name
    if getattr(globals()[_name], "__module__", "").startswith("opdyno._"):
        globals()[_name].__module__ = __name__
