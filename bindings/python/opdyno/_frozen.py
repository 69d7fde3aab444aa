"""Base classes of immutable values. The module dataclasses is not used, because its import takes longer than that of
all of opdyno."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, dataclass_transform


class Frozen:
    """An immutable value. It is compared, hashed, shown and pickled by its class and its fields. The fields are the
    `__slots__`, in the order of the parameters."""

    __slots__: Collection[str] = ()

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


@dataclass_transform(kw_only_default=True, frozen_default=True)  # tells type checkers that fields cannot be set
class Record(Frozen):
    """A result with the fields of a struct of the C API. `_asdict()` returns them as a dict, as for a namedtuple."""

    __slots__ = ()

    def _asdict(self) -> dict[str, Any]:
        """The fields by their names, in the order of the C struct."""
        return dict(zip(type(self).__slots__, self._fields()))

    def __reduce__(self) -> Any:  # pickles fields by name, because a later version may have more
        return partial(type(self), **self._asdict()), ()
