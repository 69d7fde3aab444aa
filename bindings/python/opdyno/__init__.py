"""opdyno runs what Apache TVM and plain compilers produced, and shows where time and memory went.

    import numpy, opdyno

    vm = opdyno.VirtualMachine("model.so", opdyno.cpu())
    y = vm["main"](numpy.ones((1, 784), "float32"))
    print(vm.profile("main", numpy.ones((1, 784), "float32")))

The names are those of `tvm.runtime`, `tvm.runtime.vm` (here `opdyno.vm`) and `tvm.runtime.profiling`
(`opdyno.profiling`).
"""

import typing as _typing

from . import _native, profiling, vm
from ._benchmark import BenchmarkResult
from ._errors import Code, Error
from ._function import (
    Function,
    PackedFunc,
    get_global_func,
    list_global_func_names,
    register_func,
    register_global_func,
    remove_global_func,
)
from ._module import (
    Module,
    enabled,
    load_module,
    load_native,
    load_source,
    load_static_library,
    system_lib,
)
from ._objects import Array, Map, Object, ObjectGeneric, convert, convert_to_object
from ._params import (
    Params,
    load_param_dict,
    load_param_dict_from_file,
    load_params,
    save_param_dict,
    save_param_dict_to_file,
)
from ._tensor import NDArray, Tensor, array, const, empty, from_dlpack, tensor
from ._types import (
    DataType,
    DataTypeCode,
    Device,
    Shape,
    ShapeTuple,
    String,
    cl,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    metal,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
)
from .profiling import Report
from .vm import Cancel, Executable, VirtualMachine, VMInstrumentReturnKind

__version__: str = _native.opd_version()

if _typing.TYPE_CHECKING:
    from . import tvm as tvm
else:

    def __getattr__(name):
        """`opdyno.tvm` without an import of its own."""
        if name == "tvm":
            import importlib

            return importlib.import_module("opdyno.tvm")
        raise AttributeError(f"module 'opdyno' has no attribute '{name}'")


def num_threads() -> int:
    """Number of threads that a parallel kernel may use, its caller included."""
    return int(_native.opd_threads_count())


def set_num_threads(count: int) -> None:
    """Sets that number."""
    _native.opd_threads_set_count(count)


def memory_stats(device: "Device | None" = None) -> "dict[str, int]":
    """Memory in use on a device, in bytes: live, peak, reserved; and the number of requests and of hits in pools."""
    found: "dict[str, int]" = _native.opd_memory_get_stats(device if device is not None else cpu())
    return found


def set_log_callback(callback: "object | None") -> None:
    """Sets who gets warnings: `callback(level, message)`; None drops them."""
    _native.opd_log_set_callback(callback)


__all__ = [
    "Array",
    "BenchmarkResult",
    "Cancel",
    "Code",
    "DataType",
    "DataTypeCode",
    "Device",
    "Error",
    "Executable",
    "Function",
    "Map",
    "Module",
    "NDArray",
    "Object",
    "ObjectGeneric",
    "PackedFunc",
    "Params",
    "Report",
    "Shape",
    "ShapeTuple",
    "String",
    "Tensor",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "array",
    "cl",
    "const",
    "convert",
    "convert_to_object",
    "cpu",
    "cuda",
    "device",
    "empty",
    "enabled",
    "ext_dev",
    "from_dlpack",
    "get_global_func",
    "gpu",
    "list_global_func_names",
    "load_module",
    "load_native",
    "load_param_dict",
    "load_param_dict_from_file",
    "load_params",
    "load_source",
    "load_static_library",
    "memory_stats",
    "metal",
    "mtl",
    "num_threads",
    "opencl",
    "profiling",
    "register_func",
    "register_global_func",
    "remove_global_func",
    "rocm",
    "save_param_dict",
    "save_param_dict_to_file",
    "set_log_callback",
    "set_num_threads",
    "system_lib",
    "tensor",
    "vm",
    "vpi",
    "vulkan",
]
