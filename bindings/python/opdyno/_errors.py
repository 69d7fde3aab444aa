"""Errors. Each exception of opdyno is an `Error`, and also the Python exception of its kind."""

import builtins
import enum
from typing import Any


class Code(enum.IntEnum):
    """The codes by which programs tell errors apart. An unknown number becomes INTERNAL. Source: opd_code in
    opdyno/base.h."""

    INVALID_ARGUMENT = 1
    NOT_FOUND = 2
    ALREADY_EXISTS = 3
    OUT_OF_RANGE = 4
    BAD_FORMAT = 5
    UNSUPPORTED = 6
    OUT_OF_MEMORY = 7
    CANCELLED = 8
    DEADLINE_EXCEEDED = 9
    FAILED_PRECONDITION = 10
    IO = 11
    CALL_FAILED = 12
    INTERNAL = 13


class Error(Exception):
    """Base of all errors that native code raises. Each error is also the Python exception of its kind.

    So `except ValueError` catches errors of that kind, and `except opdyno.Error` catches all. An error of a kind that
    Python lacks is a RuntimeError. Exceptions of Python callables pass through native code unchanged. Errors can be
    pickled.
    """

    _facts: "tuple[int, str, str | None, str | None]" = (Code.INTERNAL, "RuntimeError", None, None)  # by native code

    @property
    def code(self) -> Code:
        """The code, by which programs tell errors apart."""
        return Code(self._facts[0]) if self._facts[0] in Code._value2member_map_ else Code.INTERNAL

    @property
    def kind(self) -> str:
        """The name of the error's kind, such as "ValueError"."""
        return self._facts[1]

    @property
    def native_cause(self) -> "str | None":
        """The message of the error that caused this one."""
        return self._facts[2]

    @property
    def native_backtrace(self) -> str:
        """The native frames at the place where the error was made, if OPDYNO_BACKTRACE is set."""
        return self._facts[3] or ""

    def __reduce__(self) -> "tuple[Any, ...]":
        return _remake, (self._facts[1], self.args), self.__dict__


_classes: dict[str, type[Error]] = {}


def class_of(kind: str) -> type[Error]:
    """Returns the class for a kind, derived from `Error` and from Python's exception of that name. Native code calls
    this."""
    found = _classes.get(kind)
    if found is None:
        base = getattr(builtins, kind, RuntimeError)
        if not (isinstance(base, type) and issubclass(base, Exception)):
            base = RuntimeError
        try:
            found = type(kind, (Error, base), {"__module__": "opdyno", "__doc__": f"A {kind} of opdyno."})
        except TypeError:  # the layouts of the two classes conflict
            found = type(kind, (Error, RuntimeError), {"__module__": "opdyno"})
        _classes[kind] = found
    return found


def make(code: Code, kind: str, message: str) -> Error:
    """Makes an error of the Python package."""
    error = class_of(kind)(message)
    error._facts = (code, kind, None, None)
    return error


def _remake(kind: str, args: "tuple[Any, ...]") -> Error:
    return class_of(kind)(*args)
