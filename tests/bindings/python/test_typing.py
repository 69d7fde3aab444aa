"""Tests that the stub of the native module lists what the module has, and that two type checkers accept programs and
the package."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opdyno
from opdyno import _native
from test_docs import blocks

PACKAGE = Path(opdyno.__file__).parent
STUB = ast.parse((PACKAGE / "_native.pyi").read_text())


def stub_names(*kinds):
    return {node.target.id if isinstance(node, ast.AnnAssign) else node.name for node in STUB.body if isinstance(node, kinds)} - {
        "_Options", "_Bytes", "_Names"}


def parameter_count(function):
    """The number of a C function's parameters, from the message of a call with too many arguments."""
    with pytest.raises(TypeError) as caught:
        function(*range(100))
    text = str(caught.value)
    if "takes no arguments" in text:
        return 0
    number = re.search(r"(?:expected|takes exactly) (\w+) argument", text)[1]
    return 1 if number == "one" else int(number)


def test_every_function_of_the_stub_is_there_and_takes_so_many_arguments():
    functions = {node.name: len(node.args.posonlyargs) for node in STUB.body if isinstance(node, ast.FunctionDef)}
    assert len(functions) > 100 and "__getattr__" not in functions
    assert {name: parameter_count(getattr(_native, name)) for name in functions} == functions


def test_every_class_and_number_of_the_stub_is_there():
    for name in stub_names(ast.AnnAssign):
        assert isinstance(getattr(_native, name), int)
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            members = [member.name for member in node.body if isinstance(member, ast.FunctionDef)]
            # Python has the method __buffer__ from 3.12 on, and constructors under this name, too.
            missing = [name for name in members if not hasattr(getattr(_native, node.name), name) and name != "__buffer__"]
            assert missing == []


def test_the_stub_has_what_the_package_uses_and_nothing_else():
    used = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "_native":
                used.add(node.attr)
    assert used == stub_names(ast.FunctionDef, ast.ClassDef, ast.AnnAssign)


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A directory with a copy of the package and programs that import it: the example, and those of docs/python.md
    without TVM."""
    directory = tmp_path_factory.mktemp("typing")
    (directory / "programs").mkdir()
    (directory / "digits").mkdir()
    shutil.copy(Path(__file__).parent / "example.py", directory / "programs")
    shutil.copy(Path(__file__).parents[3] / "examples" / "digits" / "digits.py", directory / "digits")
    (directory / "programs" / "page.py").write_text("\n".join(blocks(with_tvm=False)))
    shutil.copytree(PACKAGE, directory / "package" / "opdyno", ignore=shutil.ignore_patterns("*.so", "bin", "__pycache__"))
    (directory / "programs" / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    return directory


def run(program, *arguments, cwd):
    settings = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    command = [sys.executable, "-m", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=settings)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("what", ["programs", "package", "digits"])
def test_mypy_accepts(what, directory):
    pytest.importorskip("mypy")
    if what == "digits":
        pytest.importorskip("matplotlib")
    run("mypy", "--strict", f"--cache-dir={directory / 'cache'}", ".", cwd=directory / what)


@pytest.mark.parametrize("what", ["programs", "package"])
def test_pyright_accepts(what, directory):
    pytest.importorskip("pyright")
    run("pyright", "--pythonpath", sys.executable, cwd=directory / what)


def test_type_checkers_see_a_mistake(directory):
    """Otherwise they could accept everything because they see no types."""
    pytest.importorskip("mypy")
    wrong = directory / "wrong.py"
    wrong.write_text("import opdyno\n\nx: int = opdyno.empty((1,)).shape\nopdyno.cpu().nothing()\n"
                     "stats = opdyno.memory_stats()\nstats.live_bytes = 0\ntext: str = stats.peak_bytes\nopdyno.MemoryStats(bytes=3)\n")
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={directory / 'cache'}", wrong]
    told = subprocess.run(command, capture_output=True, text=True).stdout
    assert "Shape" in told and '"Device" has no attribute "nothing"' in told
    assert 'Property "live_bytes" defined in "MemoryStats" is read-only' in told
    assert 'expression has type "int", variable has type "str"' in told and 'Unexpected keyword argument "bytes"' in told
