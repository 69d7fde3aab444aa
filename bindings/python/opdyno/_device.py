"""Devices, which own memory and run kernels."""

from __future__ import annotations

import operator
import warnings
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import Code, make
from ._frozen import Frozen

if TYPE_CHECKING:
    import ctypes


_REMOTE = 128  # the first number of TVM's kinds of devices in remote sessions


class Device(Frozen):
    """A device, such as `cpu:0`, which owns memory and runs kernels: `Device("cuda", 1)`, `Device(2, 1)`, or
    `device()`.

    Immutable; compared and hashed by kind and index; can be pickled. The device need not exist; see `exist`. The other
    properties are None if the device does not report them, and raise an `Error` if the device does not exist. The
    numbers of kinds are DLPack's. Source: TVM's tvm.runtime.Device.
    """

    __slots__ = ("device_type", "device_id")
    device_type: int
    device_id: int

    def __init__(self, device_type: int | str, device_id: int = 0) -> None:
        if isinstance(device_type, str):
            parsed = device(device_type, device_id)
            device_type, device_id = parsed.device_type, parsed.device_id
        numbers = operator.index(device_type), operator.index(device_id)
        if not all(-(2**31) <= number < 2**31 for number in numbers):
            raise OverflowError(f"the kind and the number of a device have 32 bits, but are {numbers[0]} and {numbers[1]}")
        super().__init__(*numbers)

    def __str__(self) -> str:
        return _native.opd_device_to_string(self)

    def __repr__(self) -> str:
        return f"device(type='{self.type}', index={self.device_id})"

    @property
    def type(self) -> str:
        """The kind's name, such as "cpu"; in a session of `opdyno.rpc`, "remote[0]:cpu"."""
        return str(self).rpartition(":")[0]

    @property
    def index(self) -> int:
        """The index among the devices of the kind."""
        return self.device_id

    def _number(self, attribute: int) -> int | None:
        found: int | None = _native.opd_device_get_attr(self, attribute)
        return found

    def _text(self, attribute: int) -> str | None:
        found: str | None = _native.opd_device_get_attr(self, attribute)
        return found

    @property
    def exist(self) -> bool:
        """Whether the device exists: support is compiled in, and the hardware and its driver are usable."""
        return bool(self._number(_native.OPD_ATTR_EXIST))

    @property
    def max_threads_per_block(self) -> int | None:
        """The largest number of threads in a block."""
        return self._number(_native.OPD_ATTR_MAX_THREADS_PER_BLOCK)

    @property
    def warp_size(self) -> int | None:
        """Number of threads that run in lockstep; 1 for Metal and OpenCL."""
        return self._number(_native.OPD_ATTR_WARP_SIZE)

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Limit of the memory that the threads of a block share, in bytes."""
        return self._number(_native.OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK)

    @property
    def compute_version(self) -> str | None:
        """The compute version of the hardware, such as "8.6"."""
        return self._text(_native.OPD_ATTR_COMPUTE_VERSION)

    @property
    def device_name(self) -> str | None:
        """The vendor's name for the device."""
        return self._text(_native.OPD_ATTR_DEVICE_NAME)

    @property
    def max_clock_rate(self) -> int | None:
        """The highest clock rate, in kHz."""
        return self._number(_native.OPD_ATTR_MAX_CLOCK_RATE)

    @property
    def multi_processor_count(self) -> int | None:
        """The number of multiprocessors; for a CPU, the number of processors that the process may use."""
        return self._number(_native.OPD_ATTR_MULTI_PROCESSOR_COUNT)

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """The largest block along each of three axes, in threads."""
        sizes = _native.opd_device_get_attr(self, _native.OPD_ATTR_MAX_THREAD_DIMENSIONS)
        return None if sizes is None else list(sizes)

    @property
    def api_version(self) -> int | None:
        """The version of the interface that opdyno was compiled with, as in CUDA_VERSION or VK_HEADER_VERSION."""
        return self._number(_native.OPD_ATTR_API_VERSION)

    @property
    def driver_version(self) -> str | None:
        """The driver's version."""
        return self._text(_native.OPD_ATTR_DRIVER_VERSION)

    @property
    def l2_cache_size_bytes(self) -> int | None:
        """Size of the second-level cache, in bytes."""
        return self._number(_native.OPD_ATTR_L2_CACHE_SIZE_BYTES)

    @property
    def total_global_memory(self) -> int | None:
        """The size of the device's memory, in bytes; for a CPU, the memory that the process may use."""
        return self._number(_native.OPD_ATTR_TOTAL_GLOBAL_MEMORY)

    @property
    def available_global_memory(self) -> int | None:
        """The free part of the device's memory, in bytes."""
        return self._number(_native.OPD_ATTR_AVAILABLE_GLOBAL_MEMORY)

    def texture_spatial_limit(self) -> int | None:
        """The largest size of an image along an axis, in elements."""
        return self._number(_native.OPD_ATTR_TEXTURE_SPATIAL_LIMIT)

    def create_raw_stream(self) -> ctypes.c_void_p:
        """Makes a stream: a queue of work of the device. `free_raw_stream` ends it.

        For the CPU, this is an `Error` with code UNSUPPORTED: it has no streams, because its work has ended when a call
        returns.
        """
        import ctypes  # imported here, because few programs need it

        return ctypes.c_void_p(_native.opd_stream_create(self))

    def free_raw_stream(self, stream: ctypes.c_void_p | int | None) -> None:
        """Frees a stream that `create_raw_stream` made. For the default stream (None or 0), does nothing."""
        _native.opd_stream_free(self, stream)

    def set_raw_stream(self, stream: ctypes.c_void_p | int | None) -> None:
        """Sets the stream for work of the calling thread; None is the device's default stream."""
        _native.opd_stream_set(self, stream)

    def sync(self, stream: ctypes.c_void_p | int | None = None) -> None:
        """Waits until the work of a stream has ended; None: the work of all streams. During the wait,
        other Python threads run."""
        if stream is None:
            _native.opd_device_sync(self)
        else:
            _native.opd_stream_sync(self, stream)


def device_of(value: Any) -> Device:
    """Converts a device of opdyno or TVM. ValueError for a device of TVM's sessions, TypeError for any other object."""
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        return device(value)
    kind = getattr(value, "dlpack_device_type", None)
    if kind is None:
        raise TypeError(f"a device is needed, not a {type(value).__name__}")
    if kind() >= _REMOTE:
        text = f"{value} is a device of a session of TVM's client; opdyno.rpc.connect() makes one of opdyno's"
        raise make(Code.UNSUPPORTED, "ValueError", text)
    return Device(kind(), value.index)


def device(dev_type: str | int | Device, dev_id: int | None = None) -> Device:
    """Makes a device from kind and index: `device("cuda", 1)`, `device("cuda:1")`, `device(2, 1)`.

    The names of kinds are those of the functions `cpu`, `cuda`, `opencl` …; their numbers are DLPack's. A target such
    as "llvm -mcpu=…" means the device of the target. ValueError for an unknown name. The device need not exist.
    """
    if not isinstance(dev_type, (int, str)):
        return device_of(dev_type)
    if isinstance(dev_type, int):
        return Device(dev_type, dev_id or 0)
    text = (dev_type.split() or [""])[0]  # a target, such as "llvm -mcpu=…"
    text = {"llvm": "cpu", "c": "cpu", "test": "cpu"}.get(text, text)
    if dev_id is not None and ":" in text and dev_id != 0:
        raise ValueError(f"{dev_type!r} has a number already, so dev_id must not be given")
    return _native.opd_device_from_string(text if ":" in text else f"{text}:{dev_id or 0}")


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


_native.register_class("Device", Device)


def num_threads() -> int:
    """Returns the number of threads that a parallel kernel may use, including its caller.

    `set_num_threads` sets the number, or else the environment variable OPDYNO_NUM_THREADS, TVM_NUM_THREADS or
    OMP_NUM_THREADS. Default: the number of processors that the process may use. Source: TVM's num_threads.
    """
    return _native.opd_threads_count()


def set_num_threads(count: int) -> None:
    """Sets the number that `num_threads` returns: 1 to 1024, or 0 for the default. IndexError for any other number.

    Running kernels keep their threads.
    """
    _native.opd_threads_set_count(count)
