"""Structural equality of values, and paths to the place where two values differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import _native
from ._device import Device
from ._frozen import Frozen
from ._objects import Array, Map, ObjectGeneric
from ._tensor import Tensor
from ._types import DataType, Shape


class ObjectPath(Frozen):
    """A path from a root object to a part of it: `ObjectPath.root().attr("shape").array_index(0)`.

    Immutable; compared and hashed by its steps. `str(path)` is like `<root>.shape[0]`. Source: TVM's ObjectPath.

    `kind` is the kind of the last step: "root", "attribute", "unknown_attribute", "array_index",
    "missing_array_element", "map_value" or "missing_map_entry". `key` is the step's name, index or key. `parent` is the
    path without the step.
    """

    __slots__ = ("kind", "key", "parent")
    kind: str
    key: Any
    parent: ObjectPath | None

    def __init__(self, kind: str, key: Any = None, parent: ObjectPath | None = None) -> None:
        super().__init__(kind, key, parent)

    @classmethod
    def root(cls, name: str | None = None) -> ObjectPath:
        """The path to the root itself. `name` replaces `<root>` in its text."""
        return cls("root", name)

    def attr(self, name: str | None) -> ObjectPath:
        """The path to an attribute; None: its name is not known."""
        return ObjectPath("unknown_attribute" if name is None else "attribute", name, self)

    def array_index(self, index: int) -> ObjectPath:
        """The path to an item of an array."""
        return ObjectPath("array_index", index, self)

    def missing_array_element(self, index: int) -> ObjectPath:
        """The path to an item that is missing in this array, but not in the other one."""
        return ObjectPath("missing_array_element", index, self)

    def map_value(self, key: Any) -> ObjectPath:
        """The path to the value of a key of a map."""
        return ObjectPath("map_value", key, self)

    def missing_map_entry(self) -> ObjectPath:
        """The path to an entry that is missing in this map, but not in the other one."""
        return ObjectPath("missing_map_entry", None, self)

    def steps(self) -> list[ObjectPath]:
        """All paths from the root to this path, including both."""
        found: list[ObjectPath] = []
        at: ObjectPath | None = self
        while at is not None:
            found.append(at)
            at = at.parent
        return found[::-1]

    def get_prefix(self, length: int) -> ObjectPath:
        """The first `length` steps of the path, including the root. IndexError unless 1 <= length <= len(path)."""
        steps = self.steps()
        if not 1 <= length <= len(steps):
            raise IndexError(f"a path of {len(steps)} steps has no prefix of {length}")
        return steps[length - 1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Whether `other` begins with the steps of this path or equals it."""
        return len(self) <= len(other) and other.get_prefix(len(self)) == self

    def __len__(self) -> int:
        return len(self.steps())

    def __str__(self) -> str:
        return "".join(_STEPS[step.kind](step.key) for step in self.steps())

    def __repr__(self) -> str:
        return f"ObjectPath({str(self)!r})"


_STEPS: dict[str, Callable[[Any], str]] = {
    "root": lambda key: "<root>" if key is None else str(key),
    "attribute": lambda key: f".{key}",
    "unknown_attribute": lambda key: ".<unknown attribute>",
    "array_index": lambda key: f"[{key}]",
    "missing_array_element": lambda key: f"[<missing element #{key}>]",
    "map_value": lambda key: f"[{key!r}]",
    "missing_map_entry": lambda key: "[<missing entry>]",
}


class ObjectPathPair(Frozen):
    """The place where two objects differ, as a path in each object. Source: TVM's ObjectPathPair."""

    __slots__ = ("lhs_path", "rhs_path")
    lhs_path: ObjectPath
    rhs_path: ObjectPath

    def __init__(self, lhs_path: ObjectPath, rhs_path: ObjectPath) -> None:
        super().__init__(lhs_path, rhs_path)

    def __str__(self) -> str:
        return f"{self.lhs_path} and {self.rhs_path}"


def structural_equal(lhs: Any, rhs: Any) -> bool:
    """Whether two values have the same structure and content.

    Values are first converted like arguments of a native function (see `convert_to_object`). Lists, tuples and arrays
    are compared by items; dicts and maps by keys, in any order; tensors and arrays of other libraries by dtype, shape
    and the bits of their elements, on any device; text, bytes, None, shapes, dtypes and devices by content. Numbers are
    equal if their kinds and values are equal: 1, 1.0 and True differ, but NaN equals NaN. Any other object is equal
    only to itself. TypeError for a value that native functions do not accept. Source: TVM's structural_equal.
    """
    return get_first_structural_mismatch(lhs, rhs) is None


def get_first_structural_mismatch(lhs: Any, rhs: Any) -> ObjectPathPair | None:
    """The first place where two values differ, in the order of the items; None if they are structurally equal.

    If one value has an item or a key that the other lacks, the path in the other value ends in a missing element or
    entry.
    """
    return next(_mismatches(lhs, rhs, ObjectPath.root(), ObjectPath.root()), None)


_KINDS: tuple[tuple[str, Any], ...] = (  # derived classes before their bases
    ("shape", Shape),
    ("dtype", DataType),
    ("string", str),
    ("bool", bool),
    ("int", int),
    ("float", float),
    ("bytes", bytes),
    ("device", Device),
    ("array", (Array, list, tuple)),
    ("map", (Map, dict)),
    ("tensor", Tensor),
    ("object", _native.Handle),
)


def _kind_and_content(value: Any) -> tuple[str, Any]:
    """The kind that a value has for a native function, and the part of it that is compared."""
    if isinstance(value, ObjectGeneric):
        value = value.asobject()
    if _kind_of(value) is None and value is not None and not callable(value):
        value = _native.convert(value)  # scalars and arrays of other libraries
        if type(value).__name__ == "c_void_p":
            return "pointer", value.value
    return _kind_of(value) or "object", value


def _kind_of(value: Any) -> str | None:
    return next((kind for kind, classes in _KINDS if isinstance(value, classes)), None)


def _mismatches(lhs: Any, rhs: Any, left: ObjectPath, right: ObjectPath) -> Iterator[ObjectPathPair]:
    (kind, a), (other, b) = _kind_and_content(lhs), _kind_and_content(rhs)
    if kind != other:
        yield ObjectPathPair(left, right)
    elif kind in ("array", "shape"):
        yield from _array_mismatches(a, b, left, right)
    elif kind == "map":
        yield from _map_mismatches(a, b, left, right)
    elif kind == "tensor":
        yield from _tensor_mismatches(a, b, left, right)
    elif not (a == b or (kind == "float" and a != a and b != b)):
        yield ObjectPathPair(left, right)


def _array_mismatches(lhs: Any, rhs: Any, left: ObjectPath, right: ObjectPath) -> Iterator[ObjectPathPair]:
    for i, (a, b) in enumerate(zip(lhs, rhs)):
        yield from _mismatches(a, b, left.array_index(i), right.array_index(i))
    common = min(len(lhs), len(rhs))
    if len(lhs) > common:
        yield ObjectPathPair(left.array_index(common), right.missing_array_element(common))
    if len(rhs) > common:
        yield ObjectPathPair(left.missing_array_element(common), right.array_index(common))


def _map_mismatches(lhs: Any, rhs: Any, left: ObjectPath, right: ObjectPath) -> Iterator[ObjectPathPair]:
    # The kind is part of the key, because 1, 1.0 and True are the same key in Python.
    ours, theirs = ({(_kind_of(key), key): value for key, value in one.items()} for one in (lhs, rhs))
    for key, value in ours.items():
        at = left.map_value(key[1])
        if key in theirs:
            yield from _mismatches(value, theirs[key], at, right.map_value(key[1]))
        else:
            yield ObjectPathPair(at, right.missing_map_entry())
    for key in theirs:
        if key not in ours:
            yield ObjectPathPair(left.missing_map_entry(), right.map_value(key[1]))


def _tensor_mismatches(lhs: Tensor, rhs: Tensor, left: ObjectPath, right: ObjectPath) -> Iterator[ObjectPathPair]:
    if lhs.dtype != rhs.dtype:
        yield ObjectPathPair(left.attr("dtype"), right.attr("dtype"))
    elif lhs.shape != rhs.shape:
        yield from _array_mismatches(lhs.shape, rhs.shape, left.attr("shape"), right.attr("shape"))
    elif lhs.tobytes() != rhs.tobytes():
        yield ObjectPathPair(left, right)
