"""Plain types: dtypes, devices, shapes, strings."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from . import _native


class DataTypeCode(enum.IntEnum):
    """Kinds of numbers. Source: DLPack's DLDataTypeCode."""

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
    """The type of a tensor's elements, as "float32" or "int8x4"; a str that knows its parts.

    Raises ValueError for text that is no dtype. Source: DLPack.
    """

    __slots__ = ("type_code", "bits", "lanes")
    type_code: DataTypeCode
    bits: int
    lanes: int

    def __new__(cls, content: Any) -> DataType:
        if isinstance(content, DataType):
            return content
        name, code, bits, lanes = _native.dtype_parts(content)
        self = super().__new__(cls, name)
        self.type_code = DataTypeCode(code)
        self.bits = bits
        self.lanes = lanes
        return self

    @property
    def itemsize(self) -> int:
        """Bytes that an element takes, rounded up."""
        return (self.bits * self.lanes + 7) // 8

    def __repr__(self) -> str:
        return f"dtype('{self}')"

    def __reduce__(self) -> Any:
        return DataType, (str(self),)


class Shape(tuple[int, ...]):
    """An immutable sequence of ints."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Shape({list(self)})"


ShapeTuple = Shape


class String(str):
    """A str. TVM's name for it."""

    __slots__ = ()


class Device:
    """A place that owns memory and runs kernels, as cpu:0. Equal and hashed by kind and number.

    Properties are None where the device does not say.
    """

    __slots__ = ("device_type", "device_id")
    device_type: int
    device_id: int

    def __init__(self, device_type: int | str, device_id: int = 0) -> None:
        if isinstance(device_type, str):
            parsed = device(device_type, device_id)
            device_type, device_id = parsed.device_type, parsed.device_id
        object.__setattr__(self, "device_type", int(device_type))
        object.__setattr__(self, "device_id", int(device_id))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Device cannot be changed")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return (self.device_type, self.device_id) == (other.device_type, other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __reduce__(self) -> Any:
        return Device, (self.device_type, self.device_id)

    def __str__(self) -> str:
        return str(_native.opd_device_to_string(self))

    def __repr__(self) -> str:
        return f"device(type='{self.type}', index={self.device_id})"

    @property
    def type(self) -> str:
        """The kind's name, as "cpu"."""
        return str(self).split(":")[0]

    @property
    def index(self) -> int:
        """The number among the devices of the kind."""
        return self.device_id

    def _attribute(self, number: int) -> Any:
        return _native.opd_device_get_attr(self, number)

    @property
    def exist(self) -> bool:
        """Whether support is compiled in, the hardware is there and its driver usable."""
        return bool(self._attribute(_native.OPD_ATTR_EXIST))

    max_threads_per_block = property(lambda self: self._attribute(_native.OPD_ATTR_MAX_THREADS_PER_BLOCK))
    warp_size = property(lambda self: self._attribute(_native.OPD_ATTR_WARP_SIZE))
    max_shared_memory_per_block = property(
        lambda self: self._attribute(_native.OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK), doc="In bytes."
    )
    compute_version = property(lambda self: self._attribute(_native.OPD_ATTR_COMPUTE_VERSION))
    device_name = property(lambda self: self._attribute(_native.OPD_ATTR_DEVICE_NAME))
    max_clock_rate = property(lambda self: self._attribute(_native.OPD_ATTR_MAX_CLOCK_RATE), doc="In kHz.")
    multi_processor_count = property(lambda self: self._attribute(_native.OPD_ATTR_MULTI_PROCESSOR_COUNT))
    api_version = property(lambda self: self._attribute(_native.OPD_ATTR_API_VERSION))
    driver_version = property(lambda self: self._attribute(_native.OPD_ATTR_DRIVER_VERSION))
    l2_cache_size_bytes = property(lambda self: self._attribute(_native.OPD_ATTR_L2_CACHE_SIZE_BYTES))
    total_global_memory = property(lambda self: self._attribute(_native.OPD_ATTR_TOTAL_GLOBAL_MEMORY), doc="In bytes.")
    available_global_memory = property(
        lambda self: self._attribute(_native.OPD_ATTR_AVAILABLE_GLOBAL_MEMORY), doc="In bytes."
    )

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """The largest block along each of three axes."""
        sizes = self._attribute(_native.OPD_ATTR_MAX_THREAD_DIMENSIONS)
        return None if sizes is None else list(sizes)

    def sync(self, stream: Any = None) -> None:
        """Waits until all work that was given to the device has ended."""
        if stream is not None:
            raise ValueError(f"{self} has no streams")
        _native.opd_device_sync(self)


def device(dev_type: str | int | Device, dev_id: int | None = None) -> Device:
    """Makes a device by kind, number, or text as "cuda:1"."""
    if isinstance(dev_type, Device):
        return dev_type
    if isinstance(dev_type, int):
        return Device(dev_type, dev_id or 0)
    text = dev_type.split()[0]  # a target, as "llvm -mcpu=…"
    text = {"llvm": "cpu", "c": "cpu", "test": "cpu"}.get(text, text)
    if dev_id is not None and ":" in text and dev_id != 0:
        raise ValueError(f"{dev_type!r} has a number already, so dev_id must not be given")
    made: Device = _native.opd_device_from_string(text if ":" in text else f"{text}:{dev_id or 0}")
    return made


def cpu(dev_id: int = 0) -> Device:
    """The CPU."""
    return Device(1, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """An NVIDIA GPU."""
    return Device(2, dev_id)


def gpu(dev_id: int = 0) -> Device:
    """An old name of `cuda`."""
    warnings.warn("gpu() is an old name of cuda()", DeprecationWarning, stacklevel=2)
    return Device(2, dev_id)


def opencl(dev_id: int = 0) -> Device:
    """An OpenCL device."""
    return Device(4, dev_id)


cl = opencl


def vulkan(dev_id: int = 0) -> Device:
    """A Vulkan device."""
    return Device(7, dev_id)


def metal(dev_id: int = 0) -> Device:
    """A Metal device."""
    return Device(8, dev_id)


mtl = metal


def vpi(dev_id: int = 0) -> Device:
    """A simulated accelerator."""
    return Device(9, dev_id)


def rocm(dev_id: int = 0) -> Device:
    """An AMD GPU."""
    return Device(10, dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """A device of another library."""
    return Device(12, dev_id)


for _class in (DataType, Device, Shape):
    _native.register_class(_class.__name__, _class)
