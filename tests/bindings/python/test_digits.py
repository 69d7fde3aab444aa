"""Tests of the digits example in Python: its results are those of the C program, and its plots are complete."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
REPOSITORY = Path(__file__).parents[3]
DIGITS = REPOSITORY / "examples" / "digits"
OPERATORS = ["conv2d", "relu", "max_pool2d", "conv2d", "relu", "max_pool2d", "dense", "softmax"]


def accuracy(output):
    return re.search(r"^accuracy: .*", output, re.M)[0]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A map from formats of the plot to the example's output and plot."""
    directory = tmp_path_factory.mktemp("digits")

    def run(plot):
        done = subprocess.run([sys.executable, DIGITS / "digits.py", plot], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout, plot

    return {suffix: run(directory / f"digits.{suffix}") for suffix in ("png", "svg")}


def test_it_reads_what_the_reference_reads(runs):
    held_out = np.load(DIGITS / "data" / "digits_test.npz")  # NumPy computed the probabilities after the training
    right, count = (held_out["probabilities"].argmax(1) == held_out["labels"]).sum(), len(held_out["labels"])
    for output, _ in runs.values():
        assert accuracy(output) == f"accuracy: {right} of {count} held-out images, {100 * right / count:.2f} %"


def test_it_reads_what_the_c_program_reads(runs, tmp_path):
    program = REPOSITORY / "build" / "release" / "bin" / "digits"
    if not program.exists():
        pytest.skip("the C program is not built: tools/demo")
    c = subprocess.run([program, DIGITS, tmp_path], capture_output=True, text=True, check=True).stdout
    right = re.search(r"accuracy: (\d+ of \d+)", c)[1]
    assert accuracy(runs["png"][0]).startswith(f"accuracy: {right} held-out images")


def test_it_shows_the_report(runs):
    table = runs["png"][0].split("accuracy:")[1]
    rows = [line.split()[0] for line in table.splitlines() if re.match(r"\w+ +\d", line)]
    assert "Duration (us)" in table and sorted(set(OPERATORS)) == sorted(set(rows) & set(OPERATORS))


def test_the_plot_is_whole(runs):
    import matplotlib.image

    pixels = matplotlib.image.imread(runs["png"][1])[:, :, :3]
    height, width, _ = pixels.shape
    assert 1000 < width < 2000 and 500 < height < 1200
    frame = np.ones((height, width), bool)
    frame[8:-8, 8:-8] = False
    assert (pixels[frame] == 1).all()  # nothing is cut off
    assert (pixels[:, :, 2] - pixels[:, :, 0] > 0.3).any()  # blue bars


def test_the_plot_says_what_it_shows(runs):
    text = re.findall(r"<!-- (.*?) -->", runs["svg"][1].read_text())  # texts drawn as curves
    assert [label.split(" →")[0] for label in text if " →" in label] == OPERATORS
    assert any("364 digits" in label for label in text) and any("in µs, median of" in label for label in text)
    assert sum(bool(re.fullmatch(r"[\d,.]+ µs  \(.*%\)", label)) for label in text) == len(OPERATORS) + 1
