"""Tests that scripts for TVM's runtime run with `import opdyno as tvm`, or with another import line replaced."""

import runpy

import numpy as np
import pytest
from conftest import DATA

import opdyno

SCRIPT = """
import numpy as np
import tvm

library = tvm.runtime.load_module("model.so")
vm = tvm.relax.VirtualMachine(library, tvm.runtime.device("cpu", 0))
x = tvm.runtime.tensor(np.arange(4, dtype="float32"), tvm.runtime.cpu())
y = vm["main"](x).numpy()

vm.set_input("main", x)
vm.invoke_stateful("main")
again = vm.get_outputs("main").numpy()

tvm.runtime.save_param_dict_to_file({"x": x}, "x.params")
kept = tvm.runtime.load_param_dict_from_file("x.params")["x"].numpy()
is_tensor = isinstance(x, tvm.runtime.Tensor)
results = vm.time_evaluator("main", tvm.cpu(), number=2, repeat=3)(x).results
same = tvm.runtime.vm.VirtualMachine is tvm.relax.VirtualMachine
report = tvm.runtime.profiling.Report.from_json(vm.profile("main", x).json())
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    (tmp_path / "model.so").symlink_to(DATA / "0.27" / "chain_100.so")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("import tvm\n", "import opdyno as tvm\n"))
    return path


def test_a_script_runs_after_a_change_of_its_import(script):
    found = runpy.run_path(str(script))
    assert found["y"].tolist() == found["again"].tolist() == [100, 101, 102, 103]  # 100 kernels, each of which adds 1
    assert found["kept"].tolist() == [0, 1, 2, 3]
    assert found["is_tensor"] and found["same"] and len(found["results"]) == 3 and len(found["report"]) >= 100


@pytest.mark.parametrize("module", [opdyno.runtime, opdyno.relax])
def test_names_are_those_of_the_package(module):
    for name in module.__all__:
        assert getattr(module, name) is getattr(opdyno, name, opdyno.Executable), name


def test_the_modules_can_be_imported_by_name():
    from opdyno.relax import VMExecutable
    from opdyno.runtime import cpu, load_module, num_threads, tensor, vm

    assert vm.VirtualMachine is opdyno.VirtualMachine and VMExecutable is opdyno.Executable
    assert tensor(np.zeros(2), cpu()).shape == (2,) and callable(load_module) and num_threads() > 0
