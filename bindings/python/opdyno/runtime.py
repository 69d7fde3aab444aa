"""The names of `tvm.runtime`. They are the objects of `opdyno` itself, so `import opdyno as tvm` works for scripts that
use the names of both modules."""

from . import profiling, vm
from ._benchmark import BenchmarkResult
from ._device import Device, cl, cpu, cuda, device, ext_dev, gpu, metal, mtl, num_threads, opencl, rocm, vpi, vulkan
from ._function import PackedFunc
from ._module import (
    Module,
    ModulePropertyMask,
    enabled,
    load_module,
    load_static_library,
    system_lib,
)
from ._objects import Object, ObjectGeneric, convert, convert_to_object
from ._params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)
from ._tensor import NDArray, Tensor, array, const, empty, from_dlpack, tensor
from ._types import DataType, DataTypeCode, Shape, ShapeTuple, String
from .profiling import Report
from .vm import Executable, VirtualMachine

__all__ = [
    "BenchmarkResult", "DataType", "DataTypeCode", "Device", "Executable", "Module", "ModulePropertyMask", "NDArray", "Object",
    "ObjectGeneric", "PackedFunc", "Report", "Shape", "ShapeTuple", "String", "Tensor", "VirtualMachine", "array", "cl", "const",
    "convert", "convert_to_object", "cpu", "cuda", "device", "empty", "enabled", "ext_dev", "from_dlpack", "gpu",
    "load_module", "load_param_dict", "load_param_dict_from_file", "load_static_library", "metal", "mtl", "num_threads",
    "opencl", "profiling", "rocm", "save_param_dict", "save_param_dict_to_file", "system_lib", "tensor", "vm", "vpi", "vulkan",
]  # fmt: skip
