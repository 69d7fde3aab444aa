"""Makes with real TVM a library whose C++ code is given its constants by a const_loader: build_constants.py OUT.so.

Asserts that TVM's own answer for weighted([3, 4]) is 3 · 1 + 4 · 2 + 10.
"""

import sys

import numpy as np
import tvm
from tvm_ffi import get_global_func, libinfo

SOURCE = """
#include <tvm/ffi/tvm_ffi.h>
namespace ffi = tvm::ffi;
static ffi::Array<ffi::Tensor> kept;
static int64_t init(ffi::Array<ffi::Tensor> constants) {
  kept = constants;
  return 0;
}
static double weighted(ffi::TensorView x) {
  const float *values = static_cast<float *>(x.data_ptr()), *weights = static_cast<float *>(kept[0].data_ptr());
  double sum = static_cast<float *>(kept[1].data_ptr())[0];
  for (int64_t i = 0; i < x.shape()[0]; ++i) sum += values[i] * weights[i];
  return sum;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(__init_weighted, init);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(weighted, weighted);
"""


def tensor(*values):
    return tvm.runtime.tensor(np.array(values, dtype="float32"))


constants = {"weights": tensor(1, 2), "offset": tensor(10)}
loader = get_global_func("ffi.Module.create.const_loader")(constants, {"weighted": ["weights", "offset"]})
loader.import_module(get_global_func("runtime.CSourceModuleCreate")(SOURCE, "cc", ["weighted"], []))
loader.export_library(sys.argv[1], options=["-std=c++17", "-O1"] + [f"-I{path}" for path in libinfo.include_paths()])
module = tvm.runtime.load_module(sys.argv[1])
assert module.kind == "const_loader", module.kind
assert module["weighted"](tensor(3, 4)) == 21
