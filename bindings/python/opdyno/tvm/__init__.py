"""Use of opdyno with an installed Apache TVM, 0.25 to 0.27. Programs are passed without files, and tensors without a
copy.

    import tvm, opdyno.tvm

    executable = tvm.compile(module, "llvm")
    vm = opdyno.VirtualMachine(opdyno.tvm.load(executable))
    result = opdyno.tvm.to_tvm(vm["main"](tvm.runtime.tensor(x)))

`install()` restores what TVM removed in 0.24: `tvm.relax.VirtualMachine(…, profile=True)`, `.profile()` and
`tvm.runtime.profiling`.

TVM is imported when one of the functions is first called. The functions raise an ImportError if TVM is not installed,
or if opdyno was not tested with its release.
"""

from ._install import install, uninstall
from ._programs import load
from ._values import from_tvm, to_tvm

__all__ = ["from_tvm", "install", "load", "to_tvm", "uninstall"]
