"""Errors: what opdyno raises is an `Error`, and at once the Python exception of its kind."""

import builtins
import enum


class Code(enum.IntEnum):
    """What went wrong, for programs. An unknown number becomes INTERNAL. Source: opd_code in opdyno/base.h."""

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
    """Base of all errors that native code raises. Each is at once the Python exception of its kind.

    So `except ValueError` catches one of that kind, and `except opdyno.Error` all. Kinds that Python does not have are
    RuntimeErrors. Exceptions of Python callables that pass native code are not changed.

    `code`: a `Code`; `kind`: the name of the exception; `native_cause`: the message of the error behind it, or None;
    `native_backtrace`: the native frames where it was made, if the environment variable OPDYNO_BACKTRACE asks for them.
    """

    code: Code = Code.INTERNAL
    kind: str = "RuntimeError"
    native_cause: "str | None" = None
    native_backtrace: str = ""


_classes: dict[str, type[Error]] = {}


def _class_of(kind: str) -> type[Error]:
    """The class for a kind: derived from `Error` and from Python's exception of that name."""
    found = _classes.get(kind)
    if found is None:
        base = getattr(builtins, kind, RuntimeError)
        if not (isinstance(base, type) and issubclass(base, Exception)):
            base = RuntimeError
        try:
            found = type(kind, (Error, base), {"__module__": "opdyno", "__doc__": f"A {kind} of opdyno."})
        except TypeError:  # layouts of the two do not go together
            found = type(kind, (Error, RuntimeError), {"__module__": "opdyno"})
        _classes[kind] = found
    return found


def make(code: int, kind: str, message: str, cause: "str | None", backtrace: "str | None") -> Error:
    """Makes the exception for a native error; called by the native part."""
    error = _class_of(kind)(message)
    error.code = Code(code) if code in Code._value2member_map_ else Code.INTERNAL
    error.kind = kind
    error.native_cause = cause
    error.native_backtrace = backtrace or ""
    return error
