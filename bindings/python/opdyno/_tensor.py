"""Tensors: memory with a shape and a dtype on a device. NumPy is imported only where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._objects import Object
from ._types import DataType, Device, Shape, cpu


class Tensor(_native.TensorBase):
    """A tensor. Its shape, dtype and device do not change; its elements are the user's to guard.

    It is a buffer (`memoryview(t)`, `numpy.asarray(t)`) and speaks DLPack, both without a copy.
    """

    __slots__ = ("__weakref__",)
    same_as = Object.same_as

    if TYPE_CHECKING:  # what the native part has

        @property
        def shape(self) -> Shape: ...
        @property
        def strides(self) -> Shape: ...
        @property
        def dtype(self) -> DataType: ...
        @property
        def device(self) -> Device: ...
        @property
        def ndim(self) -> int: ...
        @property
        def nbytes(self) -> int: ...

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for axis in self.shape:
            count *= axis
        return count

    def numpy(self) -> Any:
        """A NumPy array with a copy of the elements."""
        import numpy

        source = self if self.device.device_type == 1 else self.copyto(cpu())
        try:
            return numpy.array(memoryview(source))
        except BufferError:  # a dtype that Python's buffers do not know
            return _with_ml_dtypes(source)

    asnumpy = numpy

    def view(self) -> Any:
        """A NumPy array of the same elements."""
        import numpy

        array = numpy.asarray(self)
        return numpy.asarray(memoryview(self)) if array.dtype.hasobject else array  # the former says why it cannot be

    def copyto(self, target: Any, mem_scope: Any = None) -> Tensor:
        """Copies the elements into a tensor of the same shape and dtype, or to a device."""
        to = target if isinstance(target, Tensor) else empty(self.shape, self.dtype, target)
        _native.opd_tensor_copy(self, to)
        return to

    def copyfrom(self, source: Any) -> Tensor:
        """Copies the elements of an array of the same shape and dtype into this tensor."""
        if not isinstance(source, _native.TensorBase) and not hasattr(source, "__dlpack__"):
            import numpy

            source = numpy.asarray(source, dtype=str(self.dtype))
        _native.opd_tensor_copy(source, self)
        return self

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape; shares them if they lie contiguously."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        made: Tensor = _native.opd_tensor_reshape(self, sizes)
        return made

    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return bool(_native.opd_tensor_is_contiguous(self))

    def tobytes(self) -> bytes:
        """A copy of the elements' bytes, in row-major order."""
        source = self if self.is_contiguous() and self.device.device_type == 1 else self.copyto(cpu())
        return bytes(_native.tensor_bytes(source))

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


def _with_ml_dtypes(source: Tensor) -> Any:
    import numpy

    try:
        import ml_dtypes

        dtype = numpy.dtype(getattr(ml_dtypes, str(source.dtype)))
    except (ImportError, AttributeError):
        raise TypeError(f"NumPy has no {source.dtype}; the package ml_dtypes may know it") from None
    return numpy.frombuffer(source.tobytes(), dtype=dtype).reshape(source.shape)


def tensor(array: Any, device: Device | str | None = None, mem_scope: Any = None) -> Tensor:
    """Makes a tensor with a copy of an array's elements.

    `array` is anything that is a buffer, speaks DLPack, or that NumPy makes an array of.
    """
    try:
        made: Tensor = _native.tensor_from(array, device)
        return made
    except (AttributeError, BufferError, TypeError):  # no buffer that DLPack can say, no __dlpack__
        return _tensor_by_numpy(array, device if device is not None else cpu())


def _tensor_by_numpy(array: Any, where: Device | str) -> Tensor:
    import numpy

    array = numpy.asarray(array)
    if array.dtype.kind == "V":  # dtypes of ml_dtypes
        made = empty(array.shape, array.dtype.name, cpu())
        _native.opd_tensor_copy_from_bytes(made, array.tobytes())
        return made.copyto(where)
    made_by_numpy: Tensor = _native.tensor_from(array, where)
    return made_by_numpy


array = tensor


def empty(shape: Any, dtype: Any = "float32", device: Device | str | None = None, mem_scope: Any = None) -> Tensor:
    """Makes a tensor whose elements are not set."""
    made: Tensor = _native.opd_tensor_create(shape, DataType(dtype), device if device is not None else cpu())
    return made


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Makes a tensor of an object that speaks DLPack, or of its capsule, without a copy."""
    made: Tensor = _native.tensor_from_dlpack(ext_tensor)
    return made


def const(value: Any, dtype: Any = None, span: Any = None) -> Tensor:
    """Makes a tensor without axes. Without `dtype`: bool, int32 and float32 for Python's bool, int and float."""
    import numpy

    if dtype is None:
        if hasattr(value, "dtype"):
            dtype = value.dtype
        else:
            dtype = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
    return tensor(numpy.asarray(value, dtype=str(DataType(dtype))))


_native.register_class("Tensor", Tensor)
