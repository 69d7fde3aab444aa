"""Collectors, which take measurements around each call of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _native
from ._function import Function
from ._module import Module, module_of
from ._device import Device, device_of
from ._report import kind_and_value, metric_of


class DeviceWrapper:
    """The device that collectors get in `Init`; `device` is the device itself."""

    __slots__ = ("device",)

    def __init__(self, dev: Device) -> None:
        self.device = dev

    @property
    def device_type(self) -> int:
        """The device's kind, as DLPack's number."""
        return self.device.device_type

    @property
    def device_id(self) -> int:
        """The device's index among the devices of its kind."""
        return self.device.device_id

    def __repr__(self) -> str:
        return f"DeviceWrapper({self.device!r})"


class MetricCollector:
    """Takes measurements around each call. Derive your own collectors from this class.

    `VirtualMachine.profile` calls all three methods on its own thread. `VirtualMachine.profiling` calls Start and Stop
    on the threads of the calls, several at once, so keep the data of a call in its state. If a method raises, the
    collector is not started again, but the run continues. The exception is in the report's configuration.
    """

    def Init(self, devs: list[DeviceWrapper]) -> None:
        """Makes expensive preparations. It is called once, after the warm-up calls or when the recording starts."""

    def Start(self, dev: Device) -> Any:
        """Begins to measure a call on `dev`. Returns a state, or None if the device is not supported."""
        raise NotImplementedError

    def Stop(self, obj: Any) -> Mapping[str, Any]:
        """Ends the measurement with the state `obj`. Returns the metrics by name, each a Duration, Percent, Count,
        Ratio, Bytes, Hertz or str."""
        raise NotImplementedError

    def _init(self, devices: list[Device]) -> None:
        self.Init([DeviceWrapper(device) for device in devices])

    def _start(self, device: Device) -> Any:
        return self.Start(device)

    def _stop(self, state: Any) -> list[tuple[str, int, Any]]:
        return [(name, *kind_and_value(name, metric)) for name, metric in self.Stop(state).items()]

    def _collector(self) -> Collector:
        return _native.opd_collector_create(type(self).__name__, self)


class _BuiltIn(MetricCollector):
    """Base of the native collectors, which run without Python."""

    __module__ = "opdyno.profiling"

    _made: Collector

    def Start(self, dev: Device) -> Any:
        raise TypeError("a collector that is built in is started by opdyno")

    def Stop(self, obj: Any) -> Mapping[str, Any]:
        raise TypeError("a collector that is built in is stopped by opdyno")

    def _collector(self) -> Collector:
        return self._made


def _options_of(
    metric_names: Mapping[Device | DeviceWrapper, Sequence[str]] | None, **flags: bool
) -> dict[str, Any]:
    options: dict[str, Any] = {name: int(flag) for name, flag in flags.items()}
    if metric_names is None:
        return options
    pairs = [(getattr(dev, "device", dev), name) for dev, names in metric_names.items() for name in names]
    if not pairs:
        raise ValueError("metric_names has no event; None means the usual ones")
    return {**options, "devices": [dev for dev, _ in pairs], "events": [name for _, name in pairs]}


class TimeMetricCollector(_BuiltIn):
    """"Wall time (us)", and the "CPU time (us)" of all threads. `per_thread` adds the minimum and maximum of a
    thread."""

    def __init__(self, *, per_thread: bool = False) -> None:
        self._made = _native.opd_collector_create_builtin(_native.OPD_COLLECTOR_TIME, {"per_thread": int(per_thread)})


class MemoryMetricCollector(_BuiltIn):
    """The bytes of tensor memory that a call allocates and frees, and the peak relative to the memory in use before the
    call."""

    def __init__(self) -> None:
        self._made = _native.opd_collector_create_builtin(_native.OPD_COLLECTOR_MEMORY, None)


class _Counters(_BuiltIn):
    """Base of the collectors that count events."""

    __module__ = "opdyno.profiling"

    _kind: int

    def __init__(
        self,
        metric_names: Mapping[Device | DeviceWrapper, Sequence[str]] | None = None,
        *,
        per_thread: bool = False,
        best_effort: bool = False,
        elsewhere: bool = False,
    ) -> None:
        options = _options_of(metric_names, per_thread=per_thread, best_effort=best_effort, elsewhere=elsewhere)
        self._made = _native.opd_collector_create_builtin(self._kind, options)


class PerfMetricCollector(_Counters):
    """The kernel's counters on every thread: cycles, instructions, cache-references, cache-misses, branch-misses.

    Other events can be named for each device. If an event cannot be counted here, it is an error, or left out with
    `best_effort`. With `elsewhere`, the collector is for VMs on other machines, which check the events themselves.
    """

    _kind = _native.OPD_COLLECTOR_PERF


class PAPIMetricCollector(_Counters):
    """PAPI's events, for each device. Default: TVM's five events for the CPU. `events()` lists the available events.

    With `elsewhere`, the collector is for VMs on other machines, which check the events themselves.
    """

    _kind = _native.OPD_COLLECTOR_PAPI

    @staticmethod
    def events() -> list[str]:
        """The events that PAPI can count on this machine."""
        return [str(name) for name in _native.opd_collector_list_events(_native.OPD_COLLECTOR_PAPI)]


class EnergyMetricCollector(_BuiltIn):
    """Energy that the processor's packages used during a call, in microjoules. `elsewhere`: the packages of another
    machine, for VMs on it."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        self._made = _native.opd_collector_create_builtin(_native.OPD_COLLECTOR_ENERGY, {"elsewhere": int(elsewhere)})


class NVMLMetricCollector(_BuiltIn):
    """Power, temperature, clocks, utilization and energy of NVIDIA GPUs, read by NVML. `elsewhere`: the GPUs of another
    machine, for VMs on it."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        self._made = _native.opd_collector_create_builtin(_native.OPD_COLLECTOR_NVML, {"elsewhere": int(elsewhere)})


class DeviceMetricCollector(_BuiltIn):
    """The device's own counters for the kernels in a call. On Vulkan, "Compute shader invocations" is the number of the
    kernels' threads. On CUDA, `metrics` are names of CUPTI's metrics, which end with ".sum". `elsewhere`: devices of
    another machine, for VMs on it."""

    def __init__(self, metrics: Iterable[str] = (), *, elsewhere: bool = False) -> None:
        options = {"events": list(metrics), "elsewhere": int(elsewhere)}
        self._made = _native.opd_collector_create_builtin(_native.OPD_COLLECTOR_DEVICE, options)


def handles_of(collectors: Iterable[MetricCollector] | None) -> list[Any]:
    """The collectors' handles in the C API."""
    return [collector._collector() for collector in collectors or ()]


def profile_function(
    mod: Any,
    dev: Device,
    collectors: Iterable[MetricCollector] | None = None,
    func_name: str | None = None,
    warmup_iters: int = 10,
) -> Callable[..., dict[str, Any]]:
    """Makes a function that measures one call of a function of a module or a VM, after unmeasured warm-up calls.

    The result takes the measured function's arguments and returns the metrics by name, always including "Duration
    (us)". Without `func_name`, it measures the module's entry function.
    """
    mod, dev = module_of(mod), device_of(dev)
    if isinstance(mod, Function):
        function = mod
    elif isinstance(mod, Module):
        function = mod.get_function(func_name, True) if func_name else mod.entry_func
    else:
        function = mod.function(func_name or "main")
    measured = _native.opd_function_profile(function, dev, handles_of(collectors), warmup_iters)

    def profile(*args: Any) -> dict[str, Any]:
        return {str(name): metric_of(*metric) for name, metric in measured(*args).items()}

    return profile


class Collector(_native.Handle):
    __slots__ = ()


_native.register_class("Collector", Collector)
