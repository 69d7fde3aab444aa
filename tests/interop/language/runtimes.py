"""TVM's VM and opdyno's under the same names, and the weights of the model."""

import numpy as np


def open_program(runtime, program):
    """The VM of a program, and what finds global functions, makes tensors and makes shapes."""
    if runtime == "tvm":
        import tvm
        from tvm import relax

        vm = relax.VirtualMachine(tvm.runtime.load_module(program), tvm.cpu())
        return vm, tvm.get_global_func, tvm.runtime.tensor, getattr(tvm.runtime, "ShapeTuple", None) or tvm.runtime.Shape
    import opdyno

    return opdyno.VirtualMachine(program), opdyno.get_global_func, opdyno.tensor, opdyno.Shape


def read_arrays(path):
    stored = np.load(path)
    return [stored[name] for name in sorted(stored.files)]
