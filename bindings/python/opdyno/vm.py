"""The VM: programs bound to devices."""

from __future__ import annotations

import enum
import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _native
from ._benchmark import BenchmarkResult, evaluator
from ._collectors import MetricCollector, handles_of
from ._errors import Code, Error
from ._function import Function
from ._module import Module, load_module
from ._types import Device
from .profiling import Report, Trace


class VMInstrumentReturnKind(enum.IntEnum):
    """What an instrument may answer before a call."""

    NO_OP = 0
    SKIP_RUN = 1


class Executable(_native.Handle):
    """A verified VM program. `Executable(module)` takes that of a module."""

    __slots__ = ("__weakref__",)

    def __new__(cls, mod: Module) -> Executable:
        made: Executable = _native.opd_executable_from_module(_program_of(mod))
        return made

    @classmethod
    def load_bytes(cls, data: bytes) -> Executable:
        """Reads an executable's bytes and verifies it."""
        made: Executable = _native.opd_executable_load_bytes(data)
        return made

    @classmethod
    def assemble(cls, text: str) -> Executable:
        """Assembles text, as `as_text()` writes it."""
        made: Executable = _native.opd_executable_assemble(text)
        return made

    def save_bytes(self) -> bytes:
        """The bytes that TVM reads."""
        return bytes(_native.opd_executable_save_bytes(self))

    def as_text(self) -> str:
        """The program as assembly."""
        return str(_native.opd_executable_disassemble(self))

    def as_python(self) -> str:
        """A script that builds the program with TVM."""
        return str(_native.opd_executable_to_python(self))

    def stats(self) -> str:
        """Figures of the program, as TVM prints them."""
        return str(_native.opd_executable_stats(self))

    def jit(self) -> Module:
        """A module of the program, ready for a VM."""
        made: Module = _native.opd_executable_to_module(self)
        return made

    to_module = jit

    def describe(self) -> Any:
        """Functions, parameters and constants, as dicts and lists."""
        return json.loads(_native.opd_executable_to_json(self))


class Cancel(_native.Handle):
    """Ends calls from outside: pass it as `cancel=`, and call `cancel()` on any thread."""

    __slots__ = ("__weakref__",)

    def __new__(cls) -> Cancel:
        made: Cancel = _native.opd_cancel_create()
        return made

    def cancel(self) -> None:
        """Ends every call with this token before its next operator, and later ones at once."""
        _native.opd_cancel_cancel(self)

    def reset(self) -> None:
        """Makes the token usable again."""
        _native.opd_cancel_reset(self)

    @property
    def current_operator(self) -> str | None:
        """The operator that a call with this token runs at the moment."""
        name = _native.opd_cancel_current_operator(self)
        return None if name is None else str(name)


def _program_of(mod: Module) -> Module:
    """The module of the program in a tree."""
    if mod.kind == "relax.VMExecutable":
        return mod
    for imported in mod.imports:
        if imported.kind == "relax.VMExecutable":
            return imported
    return mod


_ALLOCATORS = {"naive": 1, "pooled": 2}


def _allocators(devices: list[Device], memory_cfg: str | Mapping[Device, str] | None) -> list[int] | None:
    if memory_cfg is None:
        return None
    kinds = [memory_cfg if isinstance(memory_cfg, str) else memory_cfg.get(dev, "pooled") for dev in devices]
    for kind in kinds:
        if kind not in _ALLOCATORS:
            raise ValueError(f"memory_cfg must be 'naive' or 'pooled', not {kind!r}")
    return [_ALLOCATORS[kind] for kind in kinds]


class VirtualMachine(_native.Handle):
    """A program bound to devices: `vm["main"](x)`. Any number of threads may call it.

    Only `set_input`, `invoke_stateful` and `get_outputs` of one function are for one thread at a time.
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2
    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        rt_mod: Module | Executable | str | os.PathLike[str],
        device: Device | Sequence[Device] | None = None,
        memory_cfg: str | Mapping[Device, str] | None = None,
        profile: bool = False,
        *,
        memory_limit_bytes: int = 0,
        max_depth: int = 1000,
    ) -> VirtualMachine:
        """`rt_mod`: a module, an executable, or the file of one. `memory_cfg`: "naive" or "pooled", or one per device.

        `profile` is accepted for TVM's sake: every VM can profile.
        """
        if isinstance(rt_mod, (str, os.PathLike)):
            rt_mod = load_module(rt_mod)
        module = rt_mod.jit() if isinstance(rt_mod, Executable) else rt_mod
        devices = [device] if isinstance(device, Device) else list(device) if device is not None else [Device(1, 0)]
        options = {
            "devices": devices,
            "allocators": _allocators(devices, memory_cfg),
            "memory_limit_bytes": memory_limit_bytes,
            "max_depth": max_depth,
        }
        made: VirtualMachine = _native.opd_vm_create(_program_of(module), options)
        _watch_signals()
        return made

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of the program, or a saved one; takes keyword arguments, too."""
        return VMFunction(self, name)

    def function(self, name: str) -> Function:
        """The function bound once, for the shortest call: positional arguments only."""
        made: Function = _native.opd_vm_function(self, name)
        return made

    def has_function(self, name: str) -> bool:
        """Whether the program has such a function, or one was saved under the name."""
        return bool(_native.opd_vm_has_function(self, name))

    def function_names(self) -> list[str]:
        """The program's functions."""
        return list(_native.opd_vm_list_functions(self))

    def parameter_names(self, func_name: str) -> list[str]:
        """A function's parameters."""
        return list(_native.opd_vm_list_params(self, func_name))

    def call(
        self,
        func_name: str,
        *args: Any,
        timeout: float | None = None,
        cancel: Cancel | None = None,
        outputs: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Calls a function. `timeout` in seconds; `outputs`: tensors that get the results, in the order of the leaves.

        Without further wishes `vm[func_name](…)` is the shorter way, and the one that Ctrl-C ends.
        """
        all_args, options = _call_arguments(args, kwargs)
        if timeout is not None:
            options["timeout_ns"] = max(1, int(timeout * 1e9))
        options["cancel"] = cancel
        options["outputs"] = outputs
        return _native.opd_vm_call(self, func_name, all_args, options)

    def invoke_closure(self, closure: Function, *args: Any) -> Any:
        """Calls a closure that a function of the program returned."""
        return _native.opd_vm_invoke_closure(self, closure, args, None)

    def save_function(
        self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any
    ) -> None:
        """Saves a function with its arguments: `vm[saved_name]()` calls it without any.

        A saved name is overwritten, a function of the program never.
        """
        all_args, options = _call_arguments(args, kwargs)
        _native.opd_vm_save_function(self, func_name, saved_name, all_args, options, include_return)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keeps the arguments of a function for `invoke_stateful`."""
        all_args, options = _call_arguments(args, kwargs)
        _native.opd_vm_set_input(self, func_name, all_args, options)

    def set_input_with_param_module(self, func_name: str, *args: Any) -> None:
        """The same; the last argument is a module whose `get_params()` gives the further ones."""
        _native.opd_vm_set_input_with_param_module(self, func_name, args[:-1], args[-1])

    def invoke_stateful(self, func_name: str) -> None:
        """Runs a function on the inputs that were set."""
        _native.opd_vm_invoke_stateful(self, func_name, None)

    def get_outputs(self, func_name: str) -> Any:
        """The result of the last `invoke_stateful`; a tuple as nested tuples."""
        return _nested(_native.opd_vm_get_outputs(self, func_name, ()))

    def get_output_arity(self, func_name: str, *path: int) -> int:
        """Number of items of a tuple in the result, or -1 where there is none."""
        return int(_native.opd_vm_get_output_arity(self, func_name, path))

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Shows every call of the program: `instrument(func, func_symbol, before_run, ret_value, *args)`.

        Before a call it may answer `VMInstrumentReturnKind.SKIP_RUN`. None ends it.
        """
        _native.opd_vm_set_instrument(self, None if instrument is None else Function(instrument))

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str | Callable[..., Any] = "",
        *,
        limit_zero_time_iterations: int = 100,
        cache_flush_bytes: int = 0,
    ) -> Callable[..., BenchmarkResult]:
        """Makes a function that times a function of the VM.

        On a function with its arguments; on "invoke_stateful" with a function's name, after `set_input`; on a saved
        function without arguments.
        """
        stateful = func_name == "invoke_stateful" and not self.has_function(func_name)
        function = Function(self.invoke_stateful) if stateful else self.function(func_name)
        return evaluator(
            function,
            dev,
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
            cache_flush_bytes,
            f_preproc,
        )

    def profile(
        self,
        func_name: str,
        *args: Any,
        warmup: int = 1,
        repeat: int = 1,
        max_records: int = 1 << 20,
        collectors: Iterable[MetricCollector] | None = None,
        **kwargs: Any,
    ) -> Report:
        """Calls a function and measures every operator; after `set_input` without arguments.

        What `collectors` measure of each call makes further columns.
        """
        return self.profile_with_trace(
            func_name, *args, warmup=warmup, repeat=repeat, max_records=max_records, collectors=collectors, **kwargs
        )[0]

    def profile_with_trace(
        self,
        func_name: str,
        *args: Any,
        warmup: int = 1,
        repeat: int = 1,
        max_records: int = 1 << 20,
        collectors: Iterable[MetricCollector] | None = None,
        **kwargs: Any,
    ) -> tuple[Report, Trace]:
        """As `profile`; also the calls on a time line."""
        all_args, call_options = _call_arguments(args, kwargs)
        options = {
            "warmup": warmup,
            "repeat": repeat,
            "max_records": max_records,
            "collectors": handles_of(collectors),
        }
        report, trace = _native.opd_vm_profile(self, func_name, all_args, call_options, options)
        return report, trace

    def trim(self) -> None:
        """Gives memory that idle frames keep back."""
        _native.opd_vm_trim(self)

    def __repr__(self) -> str:
        return f"<VirtualMachine, functions: {self.function_names()}>"


class VMFunction(_native.VMFunctionBase):
    """A function of a VM: `vm["main"]`. Called by position and by parameters' names."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<VMFunction {self.name}({', '.join(self.vm.parameter_names(self.name))})>"


_watches_signals = False


def _watch_signals() -> None:
    """Makes Ctrl-C end calls: once, by the main thread, unless somebody else (an event loop) has the signals' file."""
    global _watches_signals
    if _watches_signals or threading.current_thread() is not threading.main_thread():
        return
    other = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(other if other != -1 else _native.watch_signals(), warn_on_full_buffer=False)
    _watches_signals = other == -1


def _after_fork() -> None:
    global _watches_signals
    if _watches_signals:  # the thread that reads is the parent's
        _watches_signals = False
        signal.set_wakeup_fd(-1)
        _watch_signals()


os.register_at_fork(after_in_child=_after_fork)


def _call_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not kwargs:
        return tuple(args), {}
    return (*args, *kwargs.values()), {"names": [None] * len(args) + list(kwargs)}


def _nested(value: Any) -> Any:
    from ._objects import Array

    return tuple(_nested(item) for item in value) if isinstance(value, Array) else value


for _name, _class in (("Executable", Executable), ("Cancel", Cancel), ("VirtualMachine", VirtualMachine)):
    _native.register_class(_name, _class)

__all__ = ["BenchmarkResult", "Cancel", "Code", "Error", "Executable", "VMInstrumentReturnKind", "VirtualMachine"]
