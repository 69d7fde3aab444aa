"""Plain types, which are dtypes, shapes and strings."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from . import _native


class DataTypeCode(enum.IntEnum):
    """Kinds of numbers in a `DataType`. Source: DLPack's DLDataTypeCode."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    COMPLEX = 5
    BOOL = 6
    Float8E3M4 = 7
    Float8E4M3 = 8
    Float8E4M3B11FNUZ = 9
    Float8E4M3FN = 10
    Float8E4M3FNUZ = 11
    Float8E5M2 = 12
    Float8E5M2FNUZ = 13
    Float8E8M0FNU = 14
    Float6E2M3FN = 15
    Float6E3M2FN = 16
    Float4E2M1FN = 17


class DataType(str):
    """The type of a tensor's elements. It is a str, such as "float32" or "int8x4", with attributes for its parts.

    It can be made from such text, from short forms such as "f32" or "bf16", from NumPy's dtypes and scalar types, and
    from any object with a `name`. ValueError for text that is not a dtype, TypeError for an object without a dtype.
    `type_code`: the `DataTypeCode`. `bits`: bits of a lane. `lanes`: number of lanes; 1 unless it is a vector. Source:
    TVM's DataType; DLPack.
    """

    __slots__ = ("type_code", "bits", "lanes")
    type_code: DataTypeCode
    bits: int
    lanes: int

    def __new__(cls, type_str: Any) -> DataType:
        """Makes a dtype from text, or from an object with a dtype's name."""
        if isinstance(type_str, DataType):
            return type_str
        name, code, bits, lanes = _native.dtype_parts(type_str)
        self = super().__new__(cls, name)
        self.type_code = DataTypeCode(code)
        self.bits = bits
        self.lanes = lanes
        return self

    @property
    def itemsize(self) -> int:
        """Size of an element in bytes, rounded up."""
        return (self.bits * self.lanes + 7) // 8

    def __repr__(self) -> str:
        return f"dtype('{self}')"

    def __reduce__(self) -> Any:
        return DataType, (str(self),)


def _size(item: Any) -> int:
    size = item if isinstance(item, int) else item.__index__() if hasattr(item, "__index__") else None
    if size is None or not -(2**63) <= size < 2**63:
        raise ValueError(f"a shape consists of ints of 64 bits, not of {item!r}")
    return size


class Shape(tuple[int, ...]):
    """A tuple of ints, such as the sizes of a tensor. ValueError for an item that is no int of 64 bits. Source: TVM's
    ShapeTuple."""

    __slots__ = ()

    def __new__(cls, shape: Iterable[int] = ()) -> Shape:
        return super().__new__(cls, (_size(item) for item in shape))

    def __repr__(self) -> str:
        return f"Shape({list(self)})"


ShapeTuple = Shape


class String(str):
    """A str, under TVM's name. Text from native code is a plain str."""

    __slots__ = ()


for _class in (DataType, Shape):
    _native.register_class(_class.__name__, _class)
