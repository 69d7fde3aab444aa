"""Tests that an import in a subinterpreter is refused."""

import subprocess
import sys

import pytest

PROGRAM = """
import _xxsubinterpreters as interpreters
import opdyno
from opdyno.profiler import profile, record_function

inner = interpreters.create()
try:
    interpreters.run_string(inner, "import opdyno")
except interpreters.RunFailedError as error:
    print(error)
interpreters.destroy(inner)
with profile() as p, record_function("range"):
    pass
print(p.events()[0].name, opdyno.cpu(0))
"""


def test_a_subinterpreter_cannot_import_it_and_the_main_one_goes_on():
    pytest.importorskip("_xxsubinterpreters")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "the main interpreter only" in done.stdout
    assert done.stdout.endswith("range cpu:0\n")
