"""Prints what real TVM says of each kind of module that it has: module_kinds.py LIBRARY OBJECT.

LIBRARY is a Relax program with its kernels, OBJECT an object file. Lines: what it is, kind, property mask, write formats
joined by commas or "-", whether it implements the function "f".
"""

import sys

import numpy as np
import tvm
from tvm_ffi import get_global_func


def tell(what, module):
    formats = ",".join(module.get_write_formats()) or "-"
    print(what, module.kind, module.get_property_mask(), formats, int(module.implements_function("f")))


program = tvm.runtime.load_module(sys.argv[1])
tell("program", program)
tell("library", program.imports[0])
create_c = get_global_func("runtime.CSourceModuleCreate")
tell("source", create_c("int f;", "c", ["f"], []))
tell("other", create_c("kernel", "cu", ["f"], []))
tell("static", get_global_func("runtime.ModuleLoadStaticLibrary")(sys.argv[2], ["f"]))
zero = tvm.runtime.tensor(np.zeros(1, dtype="float32"))
constants = get_global_func("ffi.Module.create.const_loader")({"a": zero}, {"f": ["a"]})
constants.import_module(program.imports[0])
tell("constants", constants)
tell("system", tvm.runtime.system_lib())
