"""Native objects in Python: the base class, arrays and maps, and the conversion to objects."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _native
from ._errors import Code, Error


class Object(_native.Handle):
    """A native object. Objects without a specific class have this class. Source: TVM's runtime.Object.

    Native objects are reference counted: an object lives as long as Python or native code holds it, and may be freed on
    any thread. It is compared and hashed by the identity of the native object, which several Python objects may share.
    """

    __slots__ = ("__weakref__",)

    def same_as(self, other: object) -> bool:
        """Whether both are the same native object."""
        return isinstance(other, _native.Handle) and self._address == other._address

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self._address:#x}>"


class ObjectGeneric:
    """Base of classes whose instances can be arguments of functions, because they define `asobject()`. Source: TVM's
    ObjectGeneric."""

    def asobject(self) -> Any:
        """Returns the value that is passed instead: an object, or any value that can be converted to one."""
        raise NotImplementedError


class Array(_native.CollectedHandle, Object, Sequence[Any]):
    """An immutable sequence of values, such as a tuple of a program. `Array([1, "two", tensor])`; a slice is a list.

    Equal to lists, tuples and arrays with equal items. Each access makes a new Python object for an item.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, items: Any = ()) -> Array:
        return _native.opd_array_create(tuple(items))

    def __len__(self) -> int:
        return _native.opd_array_count(self)

    def __getitem__(self, index: Any) -> Any:
        count = len(self)
        if isinstance(index, slice):
            return [_native.opd_array_get(self, i) for i in range(*index.indices(count))]
        at = operator.index(index)
        at += count if at < 0 else 0
        if not 0 <= at < count:
            raise IndexError(f"item {index} of an array of {count}")
        return _native.opd_array_get(self, at)

    def __iter__(self) -> Iterator[Any]:
        return (_native.opd_array_get(self, i) for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Array, list, tuple)):
            return len(self) == len(other) and all(a is b or a == b for a, b in zip(self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> Any:
        return Array, (tuple(self),)

    def __getattr__(self, name: str) -> Any:
        """Raises an AttributeError. If a tuple of tensors is used as a tensor, the message explains what to do."""
        if name.startswith("__"):
            raise AttributeError(name)
        tensors = [i for i, item in enumerate(self) if hasattr(type(item), name) and isinstance(item, _native.TensorBase)]
        hint = f": it is a tuple of {len(self)}; its item {tensors[0]} has one, as in result[{tensors[0]}].{name}" if tensors else ""
        raise AttributeError(f"'Array' has no attribute {name!r}{hint}")


class Map(_native.CollectedHandle, Object, Mapping[Any, Any]):
    """An immutable mapping in insertion order: `Map({"a": 1})`. Equal to dicts and maps with equal items.

    Keys that are numbers or text compare by content, objects by identity.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, items: Any = ()) -> Map:
        pairs: list[Any] = []
        for key, value in dict(items).items():
            pairs += [key, value]
        return _native.opd_map_create(pairs)

    def __len__(self) -> int:
        return _native.opd_map_count(self)

    def __getitem__(self, key: Any) -> Any:
        try:
            return _native.opd_map_get(self, key)
        except Error as error:
            if error.code == Code.NOT_FOUND:
                raise KeyError(key) from None
            raise

    def __iter__(self) -> Iterator[Any]:
        return (_native.opd_map_entry(self, i)[0] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Map, dict)):
            return len(self) == len(other) and all(key in other and other[key] == value for key, value in self.items())
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._address)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{key!r}: {value!r}' for key, value in self.items())}}}"

    def __reduce__(self) -> Any:
        return _map_of, ([part for pair in self.items() for part in pair],)


def _map_of(pairs: list[Any]) -> Map:  # takes pairs, because a dict would merge keys such as 1 and True
    return _native.opd_map_create(pairs)


def brief(names: Sequence[str]) -> str:
    """The first eight names for a repr, and the number of further names."""
    more = [f"… {len(names) - 8} more"] if len(names) > 8 else []
    return f"[{', '.join([*names[:8], *more])}]"


def convert_to_object(value: Any, span: Any = None) -> Any:
    """Converts a value as if it were passed to a native function and returned.

    Lists and tuples become an `Array`, dicts a `Map`, arrays of other libraries a `Tensor` that shares their elements;
    numbers, text, bytes, None and objects stay unchanged. TypeError for any other value, including a callable. `span`
    is not used. Source: TVM's convert_to_object.
    """
    if callable(value) and not isinstance(value, (_native.Handle, ObjectGeneric)):
        raise TypeError(f"a {type(value).__name__} is not an object; convert() makes a function of a callable")
    return _native.convert(value)


def convert(value: Any, span: Any = None) -> Any:
    """Like `convert_to_object`, but a callable becomes a `Function`. Source: TVM's convert."""
    return _native.convert(value)


for _name, _class in (("Object", Object), ("Array", Array), ("Map", Map)):
    _native.register_class(_name, _class)

__all__ = ["Array", "Map", "Object", "ObjectGeneric", "convert", "convert_to_object"]
