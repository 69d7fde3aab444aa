"""The VM, which binds programs compiled by TVM to devices and calls them. The names are those of tvm.runtime.vm.

    vm = VirtualMachine("model.so", opdyno.cpu())
    y = vm["main"](x)                                    # tensors, arrays of NumPy, whatever speaks DLPack
    print(vm.profile("main", x))                         # where the time went
    print(vm.time_evaluator("main", opdyno.cpu())(x))    # how long it takes
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _native
from ._benchmark import BenchmarkResult, evaluator
from ._collectors import MetricCollector, handles_of
from ._device import Device, device_of
from ._errors import Error
from ._function import Function, named
from ._module import Module, load_module, module_of
from ._objects import Array, brief
from ._report import Report, Trace
from ._time import limit_ns
from .profiling import Profiling, profile_options


class VMInstrumentReturnKind(enum.IntEnum):
    """The results of an instrument before a call; see `VirtualMachine.set_instrument`. Source: TVM's."""

    NO_OP = 0
    """The call runs. Any other result of the instrument has the same effect."""
    SKIP_RUN = 1
    """The call is skipped. Its result is None."""


class Executable(_native.Handle):
    """A verified VM program. `Executable(module)` gets the program of a module, `Executable.assemble(text)` makes a
    program from text.

    An executable is immutable. Any thread may use it. Source: TVM's VMExecutable.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, mod: Module) -> Executable:
        return _native.opd_executable_from_module(_program_of(module_of(mod)))

    @classmethod
    def load_bytes(cls, data: bytes) -> Executable:
        """Reads an executable's bytes and verifies it. If it is damaged, ValueError with the defect and the offset."""
        return _native.opd_executable_load_bytes(data)

    @classmethod
    def assemble(cls, text: str) -> Executable:
        """Assembles text in the form of `as_text()` (docs/assembly.md). For wrong text, ValueError with line and
        column."""
        return _native.opd_executable_assemble(text)

    def save_bytes(self) -> bytes:
        """Returns the program as bytes, in the format that TVM 0.23 and newer read."""
        return _native.opd_executable_save_bytes(self)

    def as_text(self) -> str:
        """Returns text that assembles to the same program."""
        return _native.opd_executable_write(self, _native.OPD_EXECUTABLE_ASSEMBLY)

    def as_python(self) -> str:
        """Returns a Python script that builds the program, including its constants, with TVM's relax.ExecBuilder."""
        return _native.opd_executable_write(self, _native.OPD_EXECUTABLE_PYTHON)

    def stats(self) -> str:
        """Returns statistics of the program in TVM's format."""
        return _native.opd_executable_write(self, _native.OPD_EXECUTABLE_STATS)

    def __reduce__(self) -> Any:
        return Executable.load_bytes, (self.save_bytes(),)

    def jit(self) -> Module:
        """Makes a module of the program for a VM. Its only kernels are those of the modules that it imports."""
        return _native.opd_executable_to_module(self)

    to_module = jit

    def describe(self) -> Any:
        """Describes functions, parameters and constants as dicts and lists."""
        return json.loads(_native.opd_executable_write(self, _native.OPD_EXECUTABLE_JSON))

    def __repr__(self) -> str:
        parts = self.describe()
        functions = [f"{one['name']}({', '.join(p['name'] for p in one['params'])})" for one in parts["functions"]]
        return f"<Executable at {self._address:#x}, functions: {brief(functions)}, {len(parts['constants'])} constants>"


class Cancel(_native.Handle):
    """A token that cancels calls: pass it as `vm.call(…, cancel=token)`, and call `token.cancel()` on any thread."""

    __slots__ = ("__weakref__",)

    def __new__(cls) -> Cancel:
        return _native.opd_cancel_token_create()

    def cancel(self) -> None:
        """Cancels all running and later calls with this token. A running call ends before its next operator. The calls
        raise an InterruptedError.

        A running kernel is not interrupted, but its parallel tasks that have not begun are skipped. The VM stays
        usable.
        """
        _native.opd_cancel_token_cancel(self)

    def reset(self) -> None:
        """Makes the token usable again."""
        _native.opd_cancel_token_reset(self)

    @property
    def current_operator(self) -> str | None:
        """The operator that a call with this token is running; None if there is none. Use it in messages about calls
        that hang."""
        name = _native.opd_cancel_token_current_operator(self)
        return None if name is None else str(name)


def _program_of(mod: Module) -> Module:
    """Finds the module with the program in a tree of modules."""
    if not isinstance(mod, Module):
        raise TypeError(f"a module is needed, not {type(mod).__name__}")
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
    if not isinstance(memory_cfg, str):
        memory_cfg = {device_of(dev): kind for dev, kind in memory_cfg.items()}
        for dev in memory_cfg.keys() - set(devices):
            raise ValueError(f"memory_cfg has {dev}, which is no device of the VM: {', '.join(map(str, devices))}")
    kinds = [memory_cfg if isinstance(memory_cfg, str) else memory_cfg.get(dev, "pooled") for dev in devices]
    for kind in kinds:
        if kind not in _ALLOCATORS:
            raise ValueError(f"memory_cfg must be 'naive' or 'pooled', not {kind!r}")
    return [_ALLOCATORS[kind] for kind in kinds]


class VirtualMachine(_native.CollectedHandle):
    """A program bound to devices: `VirtualMachine(module, opdyno.cpu())["main"](x)`.

    Arguments are those that a `Function` accepts. A `Tensor` on one of the VM's devices is used without a copy. A NumPy
    array or another buffer is copied at each call, and the program's writes to it are lost. To avoid the copy, use
    `opdyno.from_dlpack`, which makes a tensor that shares the elements of an array; the elements must begin at a
    multiple of 64 bytes. Results are new objects: tensors, numbers, and tuples as `Array`.

    Any number of threads may call it, and other Python threads run meanwhile. Only one thread at a time may use
    `set_input`, `invoke_stateful` and `get_outputs` of one function. A VM works after a fork. Signal handlers run
    during calls of the main thread. If a handler raises, as for Ctrl-C (KeyboardInterrupt), the call ends before its
    next operator; if it returns, the call continues. If arguments do not fit, an `Error` names the parameter, the
    expected and the given value. Source: TVM's relax.VirtualMachine.
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
        """Binds a program to devices.

        `rt_mod`: a module, an executable, or the path of one. `device`: one or several devices, which the program names
        by their index; constants lie on the first. Default: cpu:0. If the CPU is not among them, it is added at the
        end. `memory_cfg`: "pooled" (blocks are kept for the next request) or "naive", for all devices or by device.
        `profile` is accepted for compatibility with TVM: every VM can profile. `memory_limit_bytes`: limit of live
        memory; 0: the machine's memory. `max_depth`: limit of nested calls in the program. An `Error` names missing
        functions, or an absent device.
        """
        if isinstance(rt_mod, (str, os.PathLike)):
            rt_mod = load_module(rt_mod)
        module = rt_mod.jit() if isinstance(rt_mod, Executable) else module_of(rt_mod)
        given = device if isinstance(device, (list, tuple)) else [Device(1, 0) if device is None else device]
        devices = [device_of(one) for one in given]
        options = {
            "devices": devices,
            "allocators": _allocators(devices, memory_cfg),
            "memory_limit_bytes": memory_limit_bytes,
            "max_depth": max_depth,
        }
        made = _native.opd_vm_create(_program_of(module), options)
        _watch_signals()
        return made

    def __getitem__(self, name: str) -> VMFunction:
        """Returns a function of the program, or a saved function: `vm["main"](x)` or, with named arguments,
        `vm["main"](x=x)`.

        If there is none, `Error` (code NOT_FOUND) that lists similar names.
        """
        return VMFunction(self, name)

    def function(self, name: str) -> Function:
        """Returns a function that needs no further look-up, for the fastest calls. It takes only positional
        arguments."""
        return named(_native.owned_by(_native.opd_vm_get_function(self, name), self), name)

    def has_function(self, name: str) -> bool:
        """Whether the program has a function of this name, or a function was saved under this name."""
        return bool(_native.opd_vm_has_function(self, name))

    def function_names(self) -> list[str]:
        """The names of the program's functions."""
        return list(_native.opd_vm_list_functions(self))

    def parameter_names(self, func_name: str) -> list[str]:
        """The names of a function's parameters. `Error` (code NOT_FOUND) if there is no such function."""
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
        """Calls a function like `vm[func_name](…)`, with options.

        `timeout`: limit in seconds. After it, the call ends before its next operator with a TimeoutError (code
        DEADLINE_EXCEEDED). `cancel`: a token that ends the call with an InterruptedError (code CANCELLED). `outputs`:
        tensors into which the results are copied, in the order of the tuple's leaves.
        """
        all_args, options = _call_arguments(args, kwargs)
        if timeout is not None:
            options["timeout_ns"] = limit_ns("timeout", timeout)
        options["cancel"] = cancel
        options["outputs"] = outputs
        return self._result(_native.opd_vm_call(self, func_name, all_args, options))

    def invoke_closure(self, closure: Function, *args: Any) -> Any:
        """Calls a closure that a function of the program returned, or any packed function, and returns its result.

        Profiles and the instrument see this call, unlike a plain call `closure(…)`. Source: TVM's invoke_closure.
        """
        return self._result(_native.opd_vm_invoke_closure(self, closure, args, None))

    def _result(self, value: Any) -> Any:
        return _native.owned_by(value, self) if isinstance(value, Function) else value  # a closure keeps the VM

    def save_function(
        self, func_name: str, saved_name: str, *args: Any, include_return: bool = True, **kwargs: Any
    ) -> None:
        """Saves a function with its arguments: `vm[saved_name]()` then calls it without arguments.

        An existing saved name is replaced. `Error` (code ALREADY_EXISTS) for the name of a function of the program.
        With `include_return=False`, the calls return None. Source: TVM's save_function.
        """
        all_args, options = _call_arguments(args, kwargs)
        _native.opd_vm_save_function(self, func_name, saved_name, all_args, options, include_return)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Stores the arguments of a function for `invoke_stateful`. As in a call, arrays are copied, and tensors are
        not.

        From then on, a plain call of the function without arguments is a RuntimeError (code FAILED_PRECONDITION).
        Source: TVM's set_input.
        """
        all_args, options = _call_arguments(args, kwargs)
        _native.opd_vm_set_input(self, func_name, all_args, options)

    def set_input_with_param_module(self, func_name: str, *args: Any) -> None:
        """Like `set_input`. The last argument is a module whose function `get_params` returns the further arguments."""
        _native.opd_vm_set_input(self, func_name, args[:-1], {"param_module": args[-1]})

    def invoke_stateful(self, func_name: str) -> None:
        """Runs a function on its stored inputs and stores the result. `Error` if no inputs were set, even for a
        function without parameters."""
        _native.opd_vm_invoke_stateful(self, func_name, None)

    def get_outputs(self, func_name: str) -> Any:
        """Returns the result of the last `invoke_stateful`; a tuple is returned as nested tuples. `Error` if it did not
        run yet."""
        return _nested(_native.opd_vm_get_outputs(self, func_name, ()))

    def get_output_arity(self, func_name: str, *path: int) -> int:
        """Returns the number of items in the result, or -1 if it is not a tuple. `path` selects an item of the result
        by its indices in nested tuples."""
        return _native.opd_vm_get_output_arity(self, func_name, path)

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Sets a function that is called before and after every call that the program makes; None removes it.

        `instrument(func, func_symbol, before_run, ret_value, *args)` gets the called function and its name, whether
        this is before the call, the result (None before the call), and the arguments. Before a call, it may return a
        `VMInstrumentReturnKind`. It runs on the thread of the call. If it raises an exception, the call ends. It does
        not see calls that it makes itself. Source: TVM's set_instrument.
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
        warmup: int = 1,
        steady_ms: int = 0,
        concurrency: int = 1,
    ) -> Callable[..., BenchmarkResult]:
        """Makes a function that times a function of the VM. Parameters and result are those of `Module.time_evaluator`.

        It can time a function, with its arguments; "invoke_stateful", with a function's name, after `set_input`; or a
        function that `save_function` made, without arguments.
        """
        stateful = func_name == "invoke_stateful" and not self.has_function(func_name)
        if stateful and concurrency != 1:
            raise ValueError("stateful calls are made by one thread at a time; concurrency must be 1")
        measure = evaluator(
            Function(self.invoke_stateful) if stateful else self.function(func_name),
            dev,
            f_preproc,
            number=number,
            repeat=repeat,
            min_repeat_ms=min_repeat_ms,
            limit_zero_time_iterations=limit_zero_time_iterations,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
            cache_flush_bytes=cache_flush_bytes,
            warmup=warmup,
            steady_ms=steady_ms,
            concurrency=concurrency,
        )
        return _native.owned_by(measure, self)

    def profile(self, func_name: str, *args: Any, **options: Any) -> Report:
        """Calls a function and measures every operator. After `set_input`, it takes no arguments.

        Keywords that are options: `warmup` (1), number of calls before the measured calls; `repeat` (1), number of
        measured calls; `max_records` (2**20), limit of operator calls of a thread; later ones are counted and dropped;
        `builtins`, the calls that have rows in addition to kernels and functions of the program: "with_tensors" (TVM's
        choice), "all", or "folded" into one row; `details` (False), whether there are columns for the time, thread and
        call path of each call; `collectors`, whose metrics of each call become further columns; `turn` (0, none), from
        1: `profiling.diff` compares the run with the run of the same turn on the other side; `budget_s` (0, exactly
        `repeat` calls), time limit in seconds for further calls, which are made until the slowest operator and its
        share are stable. All other keywords are the
        function's parameters. With the rows "(dispatch)" and "(profiler)", the outermost rows add up to the total.
        Source: TVM 0.23's profile.
        """
        return self.profile_with_trace(func_name, *args, **options)[0]

    def profile_with_trace(
        self,
        func_name: str,
        *args: Any,
        warmup: int = 1,
        repeat: int = 1,
        max_records: int = 1 << 20,
        builtins: str = "with_tensors",
        details: bool = False,
        collectors: Iterable[MetricCollector] | None = None,
        turn: int = 0,
        budget_s: float = 0,
        **kwargs: Any,
    ) -> tuple[Report, Trace]:
        """Like `profile`, but also returns a trace of the calls."""
        all_args, call_options = _call_arguments(args, kwargs)
        options: dict[str, Any] = {"warmup": warmup, "repeat": repeat, "turn": turn, "budget_s": budget_s}
        options |= profile_options(max_records, builtins, details)
        return _native.opd_vm_profile(
            self, func_name, all_args, call_options, options | {"collectors": handles_of(collectors)}
        )

    def profiling(
        self,
        *,
        max_records: int = 1 << 20,
        builtins: str = "with_tensors",
        details: bool = False,
        sample_interval: int = 1,
        collectors: Iterable[MetricCollector] | None = None,
    ) -> Profiling:
        """Measures all calls of the VM in a block: `with vm.profiling() as run: …`, then `run.report`.

        Every call of the VM in the block, on any thread, is a run of the report; with `sample_interval`, one call in
        this number of calls. The end of the block waits for the calls that are being recorded. The options are those of
        `profile`. Each collector is started and stopped on the thread of the call, by several threads at once, but not
        for calls that are not sampled.
        """
        options = profile_options(max_records, builtins, details) | {"sample_interval": sample_interval}
        return Profiling(self, options, list(collectors or ()))

    @contextlib.contextmanager
    def recording_call(
        self,
        path: str | os.PathLike[str],
        *,
        with_program: bool = True,
        with_outputs: bool = False,
        with_operators: bool = False,
        with_paths: bool = False,
    ) -> Iterator[None]:
        """Records a call in a file, for `opdyno.replay`: `with vm.recording_call("call.opdrec"): vm["main"](x)`.

        It records the next call of the VM, on any thread. If no call was made, or if the call could not be recorded,
        the end of the block raises an Error. `with_program`: keeps the bytes of program and kernels, not only their
        hashes. `with_outputs`: keeps the elements of the result. `with_operators`: keeps a hash of each operator's
        results. `with_paths`: keeps paths and the machine's name.
        """
        options = {"with_program": int(with_program), "with_outputs": int(with_outputs),
                   "with_operators": int(with_operators), "with_paths": int(with_paths)}
        _native.opd_vm_record_next_call(self, os.fspath(path), options)
        try:
            yield
        except BaseException:
            with contextlib.suppress(Error):  # the exception of the call is more useful
                _native.opd_vm_record_next_call(self, None, None)
            raise
        _native.opd_vm_record_next_call(self, None, None)

    def trim(self) -> None:
        """Returns memory to the system: what the VM keeps for its next calls, and what the pools of its devices keep."""
        _native.opd_vm_trim(self)

    def __repr__(self) -> str:
        try:
            names = brief(self.function_names())
        except Error:  # the VM is on another machine, which does not tell this or is not reachable
            names = "not known"
        return f"<VirtualMachine at {self._address:#x}, functions: {names}>"


class VMFunction(_native.VMFunctionBase):
    """A function of a VM, `vm["main"]`. Arguments can be positional or named.

    It keeps the VM alive. Any thread may call it.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<VMFunction {self.name}({', '.join(self.vm.parameter_names(self.name))})>"


_watches_signals = False


def _watch_signals() -> None:
    """Makes signal handlers run during calls. The main thread does this once, unless other code (an event loop) uses
    the wake-up file descriptor of signals."""
    global _watches_signals
    if _watches_signals or threading.current_thread() is not threading.main_thread():
        return
    other = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(other if other != -1 else _native.watch_signals(), warn_on_full_buffer=False)
    _watches_signals = other == -1


def _after_fork() -> None:
    global _watches_signals
    if _watches_signals:  # a child process lacks the thread that reads the file
        _watches_signals = False
        signal.set_wakeup_fd(-1)
        _watch_signals()


os.register_at_fork(after_in_child=_after_fork)


def _call_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not kwargs:
        return tuple(args), {}
    return (*args, *kwargs.values()), {"names": [None] * len(args) + list(kwargs)}


def _nested(value: Any) -> Any:
    return tuple(_nested(item) for item in value) if isinstance(value, Array) else value


for _name, _class in (("Executable", Executable), ("Cancel", Cancel), ("VirtualMachine", VirtualMachine)):
    _native.register_class(_name, _class)

__all__ = ["BenchmarkResult", "Cancel", "Executable", "VMFunction", "VMInstrumentReturnKind", "VirtualMachine"]
