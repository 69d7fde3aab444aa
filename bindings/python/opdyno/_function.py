"""Packed functions, which take any number of values and return one, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from . import _native
from ._errors import Code, Error
from ._objects import Object


class Function(_native.FunctionBase):
    """A packed function, which takes any number of values and returns one. `Function(callable)` makes one from a Python
    callable.

    It is called with positional arguments only: `function(x, 2, "text")`. Arguments may be None, numbers, text, bytes,
    dtypes, devices, shapes, tensors, arrays of other libraries, buffers, lists, tuples, dicts, callables and objects.
    Any other argument is a TypeError that names it. Arrays and buffers are not copied, so the function can write into
    them. A compiled function refuses read-only ones (see `reads_only`). The result is a number as int, float or bool,
    text as str, a tuple as `Array`, or an instance of an object's class.

    Many threads may call it at once if the wrapped code allows that. Other Python threads run during native code. A
    native error is raised as an `Error` that is also the Python exception of its kind. An exception of a Python
    callable passes through native frames unchanged, with its traceback. The function keeps its origin alive. Source:
    TVM's PackedFunc, tvm-ffi's Function.
    """

    __slots__ = ("__name__", "__weakref__")
    __name__: str  # set if the name is known
    same_as = Object.same_as

    def __new__(cls, callable: Callable[..., Any]) -> Function:
        """Makes a function from a callable, and keeps the callable alive. A Function is returned unchanged."""
        made = _native.function_from(callable)
        return named(made, callable.__name__) if hasattr(callable, "__name__") else made

    @staticmethod
    def from_pointer(pointer: int, signature: str, name: str | None = None, keep_alive: Any = None) -> Function:
        """Makes a packed function from the address of a C function: `from_pointer(address, "f64(f64, ptr)")`.

        `Module.native_function` describes signatures. The signature is not checked against the C function. The C
        function must outlive the result, unless `keep_alive` keeps it loaded, which is an object of opdyno such as its
        module.
        """
        made = _native.opd_function_create_native(pointer, signature, name, keep_alive)
        return made if name is None else named(made, name)

    def __repr__(self) -> str:
        name = f" {self.__name__}" if hasattr(self, "__name__") else ""
        return f"<Function{name} at {self._address:#x}>"


PackedFunc = Function


def named(function: Function, name: str) -> Function:
    """Stores the name by which a function was found, for its repr."""
    function.__name__ = name
    return function


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
    """Registers a function under a name, by which all programs and native code of the process can call it.

    Call it as `register_func("my.add", add)`, or use it as a decorator: `@register_func("my.add")`; `@register_func`
    alone uses the function's own name. Returns `f`. The function is kept until it is replaced or removed, and runs on
    the thread of the caller. ValueError (code ALREADY_EXISTS) if the name is taken, unless `override` is true. Source:
    TVM's register_func.
    """
    if callable(name):
        f, name = name, name.__name__

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _native.opd_function_register(name, _native.function_from(function), override)
        return function

    return register(f) if f is not None else register


register_global_func = register_func


@overload
def get_global_func(name: str, allow_missing: Literal[False] = False) -> Function: ...
@overload
def get_global_func(name: str, allow_missing: bool) -> Function | None: ...
def get_global_func(name: str, allow_missing: bool = False) -> Function | None:
    """Returns a registered function.

    If there is none of that name, raises a ValueError (code NOT_FOUND) that lists similar names, or returns None if
    `allow_missing` is true. Source: TVM's get_global_func.
    """
    try:
        return named(_native.opd_function_get_global(name), name)
    except Error as error:
        if allow_missing and error.code == Code.NOT_FOUND:
            return None
        raise


def list_global_func_names() -> list[str]:
    """The sorted names of all registered functions, which are opdyno's own and those of the program."""
    return list(_native.opd_function_list_global())


def remove_global_func(name: str) -> None:
    """Removes a registered function. Programs that have looked it up keep it. ValueError (code NOT_FOUND) if there is
    none."""
    _native.opd_function_remove_global(name)


_native.register_class("Function", Function)
