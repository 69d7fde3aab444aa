"""Packed functions: any number of values in, one out; and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from . import _native
from ._errors import Code, Error
from ._objects import Object


class Function(_native.FunctionBase):
    """A packed function.

    It takes numbers, text, bytes, tensors, arrays of other libraries (without a copy), lists, dicts, callables and
    objects. Other Python threads run meanwhile. `Function(callable)` makes one of a Python callable.
    """

    __slots__ = ("__weakref__",)
    same_as = Object.same_as

    def __new__(cls, callable: Callable[..., Any]) -> Function:
        made: Function = _native.function_from(callable)
        return made

    def __repr__(self) -> str:
        return f"<Function at {self._address:#x}>"


PackedFunc = Function


_Callable = TypeVar("_Callable", bound=Callable[..., Any])


@overload
def register_func(name: _Callable, f: None = None, override: bool = False) -> _Callable: ...
@overload
def register_func(name: str, f: _Callable, override: bool = False) -> _Callable: ...
@overload
def register_func(name: str, f: None = None, override: bool = False) -> Callable[[_Callable], _Callable]: ...
def register_func(
    name: str | Callable[..., Any], f: Callable[..., Any] | None = None, override: bool = False
) -> Any:
    """Registers a function under a name that compiled code can call it by; also as a decorator.

    Raises an error if the name is taken, unless `override`.
    """
    if callable(name):
        f, name = name, name.__name__

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _native.opd_function_register(name, _native.function_from(function), override)
        return function

    return register(f) if f is not None else register


register_global_func = register_func


def get_global_func(name: str, allow_missing: bool = False) -> Function | None:
    """Gives a registered function; without one an error that names close ones, or None if `allow_missing`."""
    try:
        found: Function = _native.opd_function_get_global(name)
        return found
    except Error as error:
        if allow_missing and error.code == Code.NOT_FOUND:
            return None
        raise


def list_global_func_names() -> list[str]:
    """The names of all registered functions, sorted."""
    return list(_native.opd_function_list_global())


def remove_global_func(name: str) -> None:
    """Removes a registered function; programs that hold it keep it."""
    _native.opd_function_remove_global(name)


_native.register_class("Function", Function)
