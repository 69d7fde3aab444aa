"""Tests of the output of reports, diffs and traces: a summary that fits the terminal, the whole table in a pipe, a
sentence and bars in a notebook."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import xml.etree.ElementTree

import pytest
from conftest import DATA

import opdyno
from opdyno import _shown, profiling
from opdyno.profiling import Duration

PROGRAM = """
import numpy, opdyno
from opdyno import profiling
from opdyno.profiling import Duration

vm = opdyno.VirtualMachine("model.so")
x = numpy.arange(4, dtype="float32")
report, trace = vm.profile_with_trace("main", x)

def run(scale):
    calls = [{"Name": f"fused_conv2d{i}_add_relu", "Duration (us)": Duration((100.0 - i) * scale)} for i in range(40)]
    return profiling.Report(calls, {}, {})

diff = profiling.diff([run(1 + k * 1e-3) for k in range(8)], [run(1.5 + k * 1e-3) for k in range(8)])
print(WHAT)
"""


@pytest.fixture
def show(tmp_path):
    """A function that runs a program which prints one object to a terminal or a pipe. It returns the output."""
    (tmp_path / "model.so").symlink_to(DATA / "0.27" / "chain_100.so")

    def show(what, terminal=None):
        words = [sys.executable, "-c", PROGRAM.replace("WHAT", what)]
        if terminal is None:
            return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        main, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", *terminal, 0, 0))
        settings = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        child = subprocess.Popen(words, cwd=tmp_path, stdin=follower, stdout=follower, env=settings | {"TERM": "xterm"})
        os.close(follower)
        text = b""
        try:
            while block := os.read(main, 65536):
                text += block
        except OSError:  # Linux reports in this way that the other side was closed
            pass
        os.close(main)
        assert child.wait() == 0
        return re.sub("\033\\[[0-9;]*m", "", text.decode().replace("\r\n", "\n"))

    return show


@pytest.mark.parametrize("what", ["report", "trace", "diff"])
@pytest.mark.parametrize("terminal", [(24, 80), (40, 60)])
def test_a_terminal_has_what_fits(show, what, terminal):
    lines = show(what, terminal).splitlines()
    assert len(lines) < terminal[0] and max(map(len, lines)) <= terminal[1]


def test_a_report_is_its_summary_on_a_terminal_and_its_table_in_a_pipe(show):
    shown = show("run(1)", (24, 80))  # artificial times, because those of such a small program may be 0
    assert shown.startswith("Operator ") and re.search(r"\nfused_conv2d0_add_relu takes [\d.]+ % of the time", shown)
    whole = show("report")
    assert whole.startswith("Name ") and "Configuration" in whole and "takes" not in whole


def test_a_trace_is_its_times_by_name(show):
    assert re.search(r"(?m)^add +<?[\d.]+ .s +[\d.]+ % .* 100 ", show("trace", (24, 100)))
    assert "Self CPU time total: " in show("trace")


def test_a_diff_ends_with_the_total_and_a_sentence(show):
    shown = show("diff", (24, 80)).splitlines()
    total = next(i for i, line in enumerate(shown) if line.startswith("(total) "))
    assert re.fullmatch(r"and \d+ more, which change the total less", shown[total - 1])
    sentence = " ".join(shown[total + 1 :])
    assert re.match(r"49\.\d % slower \(\+4\d\.\d % to \+5\d\.\d %\); fused_conv2d", sentence) and "; 37 more changed" in sentence
    names = [line.split()[0] for line in shown[1 : total - 1]]
    assert len(names) == len(set(names)) > 10
    whole = show("diff")
    assert whole.startswith("Name ") and whole.count("fused_conv2d") == 40


def test_what_stands_in_for_standard_output_gets_the_whole_table(monkeypatch):
    class Writer:
        def write(self, text):
            pass

    report = profiling.Report([{"Name": "f", "Duration (us)": Duration(1.0)}], {}, {})
    for stream in Writer(), None:
        monkeypatch.setattr(sys, "stdout", stream)
        assert str(report) == report.table()


def test_names_of_a_column_stay_different():
    assert _shown._fitted(["abcdefghij", "abc"], 7) == ["abcd…ij", "abc"]
    assert _shown._fitted(["abcde1ghij", "abcde2ghij"], 7) == ["abcde1…", "abcde2…"]
    assert _shown._fitted(["abcde1ghijk", "abcde2ghijk", "abcde1ghijk"], 6) == ["abc…~1", "abc…~2", "abc…~1"]


def test_the_sentence_of_a_diff_has_what_is_known():
    def runs(us, count, **others):
        times = [{"f": us, **others} for _ in range(count)]
        calls = [[{"Name": n, "Duration (us)": Duration(t + k * 0.01)} for n, t in run.items()] for k, run in enumerate(times)]
        return [profiling.Report(run, {}, {}) for run in calls]

    def said(before, after):
        return _shown.diff_sentence(profiling.diff(before, after).report)

    assert said(runs(100.0, 3), runs(110.0, 3)) == "too few runs to tell whether it is faster"
    assert said(runs(100.0, 13), runs(90.0, 13)) == "10.0 % faster (-10.1 % to -9.9 %)"  # runs differ by up to 0.12
    assert said(runs(100.0, 13), runs(100.0, 13)).startswith("as fast as before (")
    assert said(runs(100.0, 13, old=50.0), runs(100.0, 13, new=80.0)).endswith("; new new; old vanished")
    assert _shown.diff_sentence(profiling.Report([], {}, {})) == "no run has an operator"


def test_a_notebook_has_a_sentence_and_bars():
    vm = opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so")
    _, trace = vm.profile_with_trace("main", opdyno.empty((4,), "float32"))
    report = profiling.Report([{"Name": "conv2d", "Duration (us)": Duration(3.0)}, {"Name": "add", "Duration (us)": Duration(1.0)}], {}, {})
    changes = profiling.diff([report] * 4, [report] * 4)
    for shown in report, trace, changes:
        page = xml.etree.ElementTree.fromstring(shown._repr_html_())
        kinds = [part.get("class") for part in page.iter()]
        assert "bars" in kinds and page.find("table") is not None, shown
        assert "conclusion" in kinds or shown is trace, shown  # all its times may be 0
