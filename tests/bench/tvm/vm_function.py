"""The peer of vm_function_call in ../vm_calls.cc, as most people call TVM: from Python.

Speaks as ../harness.cc --serve does.
"""

import ctypes
import sys
import timeit
from pathlib import Path

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

ROW = "vm_function_call"
BATCH_SECONDS = 1e-3
PROGRAM = "nop_1x4.vmexec"  # as VmProgram in ../vm_program.h names it


def make_timer(programs, library):
    ctypes.CDLL(library).opdyno_bench_register_nop()
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.relax.VMExecutable")
    machine = relax.VirtualMachine(load((programs / PROGRAM).read_bytes()), tvm.cpu())
    names = {"function": machine["main"], **{name: tvm.runtime.tensor(np.zeros(4, "float32")) for name in "abcd"}}
    return timeit.Timer("function(a, b, c, d)", globals=names)


def sample(timer, count):
    return sorted(timer.timeit(count) / count for _ in range(5))[2] * 1e9


def main():
    programs, library = Path(sys.argv[1]), sys.argv[2]
    print(f"{ROW} ns\n", flush=True)
    timer, count = None, 1
    for line in sys.stdin:
        try:
            if line.strip() != ROW:
                raise ValueError(f"there is no row {line.strip()}")
            if timer is None:
                timer = make_timer(programs, library)
                while timer.timeit(count) < BATCH_SECONDS:
                    count *= 2
            print(sample(timer, count), flush=True)
        except Exception as error:  # whatever it is, the driver shows it
            print("!", str(error).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
