"""Tests of modules: loading, look-up of functions, imports, export."""

import subprocess
import threading

import numpy as np
import pytest

import opdyno
from conftest import DATA, KERNELS


def test_a_module_gives_functions_by_name(kernels):
    assert kernels.kind == kernels.type_key == "c" and kernels.format == "c"
    assert {"main", "sum", "double", "fail"} <= set(kernels.function_names())
    assert kernels(1, 2, 3) == 3 and kernels.entry_func(1) == 1
    assert kernels.implements_function("sum") and not kernels.implements_function("nothing")
    with pytest.raises(AttributeError, match="nothing") as caught:
        kernels["nothing"]
    assert caught.value.code == opdyno.Code.NOT_FOUND
    with pytest.raises(TypeError):
        kernels[1]
    assert repr(kernels).startswith('<Module "c" at 0x') and repr(kernels).endswith("functions: [double, fail, main, sum]>")
    assert kernels.get_source() == KERNELS
    assert kernels.is_dso_exportable and kernels.is_compilation_exportable()


def test_imports_are_looked_up_and_cycles_refused(kernels):
    program = opdyno.Executable.assemble(".func f(x) {\n  %s = call sum(%x)\n  ret %s\n}").jit()
    assert program.kind == "relax.VMExecutable" and program.imports == []
    program.import_module(kernels)
    assert program.imports == [kernels] and program.imported_modules[0].kind == "c"
    assert program.get_function("sum", query_imports=True)(np.ones(3)) == 3
    assert opdyno.VirtualMachine(program)["f"](np.ones(3)) == 3
    with pytest.raises(ValueError):
        kernels.import_module(program)


def test_a_tree_is_exported_and_loaded_again(kernels, tmp_path):
    program = opdyno.Executable.assemble(".func f(x) {\n  %s = call sum(%x)\n  ret %s\n}").jit()
    program.import_module(kernels)
    program.export_library(tmp_path / "tree.so")
    assert opdyno.VirtualMachine(tmp_path / "tree.so")["f"](np.ones(3)) == 3
    with pytest.raises(ValueError):
        program.export_library(tmp_path / "tree.zip")


def test_the_user_may_link(kernels, tmp_path):
    program = opdyno.Executable.assemble(".func f(x) {\n  %s = call sum(%x)\n  ret %s\n}").jit()
    program.import_module(kernels)

    def link(target, files, flags=()):
        subprocess.run(["cc", "-shared", "-o", target, *files, *flags], check=True)
        return len(files)

    link.object_format = "o"
    assert program.export_library(str(tmp_path / "tree.so"), fcompile=link) >= 1
    assert opdyno.VirtualMachine(tmp_path / "tree.so")["f"](np.ones(3)) == 3
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    assert program.export_library(tmp_path / "kept.so", link, workspace_dir=workspace, flags=["-lm"]) >= 1
    assert opdyno.VirtualMachine(tmp_path / "kept.so")["f"](np.ones(3)) == 3 and list(workspace.glob("*.o"))
    link.object_format = "tar"
    with pytest.raises(ValueError, match="object_format"):
        program.export_library(tmp_path / "tree.so", fcompile=link)


def test_the_compiler_and_its_flags_can_be_chosen(kernels, tmp_path):
    program = opdyno.Executable.assemble(".func f(x) {\n  %s = call sum(%x)\n  ret %s\n}").jit()
    program.import_module(kernels)
    program.export_library(tmp_path / "tree.so", cc="cc", options=["-O1", "-g"])
    assert opdyno.VirtualMachine(tmp_path / "tree.so")["f"](np.ones(3)) == 3
    with pytest.raises(opdyno.Error, match="no-such-compiler"):
        program.export_library(tmp_path / "tree.so", cc="no-such-compiler")
    with pytest.raises(TypeError, match="colour"):
        program.export_library(tmp_path / "tree.so", colour="red")


def test_loading_from_bytes_and_saving():
    program = opdyno.Executable.assemble(".func f() {\n  ret %void\n}")
    module = opdyno.load_module(program.save_bytes())
    assert opdyno.VirtualMachine(module)["f"]() is None
    assert opdyno.Executable(module).as_text() == program.as_text()
    assert opdyno.VirtualMachine(opdyno.Executable.load_bytes(program.save_bytes()))["f"]() is None
    library = (DATA / "0.27" / "chain_100.so").read_bytes()
    assert opdyno.VirtualMachine(opdyno.load_module(library))["main"](np.zeros(4, "float32")).numpy()[0] == 100


def test_a_module_is_saved_alone(kernels, tmp_path):
    kernels.save(tmp_path / "kernels.c")
    assert (tmp_path / "kernels.c").read_text() == KERNELS
    assert opdyno.load_module(tmp_path / "kernels.c")["sum"](np.ones(2)) == 2


def test_what_cannot_be_loaded_is_an_error_that_says_why(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.so") as caught:
        opdyno.load_module(tmp_path / "nothing.so")
    assert isinstance(caught.value, opdyno.Error) and caught.value.code == opdyno.Code.NOT_FOUND
    with pytest.raises(opdyno.Error):
        opdyno.load_module(b"no artifact")
    with pytest.raises(opdyno.Error, match="error"):
        opdyno.load_source("this is not C", cache_dir=str(tmp_path))
    with pytest.raises(TypeError, match="colour"):
        opdyno.load_module(tmp_path / "x.so", colour="red")


def test_functions_keep_their_module_loaded(tmp_path):
    function = opdyno.load_source(KERNELS, cache_dir=str(tmp_path))["sum"]
    assert function(np.ones(4)) == 4


def test_module_functions_are_timed(kernels):
    result = kernels.time_evaluator("sum", opdyno.cpu(), number=3, repeat=5)(np.ones(3))
    assert len(result.results) == 5 and result.min <= result.median <= result.max and result.mean > 0
    assert result.percentile(100) == result.max and "mean (ms)" in str(result)
    calls = []
    count = opdyno.Function(lambda: calls.append(1))
    opdyno.register_func("test.py.before", lambda *args: calls.append("before"), override=True)
    opdyno._benchmark.evaluator(count, None, "test.py.before", number=3, repeat=2)()
    assert calls.count(1) == 1 + 3 * 2 and calls.count("before") == 2


def test_a_time_evaluator_warms_up_and_calls_at_once(kernels):
    calls, threads = [], set()

    @opdyno.Function
    def count():
        calls.append(1)
        threads.add(threading.get_ident())

    def result(**options):
        calls.clear()
        threads.clear()
        return opdyno._benchmark.evaluator(count, None, "", number=3, repeat=2, **options)()

    assert result(warmup=5).stats.warmup_count == 5 and len(calls) == 5 + 3 * 2
    assert threads == {threading.get_ident()}
    several = result(concurrency=3)
    assert len(calls) == 3 * (1 + 3 * 2) and len(threads) == 3 and len(several.results) == 3 * 2
    assert several.stats.number == 3 and several.stats.calls_per_second > 0
    searched = result(steady_ms=10_000).stats
    assert searched.warmup_count + 3 * 2 == len(calls) and searched.is_steady in (True, False)
    timed = kernels.time_evaluator("sum", opdyno.cpu(), number=1, repeat=2, warmup=0, steady_ms=0, concurrency=1)
    assert timed(np.ones(3)).stats.warmup_count == 0
    with pytest.raises(ValueError, match="concurrency must be 1 to 1024"):
        result(concurrency=0)
    with pytest.raises(ZeroDivisionError):
        opdyno._benchmark.evaluator(opdyno.Function(lambda: 1 / 0), None, "", concurrency=2)()


def test_what_this_build_can_run():
    assert opdyno.enabled("llvm") and opdyno.enabled("cpu") and not opdyno.enabled("toaster")
    assert opdyno.num_threads() >= 1
    with pytest.raises(opdyno.Error):
        opdyno.system_lib("no_such_prefix_")["f"]


def test_executables_offer_their_text_as_tvms_do():
    module = opdyno.Executable.assemble(".func main(x) {\n  ret %x\n}").to_module()
    program = opdyno.Executable(module)
    assert module["as_text"]() == program.as_text() and module["stats"]() == program.stats()
    assert module["as_python"]() == program.as_python()
    own = opdyno.Executable.assemble(".func stats(x) {\n  ret %x\n}").to_module()
    with pytest.raises(opdyno.Error):  # a function of the program, which needs a VM
        own["stats"]()


def test_views_of_tensors_are_made_as_in_tvm():
    view = opdyno.get_global_func("runtime.TVMTensorCreateView")
    x = opdyno.tensor(np.arange(8, dtype="float32"))
    part = view(x, opdyno.Shape((2, 2)), "float32", 16)
    assert part.numpy().tolist() == [[4, 5], [6, 7]] and view(x, opdyno.Shape((4,)), "int64", 0).dtype == "int64"
    part.copyfrom(np.zeros((2, 2), "float32"))
    assert x.numpy().tolist() == [0, 1, 2, 3, 0, 0, 0, 0]
    for shape, offset in (((9,), 0), ((8,), 4), ((1,), -4), ((2**62, 8), 0)):
        with pytest.raises(opdyno.Error):
            view(x, opdyno.Shape(shape), "float32", offset)
