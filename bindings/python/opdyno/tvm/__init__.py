"""opdyno beside an installed Apache TVM, 0.25 to 0.27: programs go over without files of yours, tensors without a copy.

    import tvm, opdyno.tvm

    executable = tvm.compile(module, "llvm")
    vm = opdyno.VirtualMachine(opdyno.tvm.load(executable))
    result = opdyno.tvm.to_tvm(vm["main"](tvm.runtime.tensor(x)))

`install()` gives TVM itself back what it lost with 0.24: `tvm.relax.VirtualMachine(…, profile=True)`, `.profile()` and
`tvm.runtime.profiling`.

TVM is imported when one of the functions is first called. Each raises an ImportError where it is not installed, or is of a
release that opdyno was not tested with.
"""

from ._install import install, uninstall
from ._programs import load
from ._values import from_tvm, to_tvm

__all__ = ["from_tvm", "install", "load", "to_tvm", "uninstall"]
