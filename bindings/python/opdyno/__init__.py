"""opdyno runs programs that Apache TVM or plain compilers made, and shows where time and memory go.

    import numpy, opdyno

    vm = opdyno.VirtualMachine("model.so", opdyno.cpu())
    x = numpy.ones((1, 784), "float32")
    y = vm["main"](x)                                   # an opdyno.Tensor; of a program from PyTorch a tuple of them
    print(vm.profile("main", x))                        # a table of the operators' times

Names and behaviour are those of `tvm.runtime`, `tvm.runtime.vm` (here `opdyno.vm`) and `tvm.runtime.profiling`
(`opdyno.profiling`), and of `torch.profiler` (`opdyno.profiler`). `opdyno.runtime` and `opdyno.relax` have the names of
TVM's modules, so scripts can use `import opdyno as tvm`. `opdyno.tvm` works with an installed TVM. The main names:

    programs      VirtualMachine, Executable, load_module, Module
    tensors       tensor, empty, from_dlpack, Tensor; load_params, Params
    functions     Function, register_func, get_global_func, load_source, load_native
    devices       device, cpu, cuda …, Device; rpc.connect for devices of other machines
    errors        Error and its code; every error is also the Python exception of its kind

Shapes are sequences of ints. Times are in seconds unless a name says otherwise, and sizes of memory are in bytes. A
Python object owns its native object, which keeps alive everything that it needs. Any thread may use everything here
unless its description says otherwise. NumPy is only imported by functions that return its arrays.
"""

import json as _json
import typing as _typing
from collections.abc import Callable as _Callable

from . import _native, profiler, profiling, relax, rpc, runtime, telemetry, vm
from ._benchmark import BenchmarkResult
from ._compare import Comparison, compare
from ._device import (
    Device,
    cl,
    cpu,
    cuda,
    device,
    ext_dev,
    gpu,
    metal,
    mtl,
    num_threads,
    opencl,
    rocm,
    set_num_threads,
    vpi,
    vulkan,
)
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
from ._kv_state import KVState
from ._module import (
    Module,
    ModulePropertyMask,
    enabled,
    load_module,
    load_native,
    load_source,
    load_static_library,
    system_lib,
)
from ._module import takers as _takers
from ._objects import Array, Map, Object, ObjectGeneric, convert, convert_to_object
from ._params import (
    Params,
    load_param_dict,
    load_param_dict_from_file,
    load_params,
    save_param_dict,
    save_param_dict_to_file,
)
from ._replay import Replayed, replay
from ._results import BenchmarkStats, KVStats, MemoryStats, ParamsStats, TensorInfo
from ._structural import (
    ObjectPath,
    ObjectPathPair,
    get_first_structural_mismatch,
    structural_equal,
)
from ._tensor import NDArray, Tensor, array, const, empty, from_dlpack, reads_only, tensor
from ._types import DataType, DataTypeCode, Shape, ShapeTuple, String
from .profiling import Report
from .vm import Cancel, Executable, VirtualMachine, VMInstrumentReturnKind

__version__ = _native.opd_version()

if _typing.TYPE_CHECKING:
    from . import tvm as tvm
else:

    def __getattr__(name):
        """Imports `opdyno.tvm` at its first use."""
        if name == "tvm":
            import importlib

            return importlib.import_module("opdyno.tvm")
        raise AttributeError(f"module 'opdyno' has no attribute '{name}'")


def _take_from_tvm(value: object) -> object:
    """Converts a program that TVM compiled. `opdyno.tvm` is imported only if TVM is used, because it depends on the
    other modules."""
    if type(value).__module__.startswith("tvm"):
        from .tvm import load

        return load(value)
    return value


_takers.append(_take_from_tvm)


def memory_stats(device: "Device | None" = None) -> MemoryStats:
    """Returns the counts of the memory that the process uses on a device. Default: cpu:0."""
    return _native.opd_memory_get_stats(device if device is not None else cpu())


def reset_peak_memory_stats(device: "Device | None" = None) -> None:
    """Sets the peak of a device to the memory that is in use now. Default: cpu:0. Source: torch.cuda's function."""
    _native.opd_memory_reset_peak(device if device is not None else cpu())


def empty_cache(device: "Device | None" = None) -> None:
    """Returns to the system the memory that is kept for later tensors of a device. Default: cpu:0.

    It does not affect memory that VMs keep; see `VirtualMachine.trim`. Source: torch.cuda's function.
    """
    _native.opd_memory_trim(device if device is not None else cpu())


def build_info() -> "dict[str, _typing.Any]":
    """Describes how the library was built: version, compiler, architecture, features, and the TVM releases that it
    loads."""
    return dict(_json.loads(_native.opd_build_info()))


def set_log_callback(callback: "_Callable[[int, str], object] | None") -> None:
    """Sets the function that gets warnings. None, the default, drops them: the library itself never prints.

    `callback(level, message)`: level 0 debug, 1 information, 2 warning, 3 error. It may be called on any thread. Its
    exceptions go to `sys.unraisablehook`.
    """
    _native.opd_log_set_callback(callback)


__all__ = [
    "Array",
    "BenchmarkResult",
    "BenchmarkStats",
    "Cancel",
    "Code",
    "Comparison",
    "DataType",
    "DataTypeCode",
    "Device",
    "Error",
    "Executable",
    "Function",
    "KVState",
    "KVStats",
    "Map",
    "MemoryStats",
    "Module",
    "ModulePropertyMask",
    "NDArray",
    "Object",
    "ObjectGeneric",
    "ObjectPath",
    "ObjectPathPair",
    "PackedFunc",
    "Params",
    "ParamsStats",
    "Replayed",
    "Report",
    "Shape",
    "ShapeTuple",
    "String",
    "Tensor",
    "TensorInfo",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "array",
    "build_info",
    "cl",
    "compare",
    "const",
    "convert",
    "convert_to_object",
    "cpu",
    "cuda",
    "device",
    "empty",
    "empty_cache",
    "enabled",
    "ext_dev",
    "from_dlpack",
    "get_first_structural_mismatch",
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
    "profiler",
    "profiling",
    "reads_only",
    "register_func",
    "register_global_func",
    "relax",
    "remove_global_func",
    "replay",
    "reset_peak_memory_stats",
    "rocm",
    "runtime",
    "save_param_dict",
    "save_param_dict_to_file",
    "set_log_callback",
    "set_num_threads",
    "structural_equal",
    "system_lib",
    "tensor",
    "vm",
    "vpi",
    "vulkan",
]

for _name in __all__:  # help() and tracebacks show the public names, not the files of the definitions
    _object = globals()[_name]
    if getattr(_object, "__module__", "").startswith("opdyno._"):
        _object.__module__ = "opdyno"
