"""Plain values, without the standard library's dataclasses, which take longer to import than all of opdyno."""

from __future__ import annotations

from typing import Any


class Frozen:
    """Immutable; equal, hashed, shown and pickled by class and fields: the `__slots__`, in the order of the parameters."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *fields: Any) -> None:
        for name, value in zip(type(self).__slots__, fields, strict=True):
            object.__setattr__(self, name, value)

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in type(self).__slots__)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self._fields()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(type(self).__slots__, self._fields()))
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> Any:
        return type(self), self._fields()
