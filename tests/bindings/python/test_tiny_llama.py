"""Tests of the language model example in Python: the NumPy model finds its tokens likely, and the C program writes the
same ones."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[3]
EXAMPLE = REPOSITORY / "examples" / "tiny_llama"
MODEL = REPOSITORY / "tests" / "interop" / "data" / "language"
REFERENCE = REPOSITORY / "tests" / "interop" / "language" / "shape.py"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def sequences(output):
    return [[int(token) for token in line.split()] for line in re.findall(r"^sequence \d: (.*)$", output, re.M)]


@pytest.fixture(scope="module")
def output():
    return run(sys.executable, EXAMPLE / "tiny_llama.py", MODEL)


def test_each_token_is_one_of_the_likeliest(output, monkeypatch):
    """The NumPy model computes all rows at once in float64, without cache, pages and sharing."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    reference, example = load(REFERENCE), load(EXAMPLE / "tiny_llama.py")
    stored = np.load(MODEL / "weights.npz")
    parameters = [stored[name] for name in sorted(stored.files)]
    first, others = example.Random(example.SEED + 4), example.Random(example.SEED + 5)
    prefix = [first.next() % 97] + [others.next() % 97 for _ in range(example.PREFIX - 1)]
    for i, written in enumerate(sequences(output)):
        random = example.Random(example.SEED + i)
        prompt = [random.next() % 97 for _ in range(example.PROMPT)]
        logits = reference.logits(parameters, prefix + prompt + written)[-len(written) - 1 : -1]
        for row, token in zip(logits, written, strict=True):
            assert row[token] >= np.sort(row)[-example.TOP_K] - 1e-4


def test_a_client_who_leaves_changes_nothing_for_the_others(output):
    assert [len(tokens) for tokens in sequences(output)] == [32, 32, 32, 16]
    assert "cancelled within a pass; the cache is as it was: True" in output


def test_it_tells_the_speed_and_where_the_time_goes(output):
    assert re.search(r"^decode: 108 tokens, \d+ tokens/s$", output, re.M)  # 4 sequences in 15 passes, then 3 in 16
    assert re.search(r"; 8 pages in use, 12 fewer than without sharing$", output, re.M)  # 4 + 4 instead of 4 * 5
    whole = float(re.search(r"^per token of 3 sequences: ([\d.]+) us$", output, re.M)[1])
    parts = dict(re.findall(r"^  (operators|attention|cache bookkeeping|dispatch) +([\d.]+) us", output, re.M))
    assert len(parts) == 4 and sum(map(float, parts.values())) >= whole - 0.3


def test_the_c_program_writes_the_same(output):
    program = REPOSITORY / "build" / "release" / "bin" / "tiny_llama"
    if not program.exists():
        pytest.skip("the C program is not built")
    written = run(program, MODEL)
    assert sequences(written) == sequences(output)
    assert re.sub(r"[\d. ]+", "", written) == re.sub(r"[\d. ]+", "", output)  # all lines are equal except their numbers
