"""Restores what TVM removed in its release 0.24, in TVM's own classes."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from .. import profiling
from .._device import device_of
from .._errors import Code
from ..profiling import Report
from ..vm import VirtualMachine
from ._programs import load, lock, stamp_of
from ._values import error, find_tvm, values_from_tvm

_MISSING = object()
_undo: list[Callable[[], None]] = []


def install() -> None:
    """Restores TVM's profiler: `tvm.relax.VirtualMachine(…, profile=True)`, `vm.profile(func_name, *args)` with an
    `opdyno.profiling.Report`, and the module `tvm.runtime.profiling`.

    The VM runs as before. Only `profile()` runs the same program in opdyno; its first call, or the constructor with
    `profile=True`, loads the program (`load`). All VMs that are made after this call can profile. Files that
    `tvm.runtime.load_module` loads from now on can be profiled, too. A second call does nothing.
    """
    tvm = find_tvm()
    with lock:
        if _undo:
            return
        runtime = tvm.runtime
        machine = importlib.import_module("tvm.runtime.vm").VirtualMachine
        for owner in (runtime, importlib.import_module("tvm.runtime.module")):
            _set(owner, "load_module", _remembering(owner.load_module))
        _set(machine, "__init__", _profiling_init(machine.__init__))
        _set(machine, "set_input", _remembering_set_input(machine.set_input))
        _set(machine, "profile", _profile)
        _set(runtime, "profiling", profiling)
        _set(runtime, "Report", Report)
        sys.modules["tvm.runtime.profiling"] = profiling
        _undo.append(lambda: sys.modules.__delitem__("tvm.runtime.profiling"))


def uninstall() -> None:
    """Reverts `install()`. A second call does nothing."""
    with lock:
        while _undo:
            _undo.pop()()


def _set(owner: Any, name: str, value: Any) -> None:
    before = vars(owner).get(name, _MISSING)
    setattr(owner, name, value)
    _undo.append(lambda: delattr(owner, name) if before is _MISSING else setattr(owner, name, before))


_ALLOCATORS: dict[Any, str] = {VirtualMachine.NAIVE_ALLOCATOR: "naive", VirtualMachine.POOLED_ALLOCATOR: "pooled"}


class _Twin:
    """Finds or loads the program of a TVM VM in opdyno."""

    def __init__(self, program: Any, device: Any, memory_cfg: Any) -> None:
        self._made_of = program, device, memory_cfg
        self._vm: VirtualMachine | None = None
        self.inputs: dict[str, list[Any]] = {}

    def vm(self) -> VirtualMachine:
        with lock:
            if self._vm is None:
                program, device, memory = self._made_of
                devices = [device_of(one) for one in (device if isinstance(device, (list, tuple)) else [device])]
                if isinstance(memory, dict):  # contrary to its documentation, TVM accepts only numbers as values
                    memory = {device_of(one): _ALLOCATORS.get(kind, str(kind)) for one, kind in memory.items()}
                self._vm = VirtualMachine(load(program), devices, memory)
            return self._vm


def _profiling_init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def init(self: Any, rt_mod: Any, device: Any, memory_cfg: Any = None, profile: bool = False) -> None:
        original(self, rt_mod, device, memory_cfg)
        self._opdyno = _Twin(rt_mod, device, memory_cfg)
        if profile:
            self._opdyno.vm()

    del init.__wrapped__  # help() should show the signature of this function
    return init


def _remembering_set_input(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def set_input(self: Any, func_name: str, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            args = self._convert_func_named_args(func_name, args, **kwargs)
        converted: list[Any] = []
        for arg in args:
            self._convert(arg, converted)
        original(self, func_name, *converted)
        if hasattr(self, "_opdyno"):
            self._opdyno.inputs[func_name] = converted

    return set_input


def _remembering(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_module(path: Any, *args: Any, **kwargs: Any) -> Any:
        module = original(path, *args, **kwargs)
        if os.fspath(path).endswith((".so", ".dso")):
            path = os.path.abspath(path)
            module._opdyno_file = path, stamp_of(path)
        return module

    return load_module


def _profile(self: Any, func_name: str, *args: Any) -> Report:
    """Calls a function twice, first as a warm-up, and measures every operator of the second call.

    `args`: as for `set_input`; empty after `set_input`. Returns an `opdyno.profiling.Report`.
    """
    twin: _Twin | None = getattr(self, "_opdyno", None)
    if twin is None:
        raise error(Code.FAILED_PRECONDITION, "RuntimeError", "this VM was made before opdyno.tvm.install()")
    if args and func_name in twin.inputs:
        raise error(Code.INVALID_ARGUMENT, "ValueError", f"the inputs of {func_name} were given by set_input already")
    converted: list[Any] = []
    for arg in args:
        self._convert(arg, converted)
    tvm = find_tvm()
    return twin.vm().profile(func_name, *values_from_tvm(tvm, converted or twin.inputs.get(func_name, [])))
