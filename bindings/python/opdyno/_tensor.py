"""Tensors, which are memory of a device with a shape and a dtype. NumPy is imported at its first use."""

from __future__ import annotations

import importlib
import struct
from typing import Any

from . import _native
from ._device import Device, cpu
from ._device import device as make_device
from ._objects import Object
from ._types import DataType


_ITEMS = {  # codes of the module struct
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip


_CPU = cpu()


class Tensor(_native.TensorBase):
    """Elements of one dtype in memory of a device. `tensor`, `empty` and `from_dlpack` make tensors, and calls return
    them.

    Its shape, dtype and device are immutable. Its elements can be changed; the program must synchronise access of
    several threads. On the CPU it supports the buffer protocol (`memoryview(t)`, `numpy.asarray(t)`), and on all
    devices DLPack (`numpy.from_dlpack(t)`, `torch.from_dlpack(t)`). Both share the elements and keep them alive.
    Pickling copies the elements. Two tensors are equal if they are the same native tensor; use `structural_equal` or
    NumPy to compare elements. Source: TVM's runtime.Tensor.

    If a Python function is called with an array, it gets a tensor of the caller's memory, which is valid only during
    the call. Later use of the tensor is a RuntimeError. NumPy arrays of `view()` cannot detect this, so they must not
    be kept.
    """

    __slots__ = ("__weakref__",)
    same_as = Object.same_as

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for axis in self.shape:
            count *= axis
        return count

    def numpy(self) -> Any:
        """Returns a NumPy array with a copy of the elements, from any device.

        TypeError for a dtype that NumPy lacks, such as bfloat16 or int4, unless the package ml_dtypes is installed and
        has it. Elements of less than a byte lie bit after bit in the tensor, and take a byte each in the array.
        """
        import numpy

        source = self if self.device.device_type == 1 else self.copyto(_CPU)
        try:
            return numpy.array(memoryview(source))
        except BufferError:  # the buffer protocol has no format for the dtype
            return _with_ml_dtypes(source)

    asnumpy = numpy

    def view(self) -> Any:
        """Returns a NumPy array that shares the elements and keeps them alive.

        BufferError if the elements are not in the CPU's memory, or if Python's buffers have no such dtype.
        """
        import numpy

        array = numpy.asarray(self)
        return numpy.asarray(memoryview(self)) if array.dtype.hasobject else array  # memoryview() raises

    def copyto(self, target: Any, mem_scope: Any = None) -> Tensor:
        """Copies the elements, and returns the copy.

        `target`: a tensor of the same shape and dtype, or a device on which a new tensor is made. ValueError if shapes
        or dtypes differ; the message has both. `mem_scope` is not used. Source: TVM's Tensor.copyto.
        """
        to = target if isinstance(target, Tensor) else empty(self.shape, self.dtype, target)
        _native.opd_tensor_copy(self, to)
        return to

    def to(self, device: Device | str) -> Tensor:
        """Returns this tensor if it is on the device, else a copy on the device."""
        place = device if isinstance(device, Device) else make_device(device)
        return self if self.device == place else self.copyto(place)

    def copyfrom(self, source: Any) -> Tensor:
        """Copies the elements of an array into this tensor, and returns the tensor.

        `source`: a tensor, an array of another library, or an object that NumPy can convert to an array. ValueError if
        shape or dtype differ.
        """
        if not isinstance(source, _native.TensorBase):
            if not hasattr(source, "__dlpack__"):
                import numpy

                source = numpy.asarray(source, dtype=_numpy_dtype(self.dtype))
            if _is_packed(getattr(source, "dtype", None)):
                source = _tensor_by_numpy(source, _CPU)
        _native.opd_tensor_copy(source, self)
        return self

    def reshape(self, *shape: Any) -> Tensor:
        """Returns a tensor with the same elements and another shape: `t.reshape(2, 3)` or `t.reshape((2, 3))`.

        It shares the elements if they are contiguous, else it copies them. ValueError if the numbers of elements
        differ.
        """
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return _native.opd_tensor_reshape(self, sizes)

    def is_contiguous(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        return bool(_native.opd_tensor_is_contiguous(self))

    @property
    def is_read_only(self) -> bool:
        """Whether the elements must not be written, for example because a read-only array shares them."""
        return bool(_native.opd_tensor_is_read_only(self))

    def item(self) -> Any:
        """Returns the only element, as a bool, int, float or complex. ValueError unless there is exactly one element.

        `bool(t)`, `int(t)` and `float(t)` also return it.
        """
        if self.size != 1:
            raise ValueError(f"only a tensor of one element is a number, but the shape is {list(self.shape)}")
        code = _ITEMS.get(str(self.dtype))
        return struct.unpack(code, self.tobytes())[0] if code else self.numpy().item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def tobytes(self) -> bytes:
        """Returns a copy of the elements' bytes, in row-major order, from any device."""
        source = self if self.is_contiguous() and self.device.device_type == 1 else self.copyto(_CPU)
        return _native.tensor_bytes(source)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return int(self.shape[0])

    def __repr__(self) -> str:
        head = f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, device={self.device}"
        if self.size > 1000 or self.device.device_type != 1:
            return head + ")"
        try:
            return f"{head})\n{self.view()}"
        except (BufferError, ImportError):
            return head + ")"

    def __reduce__(self) -> Any:
        return _unpickle, (tuple(self.shape), str(self.dtype), str(self.device), self.tobytes())

    def __copy__(self) -> Tensor:
        return self.copyto(self.device)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.copyto(self.device)


NDArray = Tensor


def _unpickle(shape: Any, dtype: str, where: str, data: bytes) -> Tensor:
    made = empty(shape, dtype)
    _native.opd_tensor_copy_from_bytes(made, data)
    return made if where == "cpu:0" else made.copyto(where)


def _numpy_dtype(dtype: DataType) -> Any:
    import numpy

    if str(dtype) in _ITEMS or dtype.startswith("complex"):
        return numpy.dtype(str(dtype))
    try:
        return numpy.dtype(getattr(importlib.import_module("ml_dtypes"), str(dtype)))
    except (ImportError, AttributeError):
        raise TypeError(f"NumPy has no {dtype}; the package ml_dtypes may know it") from None


def _with_ml_dtypes(source: Tensor) -> Any:
    import numpy

    dtype, bits = _numpy_dtype(source.dtype), source.dtype.bits
    data = numpy.frombuffer(source.tobytes(), dtype="uint8" if bits < 8 else dtype)
    if bits < 8:  # DLPack: bit after bit, beginning with the lowest
        each = numpy.unpackbits(data, count=source.size * bits, bitorder="little").reshape(-1, bits)
        data = numpy.packbits(each, axis=1, bitorder="little").reshape(-1)
        if str(source.dtype).startswith("int"):
            data = (data << (8 - bits)).view("int8") >> (8 - bits)  # copies the sign
        data = data.view(dtype) if str(source.dtype).startswith("float") else data.astype(dtype)
    return data.reshape(source.shape)


def _is_packed(dtype: Any) -> bool:
    """Whether a NumPy dtype has elements of less than a byte, which ml_dtypes gives a byte each."""
    return getattr(dtype, "kind", "") == "V" and dtype.names is None and DataType(dtype.name).bits < 8


def _packed(array: Any) -> bytes:
    import numpy

    bits = DataType(array.dtype.name).bits
    data = array.view("uint8") if array.dtype.name.startswith("float") else array.astype("int8").view("uint8")
    each = numpy.unpackbits(data.reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
    return numpy.packbits(each, bitorder="little").tobytes()


def tensor(array: Any, device: Device | str | None = None, mem_scope: Any = None) -> Tensor:
    """Makes a tensor with a copy of an array's elements.

    `array`: a buffer, an object with DLPack, or an object that NumPy can convert to an array, such as nested lists.
    `device`: the tensor's device, a Device or its name. Default: the CPU. `mem_scope` is not used. Errors are those of
    NumPy, or an `Error` for an absent device. Source: TVM's runtime.tensor. `from_dlpack` shares the elements instead.
    """
    try:
        return _native.tensor_from(array, device)
    except (AttributeError, BufferError, TypeError):  # no buffer with a dtype of DLPack, and no __dlpack__
        return _tensor_by_numpy(array, device if device is not None else _CPU)


def _tensor_by_numpy(array: Any, where: Device | str) -> Tensor:
    import numpy

    array = numpy.asarray(array)
    if array.dtype.kind == "V":  # a dtype of ml_dtypes
        made = empty(array.shape, array.dtype.name)
        packed = _is_packed(array.dtype)
        _native.opd_tensor_copy_from_bytes(made, _packed(numpy.ascontiguousarray(array)) if packed else array.tobytes())
        return made.copyto(where)
    return _native.tensor_from(array, where)


array = tensor


def empty(shape: Any, dtype: Any = "float32", device: Device | str | None = None, mem_scope: Any = None) -> Tensor:
    """Makes a tensor with uninitialised elements, compact and aligned to 64 bytes.

    `shape`: ints; `dtype`: see `DataType`; `device`: a Device or its name. Default: the CPU. `mem_scope` is not used.
    ValueError for a negative size; `Error` if memory cannot be allocated or the device is absent. Source: TVM's runtime.empty.
    """
    return _native.opd_tensor_create(shape, dtype, device if device is not None else _CPU)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Makes a tensor that shares the elements of an object with DLPack or of a DLPack capsule, and keeps them alive.

    ValueError if the capsule was used already. Source: DLPack 1.3, TVM's from_dlpack.
    """
    return _native.tensor_from_dlpack(ext_tensor)


class ReadsOnly:
    """An array that the called function only reads, so it may be read-only. `reads_only` makes it."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def reads_only(array: Any) -> ReadsOnly:
    """Declares that the called function does not write a read-only array: `kernel(opdyno.reads_only(x), out)`.

    A compiled function does not tell which of its arguments it writes. So read-only arrays and tensors are refused
    without this declaration. Examples are NumPy arrays with `flags.writeable` False, files mapped for reading, and JAX
    arrays. If the function writes to them nevertheless, the process may crash.
    """
    return ReadsOnly(array)


def const(value: Any, dtype: Any = None, span: Any = None) -> Tensor:
    """Makes a tensor without axes, on the CPU.

    Default of `dtype`: the dtype of a NumPy scalar; bool, int32 and float32 for Python's bool, int and float, and int64
    and float64 for a number that does not fit these. NotImplementedError for a value that is no number. OverflowError
    for an int that does not fit. `span` is not used. Source: TVM's const.
    """
    import numpy

    own = getattr(value, "dtype", None)
    if own is None and not isinstance(value, (bool, int, float)) or getattr(value, "shape", None):
        raise NotImplementedError(f"a constant is one number, not {value!r}")
    if dtype is None:
        if own is not None:
            dtype = own
        elif isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32" if -(2**31) <= value < 2**31 else "int64"
        else:
            largest = float(numpy.finfo("float32").max)
            dtype = "float64" if largest < abs(value) < float("inf") else "float32"
    return tensor(numpy.asarray(value, dtype=str(DataType(dtype))))


_native.register_class("Tensor", Tensor)
_native.register_class("ReadsOnly", ReadsOnly)
