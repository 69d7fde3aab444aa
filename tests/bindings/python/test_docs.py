"""Runs the examples of README and docs/. The examples of a page are one program, in their order. Examples of README and
of the guides run in a folder with the files that tools/demo makes."""

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from conftest import DATA

DOCS = Path(__file__).parents[3] / "docs"
DIGITS = Path(__file__).parents[3] / "examples" / "digits"


def blocks(with_tvm, page="python.md"):
    text = (DOCS / page).read_text()
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
        if ("tvm." in match[1]) == with_tvm:
            yield match[1]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A function that runs code blocks as a module, because TVMScript reads the module's source. It returns the
    module."""
    shutil.copy(DATA / "0.27" / "chain_100.so", tmp_path / "model.so")
    monkeypatch.chdir(tmp_path)

    def run(name, codes):
        program = tmp_path / f"{name}.py"
        program.write_text("\n".join(codes))
        spec = importlib.util.spec_from_file_location(name, program)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return run


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """A folder with model.so and digits.npz from examples/digits/digits.c. The parameters are constants of the
    program."""
    import numpy

    import opdyno

    params = opdyno.load_params(DIGITS / "data" / "digits.params")
    text = re.sub(r"main\(images, .*?\)", "main(images)", (DIGITS / "digits.opdasm").read_text())
    constants = ""
    for i, (name, tensor) in enumerate(params.items()):
        text = text.replace(f"%{name}", f"c[{i}]")
        shape = ", ".join(map(str, tensor.shape))
        constants += f".const = tensor(float32, ({shape}), 0x{tensor.numpy().tobytes().hex()})\n"
    program = opdyno.Executable.assemble(text.replace(".func main", constants + ".func main")).to_module()
    folder = tmp_path_factory.mktemp("demo")
    program.export_library(folder / "model.so", addons=[DIGITS / "kernels.c"])
    pixels = opdyno.load_params(DIGITS / "data" / "digits_test.npz")["images"].numpy()
    opdyno.Params({"images": (pixels / numpy.float32(16)).reshape(-1, 8, 8, 1)}).save(folder / "digits.npz")
    return folder


@pytest.fixture
def run_guide(run, demo):
    """Like `run`, but in a folder with the files of the demo."""
    for path in demo.iterdir():
        shutil.copy(path, ".")
    return run


def test_the_examples_run(run, capsys):
    import opdyno

    program = run("python_page", blocks(with_tvm=False))
    assert program.y.numpy().tolist() == [100, 101, 102, 103]  # 100 kernels, each of which adds 1
    assert "Duration (us)" in capsys.readouterr().out and os.path.exists("trace.json") and os.path.exists("weights.npz")
    opdyno.remove_global_func("my.scale")


def test_the_examples_of_languages_run(run, capsys):
    run("languages_page", blocks(with_tvm=False, page="languages.md"))
    printed = capsys.readouterr().out
    assert "[100. 101. 102. 103.]" in printed and printed.rstrip().endswith("1024.0")


def test_the_examples_of_the_readme_run(run_guide, capsys):
    run_guide("readme", blocks(with_tvm=False, page="../README.md"))
    printed = capsys.readouterr().out
    assert re.match(r"\[0 1 2 3 4 ", printed) and "conv2d" in printed  # the first images show these digits


@pytest.mark.parametrize("page", ["from-tvm.md", "from-torch-profiler.md"])
def test_the_examples_for_those_who_come_from_elsewhere_run(run_guide, capsys, page):
    run_guide("elsewhere", re.findall(r"(?ms)^```python\n(.*?)^```", (DOCS / page).read_text()))
    printed = capsys.readouterr().out
    assert "conv2d" in printed and ("(2, 10)" in printed or os.path.exists("trace.json.gz"))


def test_the_examples_of_reports_run(run, capsys):
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    run("reports_page", blocks(with_tvm=False, page="reports.md"))
    printed = capsys.readouterr().out
    assert "| load | 12.50 |" in printed and "Duration (us)" in printed and os.path.exists("report.html")


def test_the_examples_with_tvm_run(run, capsys):
    if "OPDYNO_TEST_TVM" not in os.environ:
        pytest.importorskip("tvm", reason="TVM is not installed; run_tvm.py brings it")
    import opdyno.tvm

    try:
        program = run("python_page_tvm", blocks(with_tvm=True))
    finally:
        opdyno.tvm.uninstall()
    assert program.y.numpy().tolist() == [[3, 3], [3, 3]]  # 1 · 1 + 1 · 1 + 1
    assert "matmul" in capsys.readouterr().out


def test_the_blocks_of_profiling_run(run_guide, capsys):
    program = run_guide("profiling", blocks(with_tvm=False, page="profiling.md"))
    assert program.conv["Name"] == "conv2d" and program.peak.gflops > 0  # the rate is missing if the time is too short
    assert capsys.readouterr().out


def test_the_blocks_of_tracing_run(run_guide, capsys):
    run_guide("tracing", blocks(with_tvm=False, page="tracing.md"))
    printed = capsys.readouterr().out
    assert "Self CPU time total: " in printed and "conv2d" in printed
    assert len(os.listdir("traces")) == 2 and "ProfilerStep*;main;conv2d " in open("stacks.txt").read()
    assert "Source Location" in printed and ":_<module>;main;conv2d " in open("host.txt").read()
    assert "<title>conv2d\n" in open("flame.svg").read() and os.path.getsize("trace.html") > 30_000


def test_the_blocks_of_benchmarks_run(run):
    assert run("benchmarks", blocks(with_tvm=False, page="benchmarks.md")).four.stats.warmup_count == 4


def test_the_blocks_of_collectors_run(run):
    run("collectors", blocks(with_tvm=False, page="collectors.md"))


def test_the_blocks_of_language_models_run(run):
    shutil.copytree(DATA / "language", ".", dirs_exist_ok=True)
    program = run("language_models", blocks(with_tvm=False, page="language_models.md"))
    assert program.logits.shape == (2, 1, 97) and program.cache.stats().free_pages == 15  # of 17 pages


def test_the_blocks_of_compare_run(run):
    shutil.copytree(DATA / "language", ".", dirs_exist_ok=True)
    assert run("compare", blocks(with_tvm=False, page="compare.md")).found
