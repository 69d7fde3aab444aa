"""Tests that the example runs. test_typing.py checks its types."""

import subprocess
import sys
from pathlib import Path

import pytest

import opdyno
from conftest import DATA

REPOSITORY = Path(__file__).parents[3]


def test_the_example_runs():
    import example

    assert example.main(str(DATA / "0.27" / "chain_100.so")) == 200.0


def test_the_golden_scenario_prints_what_it_prints_in_each_language():
    golden = REPOSITORY / "tests" / "bindings" / "golden"
    subprocess.run([sys.executable, golden / "compare.py", sys.executable, golden / "golden.py"], check=True)


def test_the_program_comes_with_the_package():
    if not (Path(opdyno.__file__).parent / "bin" / "opdyno").exists():
        pytest.skip("built without it")
    run = subprocess.run([sys.executable, "-m", "opdyno", "--version"], capture_output=True, text=True)
    assert run.returncode == 0 and opdyno.__version__ in run.stdout
