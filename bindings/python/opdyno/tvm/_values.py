"""Conversion of TVM's values to values of opdyno and back."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from typing import Any

from .. import _native
from .._device import Device, device_of
from .._errors import Code, Error, make
from .._function import Function
from .._objects import Array, Map
from .._tensor import Tensor, from_dlpack
from .._types import DataType, Shape

_RELEASES = ((0, 25), (0, 27))


def error(code: Code, kind: str, text: str) -> Error:
    return make(code, kind, text)


def find_tvm() -> Any:
    """Imports and returns the package tvm. ImportError if its release is not known."""
    try:
        tvm = importlib.import_module("tvm")
    except ModuleNotFoundError as missing:
        if missing.name != "tvm":
            raise
        text = "opdyno.tvm needs Apache TVM, which is not installed: pip install 'apache-tvm>=0.25,<0.28'"
        raise error(Code.NOT_FOUND, "ImportError", text) from None
    version = str(getattr(tvm, "__version__", "unknown"))
    release = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if not _RELEASES[0] <= release <= _RELEASES[1]:
        text = f"opdyno.tvm works with TVM 0.25 to 0.27; installed is {version}"
        raise error(Code.UNSUPPORTED, "ImportError", text)
    return tvm


def to_tvm(value: Any) -> Any:
    """Converts a value of opdyno to a value of TVM: tensors by DLPack, functions, shapes, dtypes, devices.

    TVM needs elements that begin at a multiple of 64 bytes. A tensor is copied only if its elements do not.

    Tuples, arrays and lists become tuples, and maps become dicts, even if they are nested. A value of another package is
    returned unchanged. TypeError for objects without a counterpart in TVM, such as a VM.
    """
    return value_to_tvm(find_tvm(), value)


def value_to_tvm(tvm: Any, value: Any) -> Any:
    ffi = sys.modules["tvm_ffi"]
    if isinstance(value, Tensor):  # TVM's kernels access 64 bytes at once
        return tvm.runtime.from_dlpack(value.copyto(value.device) if _is_unaligned(value) else value)
    if isinstance(value, Shape):
        return ffi.Shape(tuple(value))
    if isinstance(value, DataType):
        return ffi.dtype(str(value))
    if isinstance(value, Device):
        return tvm.runtime.device(value.type, value.index)
    if isinstance(value, Array) or type(value) in (tuple, list):
        return tuple(value_to_tvm(tvm, item) for item in value)
    if isinstance(value, Map) or type(value) is dict:
        return {value_to_tvm(tvm, key): value_to_tvm(tvm, item) for key, item in value.items()}
    if isinstance(value, Function):
        return ffi.convert(lambda *args: value_to_tvm(tvm, value(*values_from_tvm(tvm, args))))
    if isinstance(value, _native.Handle):
        raise error(Code.INVALID_ARGUMENT, "TypeError", f"TVM has no counterpart for a {type(value).__name__} of opdyno")
    return value


def from_tvm(value: Any) -> Any:
    """Converts a value of TVM to a value of opdyno. This is the inverse of `to_tvm`.

    Arguments of opdyno's functions need this conversion only for TVM's arrays, maps, shapes and dtypes; TVM's tensors
    can be passed directly. TypeError for objects without a counterpart in opdyno, such as a module.
    """
    return value_from_tvm(find_tvm(), value)


def value_from_tvm(tvm: Any, value: Any) -> Any:
    ffi = sys.modules["tvm_ffi"]
    if isinstance(value, tvm.runtime.Tensor):
        return from_dlpack(value)
    if isinstance(value, ffi.Shape):
        return Shape(value)
    if isinstance(value, ffi.dtype):
        return DataType(str(value))
    if isinstance(value, ffi.Device):
        return device_of(value)
    if isinstance(value, ffi.Array) or type(value) in (tuple, list):
        return tuple(value_from_tvm(tvm, item) for item in value)
    if isinstance(value, ffi.Map) or type(value) is dict:
        return {value_from_tvm(tvm, key): value_from_tvm(tvm, item) for key, item in value.items()}
    if isinstance(value, ffi.Function):
        return function_of(tvm, value)
    if isinstance(value, ffi.core.CObject) and not isinstance(value, (str, bytes)):
        raise error(Code.INVALID_ARGUMENT, "TypeError", f"opdyno has no counterpart for TVM's {type(value).__name__}")
    return value


def values_from_tvm(tvm: Any, values: Iterable[Any]) -> list[Any]:
    return [value_from_tvm(tvm, value) for value in values]


def function_of(tvm: Any, function: Any) -> Function:
    """Converts a TVM function to an opdyno function. The function's exceptions stay unchanged, and its writes reach the
    arguments."""

    def call(*args: Any) -> Any:
        given = [value_to_tvm(tvm, arg) for arg in args]
        result = value_from_tvm(tvm, function(*given))
        for arg, passed in zip(args, given):
            _copy_back(arg, passed)
        return result

    return Function(call)


def _is_unaligned(tensor: Tensor) -> bool:
    return tensor.size != 0 and tensor._data % 64 != 0


def _copy_back(arg: Any, passed: Any) -> None:
    """Copies the elements that a TVM function wrote from the copies of unaligned tensors back to the tensors."""
    if isinstance(arg, Tensor):
        if _is_unaligned(arg) and not arg.is_read_only:
            arg.copyfrom(from_dlpack(passed))
    elif isinstance(arg, Array):
        for item, copy in zip(arg, passed):
            _copy_back(item, copy)
