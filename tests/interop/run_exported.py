"""Runs with real TVM what opdyno exported: run_exported.py FILE…; main([1, 2]) must give (1 + 2)²."""

import sys

import numpy as np
import tvm
from tvm import relax

for path in sys.argv[1:]:
    module = tvm.runtime.load_module(path)
    vm = relax.VirtualMachine(module, tvm.cpu())
    answer = vm["main"](tvm.runtime.tensor(np.array([1, 2], dtype="float32")))
    assert answer == 9, answer
    kinds = [child.kind for child in module.imports]
    assert kinds == ["library", "relax.VMExecutable"], kinds  # and not opdyno's own
    assert module.imports[1]["has_function"]("same") and not module.implements_function("half", True)
print("TVM", tvm.__version__, "agrees")
