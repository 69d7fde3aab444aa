"""Tests of opdyno.tvm with a real TVM. run_tvm.py runs this file with each tested release of TVM."""

import inspect
import os
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import opdyno
import opdyno.tvm

INTEROP = Path(__file__).parents[2] / "interop"


@pytest.fixture
def models(tvm, monkeypatch):
    """A map from names to the models of tests/interop."""
    monkeypatch.syspath_prepend(str(INTEROP))
    import host_functions
    from models import ALL_MODELS

    host_functions.register()
    return {model.name: model for model in ALL_MODELS}


@pytest.fixture
def installed(tvm):
    opdyno.tvm.install()
    yield
    opdyno.tvm.uninstall()


PROGRAMS = ["mlp", "tuples", "dynamic", "packed", "destination", "closures", "control", "effects"]


def build(model, mode="bytecode", system_lib_prefix=None):
    import tvm

    module, target = model.module(), tvm.target.Target({"kind": "llvm"})
    if model.kind == "kernels":
        return tvm.compile(module, target)
    for function, parameters in model.bound.items():
        module = tvm.relax.transform.BindParams(function, parameters)(module)
    if system_lib_prefix:
        module = module.with_attr("system_lib_prefix", system_lib_prefix)
    return tvm.relax.build(module, target, exec_mode=mode)


def check(case, theirs, ours):
    """Checks that both have the same result for a case, the same arguments written in place, or the same kind of
    error."""
    from recorded import assert_same, flatten, to_tvm

    answers = []
    for functions, there, back in ((theirs, list, lambda value: value), (ours, opdyno.tvm.from_tvm, opdyno.tvm.to_tvm)):
        arguments = [to_tvm(value) for value in case.inputs]
        try:
            answer = flatten("out", back(functions[case.function](*there(arguments))))
        except Exception as error:
            assert case.raises, f"{case.name}: {error}"
            assert case.raises in [kind.__name__ for kind in type(error).__mro__]
            answer = {}
        for index in case.after:
            answer |= flatten(f"after_{index}", arguments[index])
        answers.append(answer)
    assert_same(answers[1], answers[0], case.name)


# ---- programs


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_they_give_in_tvm(tvm, models, name, mode):
    executable = build(models[name], mode)
    theirs = tvm.relax.VirtualMachine(executable, tvm.cpu())
    ours = opdyno.VirtualMachine(opdyno.tvm.load(executable), opdyno.cpu())
    for case in models[name].cases:
        check(case, theirs, ours)


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_for_a_system_library(tvm, models, name, mode):
    theirs = tvm.relax.VirtualMachine(build(models[name], mode), tvm.cpu())
    executable = build(models[name], mode, system_lib_prefix=f"{name}_")
    ours = opdyno.VirtualMachine(opdyno.tvm.load(executable), opdyno.cpu())
    for case in models[name].cases:
        check(case, theirs, ours)


def test_kernels_without_a_vm(tvm, models):
    executable = build(models["kernels"])
    assert isinstance(executable, tvm.runtime.Executable)
    ours = opdyno.tvm.load(executable)
    assert ours.kind == "library"
    for case in models["kernels"].cases:
        check(case, executable, ours)


def test_it_takes_a_runtime_module_and_leaves_no_file(tvm, models, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    module = opdyno.tvm.load(build(models["mlp"]).mod)
    assert module.kind == "relax.VMExecutable" and list(tmp_path.glob("opdyno*")) == []
    x = models["mlp"].cases[1]
    np.testing.assert_allclose(opdyno.VirtualMachine(module)["with_constants"](*x.inputs).numpy(), x.expected)


def test_what_cannot_be_taken_over_says_why(tvm, models):
    with pytest.raises(TypeError, match="not a str"):
        opdyno.tvm.load("model.so")
    with pytest.raises(TypeError, match="IRModule; compile it first by tvm.compile"):
        opdyno.tvm.load(models["mlp"].module())
    release = ".".join(tvm.__version__.split(".")[:2])
    with pytest.raises(ValueError, match="opdyno.load_module") as caught:
        opdyno.tvm.load(tvm.runtime.load_module(str(INTEROP / "data" / release / "mlp.so")))
    assert isinstance(caught.value, opdyno.Error) and caught.value.code == opdyno.Code.UNSUPPORTED
    vm = tvm.relax.VirtualMachine(build(models["mlp"]), tvm.cpu())
    with pytest.raises(ValueError, match="relax.VirtualMachine"):
        opdyno.tvm.load(vm.module)


def test_a_failed_export_tells_what_tvm_said(tvm, models, monkeypatch):
    import tvm.support.cc

    def fail(*args, **kwargs):
        raise RuntimeError("no linker on this machine")

    monkeypatch.setattr(tvm.support.cc, "create_shared", fail)
    with pytest.raises(ValueError, match="cannot export.*relax.VMExecutable.*no linker on this machine"):
        opdyno.tvm.load(build(models["mlp"]))


def test_without_tvm_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tvm", None)
    for function in (opdyno.tvm.install, lambda: opdyno.tvm.load(None), lambda: opdyno.tvm.to_tvm(1)):
        with pytest.raises(ImportError, match="pip install 'apache-tvm") as caught:
            function()
        assert isinstance(caught.value, opdyno.Error)
    opdyno.tvm.uninstall()


@pytest.mark.parametrize("version", ["0.24.0", "0.28.0.dev1", "1.0", "unknown"])
def test_other_releases_are_refused(monkeypatch, version):
    monkeypatch.setitem(sys.modules, "tvm", types.SimpleNamespace(__version__=version))
    with pytest.raises(ImportError, match=f"0.25 to 0.27; installed is {version}"):
        opdyno.tvm.load(None)


def test_importing_opdyno_does_not_import_tvm():
    import subprocess

    code = "import sys, opdyno, opdyno.tvm; assert opdyno.tvm.load; print([m for m in sys.modules if m.split('.')[0] == 'tvm'])"
    where = os.environ | {"PYTHONPATH": str(Path(opdyno.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=where).stdout == "[]\n"


# ---- host functions


def packed_vm(models):
    """A VM whose function every_kind calls opdyno.test.scale."""
    return opdyno.VirtualMachine(opdyno.tvm.load(build(models["packed"])))


def test_host_functions_are_those_of_the_load(tvm, models):
    x = np.arange(4, dtype="float32")
    before = packed_vm(models)
    tvm.register_global_func("opdyno.test.scale", lambda x, *rest: tvm.runtime.tensor(x.numpy() - 1), override=True)
    after = packed_vm(models)
    np.testing.assert_array_equal(after["every_kind"](x).numpy(), x - 1)
    assert not np.array_equal(before["every_kind"](x).numpy(), x - 1)


def test_functions_that_the_user_registered_in_opdyno_stay(tvm, models):
    opdyno.register_func("opdyno.test.scale", lambda x, *rest: opdyno.tensor(x.numpy() + 7), override=True)
    try:
        x = np.arange(4, dtype="float32")
        np.testing.assert_array_equal(packed_vm(models)["every_kind"](x).numpy(), x + 7)
    finally:
        opdyno.remove_global_func("opdyno.test.scale")


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_an_exception_of_a_host_function_comes_out(tvm, models, mode):
    def fail(*args):
        raise ValueError("no paper")

    tvm.register_global_func("opdyno.test.fail", fail, override=True)
    vm = opdyno.VirtualMachine(opdyno.tvm.load(build(models["packed"], mode)))
    with pytest.raises(ValueError, match="no paper"):
        vm["failing"](np.zeros(4, "float32"))


# ---- values


def test_tensors_go_both_ways_without_a_copy(tvm):
    theirs = tvm.runtime.tensor(np.arange(6, dtype="float32").reshape(2, 3))
    ours = opdyno.tvm.from_tvm(theirs)
    ours.view()[1, 2] = 50
    assert theirs.numpy()[1, 2] == 50 and isinstance(ours, opdyno.Tensor)
    back = opdyno.tvm.to_tvm(ours)
    assert isinstance(back, tvm.runtime.Tensor) and np.shares_memory(np.from_dlpack(back), np.from_dlpack(theirs))
    del theirs, ours
    np.testing.assert_array_equal(back.numpy(), [[0, 1, 2], [3, 4, 50]])
    seen = []
    opdyno.Function(lambda x: seen.append(x))(back)
    seen[0].view()[0, 0] = -1
    assert back.numpy()[0, 0] == -1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "uint8", "bool", "float8_e4m3fn"])
def test_dtypes_survive(tvm, dtype):
    theirs = tvm.runtime.empty((2, 3), dtype)
    ours = opdyno.tvm.from_tvm(theirs)
    assert str(ours.dtype) == dtype and tuple(ours.shape) == (2, 3)
    assert str(opdyno.tvm.to_tvm(ours).dtype) == dtype


def test_other_values_and_nesting(tvm):
    import tvm_ffi

    x = tvm.runtime.tensor(np.ones(2, "float32"))
    nested = tvm_ffi.convert([x, [1, 2.5, None], "text", {"key": x}])
    ours = opdyno.tvm.from_tvm(nested)
    assert isinstance(ours[0], opdyno.Tensor) and ours[1:3] == ((1, 2.5, None), "text")
    assert isinstance(ours[3]["key"], opdyno.Tensor)
    assert opdyno.tvm.from_tvm(ours)[1] == ours[1]
    theirs = opdyno.tvm.to_tvm(opdyno.convert([opdyno.tensor(np.ones(2)), (3, [b"bytes"]), {"a": 1}]))
    assert isinstance(theirs[0], tvm.runtime.Tensor) and theirs[1:] == ((3, (b"bytes",)), {"a": 1})
    for value, kind in (
        (opdyno.Shape((2, 3)), tvm_ffi.Shape), (opdyno.DataType("int8"), tvm_ffi.dtype), (opdyno.cpu(1), tvm.runtime.Device)
    ):
        there = opdyno.tvm.to_tvm(value)
        assert isinstance(there, kind) and opdyno.tvm.from_tvm(there) == value
        assert type(opdyno.tvm.from_tvm(there)) is type(value)
    array = np.ones(3)
    assert opdyno.tvm.to_tvm(array) is array and opdyno.tvm.from_tvm(array) is array


def test_functions_go_both_ways(tvm):
    theirs = opdyno.tvm.to_tvm(opdyno.Function(lambda x, y: x.numpy().sum() + y))
    assert theirs(tvm.runtime.tensor(np.ones(3, "float32")), 2) == 5
    ours = opdyno.tvm.from_tvm(tvm.get_global_func("testing.echo"))
    x = opdyno.tensor(np.arange(3))
    assert isinstance(ours, opdyno.Function) and ours((1, "a")) == (1, "a")
    np.testing.assert_array_equal(ours(x).numpy(), x.numpy())
    with pytest.raises(IndexError, match="at 3"):
        opdyno.tvm.to_tvm(opdyno.Function(lambda: (_ for _ in ()).throw(IndexError("at 3"))))()


def test_objects_without_a_counterpart_are_type_errors(tvm, models):
    with pytest.raises(TypeError, match="VirtualMachine"):
        opdyno.tvm.to_tvm(opdyno.VirtualMachine(INTEROP / "data" / "0.27" / "chain_100.so"))
    with pytest.raises(TypeError, match="Module"):
        opdyno.tvm.from_tvm(build(models["mlp"]).mod)


def test_devices_of_a_remote_session_are_refused(tvm):
    with pytest.raises(ValueError, match="remote"):
        opdyno.tvm.from_tvm(tvm.runtime.Device(1 + 128, 0))


# ---- features that TVM removed


def rows(report, name):
    return [call for call in report.calls if call["Name"] == name]


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("profile", [True, False])
def test_tvms_vm_profiles(tvm, models, installed, mode, profile):
    case = models["mlp"].cases[0]
    vm = tvm.relax.VirtualMachine(build(models["mlp"], mode), tvm.cpu(), profile=profile)
    report = vm.profile("with_arguments", *case.inputs)
    assert isinstance(report, opdyno.profiling.Report)
    # x w1 + b1, relu, · w2 + b2: two products, two sums, one relu
    for name in ("matmul", "matmul1", "add", "add1", "relu"):
        assert len(rows(report, name)) == 1, report.table()
    assert rows(report, "matmul")[0]["Argument Shapes"] == "float32[2, 16], float32[16, 32], float32[2, 32]"
    assert report.device_metrics["cpu0"]["Duration (us)"].microseconds > 0
    tensors = [tvm.runtime.tensor(value) for value in case.inputs]
    np.testing.assert_allclose(vm["with_arguments"](*tensors).numpy(), case.expected)
    again = vm.profile("with_arguments", *tensors)
    assert [call["Name"] for call in again.calls] == [call["Name"] for call in report.calls]


@pytest.mark.parametrize("memory", ["naive", {"cpu": 1}, None])
def test_profiles_after_set_input_and_with_allocators(tvm, models, installed, memory):
    case = models["mlp"].cases[0]
    memory = {tvm.cpu(): memory["cpu"]} if isinstance(memory, dict) else memory
    vm = tvm.relax.VirtualMachine(build(models["mlp"]), [tvm.cpu()], memory)
    x, *weights = case.inputs
    vm.set_input("with_arguments", x, **dict(zip(("w1", "b1", "w2", "b2"), weights)))
    report = vm.profile("with_arguments")
    assert len(rows(report, "relu")) == 1
    vm.invoke_stateful("with_arguments")
    np.testing.assert_allclose(vm.get_outputs("with_arguments").numpy(), case.expected)
    with pytest.raises(ValueError, match="set_input"):
        vm.profile("with_arguments", *case.inputs)


def test_a_profile_runs_host_functions(tvm, models, installed):
    vm = tvm.relax.VirtualMachine(build(models["packed"]), tvm.cpu(), profile=True)
    assert len(rows(vm.profile("every_kind", np.ones(4, "float32")), "opdyno.test.scale")) == 1


def test_files_that_tvm_loads_are_profiled(tvm, models, installed, tmp_path):
    build(models["mlp"]).export_library(str(tmp_path / "mlp.so"))
    vm = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "mlp.so")), tvm.cpu())
    assert len(rows(vm.profile("with_constants", *models["mlp"].cases[1].inputs), "relu")) == 1
    late = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "mlp.so")), tvm.cpu())
    (tmp_path / "mlp.so").unlink()
    build(models["chain_100"]).export_library(str(tmp_path / "mlp.so"))
    with pytest.raises(ValueError, match="load the file itself"):
        late.profile("with_constants", *models["mlp"].cases[1].inputs)


def test_wrong_arguments_of_a_profile(tvm, models, installed):
    vm = tvm.relax.VirtualMachine(build(models["mlp"]), tvm.cpu())
    with pytest.raises(opdyno.Error, match="with_argument"):
        vm.profile("with_argument")
    with pytest.raises(opdyno.Error, match="with_arguments"):
        vm.profile("with_arguments", np.ones(1, "float32"))


def test_the_old_names_of_profiling(tvm, installed):
    from tvm.runtime import profiling
    from tvm.runtime.profiling import Count, Duration, Percent, Ratio, Report

    assert profiling is opdyno.profiling and tvm.runtime.Report is Report is opdyno.profiling.Report
    assert Count(2).value == 2 and Duration(1.5).microseconds == 1.5 and Percent(3.0).percent == 3 and Ratio(0.5).ratio == 0.5


def test_uninstall_leaves_tvm_as_it_was(tvm, models):
    machine = tvm.relax.VirtualMachine
    before = dict(vars(machine)), dict(vars(tvm.runtime)), dict(vars(sys.modules["tvm.runtime.module"]))
    old = machine(build(models["mlp"]), tvm.cpu())
    opdyno.tvm.install()
    opdyno.tvm.install()
    assert "profile" in inspect.signature(machine).parameters
    with pytest.raises(RuntimeError, match="before opdyno.tvm.install"):
        old.profile("with_constants", np.ones((2, 16), "float32"))
    opdyno.tvm.uninstall()
    opdyno.tvm.uninstall()
    assert before == (dict(vars(machine)), dict(vars(tvm.runtime)), dict(vars(sys.modules["tvm.runtime.module"])))
    assert not hasattr(machine, "profile") and "tvm.runtime.profiling" not in sys.modules
    with pytest.raises(ImportError):
        from tvm.runtime import profiling  # noqa: F401


# ---- one process


def test_both_are_used_by_turns_from_two_threads(tvm, models):
    executable = build(models["mlp"], "compiled")
    case = models["mlp"].cases[0]
    theirs, ours = tvm.relax.VirtualMachine(executable, tvm.cpu()), opdyno.VirtualMachine(opdyno.tvm.load(executable))
    wrong = []

    def work(start):
        try:
            for i in range(100):
                scale = np.float32(start + i)
                x = tvm.runtime.tensor(case.inputs[0] * scale)
                rest = [tvm.runtime.tensor(value) for value in case.inputs[1:]]
                first, second = (ours, theirs) if i % 2 else (theirs, ours)
                results = [opdyno.tvm.to_tvm(vm["with_arguments"](x, *rest)).numpy() for vm in (first, second)]
                if not np.array_equal(*results):
                    wrong.append((start, i))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(start,)) for start in (1, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_errors_of_both_do_not_mix(tvm, models):
    executable = build(models["mlp"], "compiled")
    theirs, ours = tvm.relax.VirtualMachine(executable, tvm.cpu()), opdyno.VirtualMachine(opdyno.tvm.load(executable))
    wrong = tvm.runtime.tensor(np.ones((3, 16), "float32"))
    for _ in range(3):
        with pytest.raises(opdyno.Error):
            ours["with_constants"](wrong)
        with pytest.raises(Exception) as caught:
            theirs["with_constants"](wrong)
        assert not isinstance(caught.value, opdyno.Error)


def test_programs_compiled_with_opt_level_0_are_taken_over(tvm, models):
    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    model = models["mlp"]
    module = model.module()
    for function, parameters in model.bound.items():
        module = tvm.relax.transform.BindParams(function, parameters)(module)
    ours = opdyno.VirtualMachine(tvm.relax.build(module, target))
    case = model.cases[1]
    np.testing.assert_allclose(ours[case.function](*case.inputs).numpy(), case.expected, rtol=1e-5)


def at_offset(bytes_past, values):
    """An array whose elements begin `bytes_past` bytes after a multiple of 64."""
    memory = np.zeros(64 + 8 * len(values) + 64, "uint8")
    start = -memory.ctypes.data % 64 + bytes_past
    array = memory[start : start + 8 * len(values)].view("float64")
    array[:] = values
    return array


@pytest.mark.parametrize("bytes_past", [0, 8, 32])
def test_functions_of_tvm_take_and_write_unaligned_arrays(tvm, bytes_past):
    x = at_offset(bytes_past, [1, 2, 3])

    def double(x, items):
        assert x.numpy().tolist() == items[0].numpy().tolist() == [1, 2, 3]
        x.copyfrom(2 * x.numpy())
        return [x, 7]

    function = opdyno.tvm.from_tvm(sys.modules["tvm_ffi"].convert(double))
    result = function(x, (at_offset(bytes_past, [1, 2, 3]), "text"))
    assert result[0].numpy().tolist() == x.tolist() == [2, 4, 6] and result[1] == 7
    assert opdyno.tvm.to_tvm(opdyno.from_dlpack(x)).numpy().tolist() == [2, 4, 6]
    assert opdyno.tvm.to_tvm((opdyno.from_dlpack(x), 1))[0].numpy().tolist() == [2, 4, 6]


def test_tvms_devices_executables_and_modules_are_taken_everywhere(tvm, models, installed):
    kernels, program = build(models["kernels"]), build(models["mlp"])
    case, device = models["kernels"].cases[0], tvm.cpu()
    arguments = opdyno.tvm.from_tvm([tvm.runtime.tensor(np.array(value)) for value in case.inputs])
    for module in (kernels, kernels.mod):
        measured = tvm.runtime.profiling.profile_function(module, device, func_name=case.function)
        assert measured(*arguments)["Duration (us)"].microseconds >= 0
    case = models["mlp"].cases[1]
    for module in (program, program.mod):
        vm = opdyno.VirtualMachine(module, [device], {device: "naive"})
        np.testing.assert_allclose(vm[case.function](*case.inputs).numpy(), case.expected, rtol=1e-5)
        assert vm.time_evaluator(case.function, device, number=1)(*case.inputs).mean > 0
        assert opdyno.profiling.profile_function(module and vm, device, func_name=case.function)(*case.inputs)
        assert "with_constants" in opdyno.Executable(module).as_text()
    assert opdyno.empty((2,), "float32", device).device == opdyno.cpu() == opdyno.device(device)
    assert opdyno.empty((2,)).copyto(device).shape == (2,) and opdyno.memory_stats(device).live_bytes > 0
    assert opdyno.tensor([1.0], device=device).device == opdyno.cpu()
