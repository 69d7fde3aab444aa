"""Tests of opdyno.profiler.itt with and without a tool that listens."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opdyno.profiler import itt, profile

COLLECTOR = Path(__file__).resolve().parents[2] / "support" / "itt_collector.c"
PROGRAM = """
import ctypes, os
from opdyno.profiler import itt, record_function

assert itt.is_available()
collector = ctypes.CDLL(os.environ["INTEL_LIBITTNOTIFY64"])
collector.collected.restype = ctypes.c_char_p
collector.collected()
with record_function("decorated"), itt.range("range"):
    itt.mark("moment")
    print(itt.range_push("pushed"), itt.range_pop(), itt.range_pop(), itt.range_pop())
print(collector.collected().decode())
"""


def test_depths_count_from_zero_on_each_thread():
    assert [itt.range_push("a"), itt.range_push("b"), itt.range_push("b")] == [0, 1, 2]
    assert [itt.range_pop(), itt.range_pop(), itt.range_pop(), itt.range_pop()] == [2, 1, 0, -1]


def test_ranges_and_marks_are_recorded():
    with profile() as p:
        itt.mark("moment")
        with pytest.raises(KeyError), itt.range("fails"):
            raise KeyError
    assert sorted(event.name for event in p.events()) == ["fails", "moment"]


@pytest.mark.skipif("INTEL_LIBITTNOTIFY64" in os.environ, reason="a tool listens")
def test_nothing_listens_without_a_tool():
    assert not itt.is_available()


@pytest.mark.parametrize("flags", [["-DITT_TABLE"], []])
def test_a_tool_gets_tasks_and_marks(tmp_path, flags):
    library = tmp_path / "collector.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-std=gnu99", "-shared", "-fPIC", *flags, "-o", library, COLLECTOR], check=True)
    settings = dict(os.environ, INTEL_LIBITTNOTIFY64=str(library))
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    depths, *lines = done.stdout.splitlines()
    assert depths == "1 1 0 -1"
    lines = [line for line in lines if line and not line.startswith(("string ", "domain "))]
    mark = ["begin moment", "end"] if flags else ["mark moment"]
    assert lines == ["begin decorated", "begin range", *mark, "begin pushed", "end", "end", "end"]
