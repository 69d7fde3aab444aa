"""Tests the features of the profiler in TVM's last release with one, by profiling a network that TVM compiled."""

import csv
import io
import itertools
import json
import socket

import numpy as np
import pytest

import opdyno
from opdyno import profiling
from conftest import DATA
from opdyno.profiling import Count, Duration, Percent, PAPIMetricCollector, Ratio, Report, profile_function

X = np.ones((2, 16), "float32")


@pytest.fixture
def mlp():
    return opdyno.VirtualMachine(DATA / "0.27" / "mlp.so", opdyno.cpu(), profile=True)


@pytest.fixture
def report(mlp):
    return mlp.profile("with_constants", X)


def test_every_kernel_is_a_row_of_the_csv(report):
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    kernels = [row for row in rows if row["Name"].startswith("fused_")]
    assert [row["Name"] for row in kernels] == ["fused_matmul_add_relu", "fused_matmul1_add1"]
    assert kernels[0]["Argument Shapes"] == "float32[2, 16], float32[16, 32], float32[32], float32[2, 32]"
    assert all(float(row["Duration (us)"]) > 0 and row["Device"] == "cpu0" and row["Count"] == "1" for row in kernels)
    assert sum(float(row["Percent"]) for row in rows) == pytest.approx(100, abs=0.01)


def test_the_json_has_tvms_types(report):
    parsed = json.loads(report.json())
    assert list(parsed) == ["calls", "device_metrics", "configuration"]
    for call in parsed["calls"]:
        assert isinstance(call["Name"]["string"], str) and isinstance(call["Count"]["count"], int)
        assert isinstance(call["Duration (us)"]["microseconds"], float) and isinstance(call["Percent"]["percent"], float)
    assert parsed["device_metrics"]["cpu0"]["Name"] == {"string": "Total"}
    assert parsed["configuration"]["Executor"] == {"string": "VM"} and parsed["configuration"]["Number of threads"]["count"] > 0
    assert parsed["configuration"]["Machine"] == {"string": socket.gethostname()}


@pytest.mark.parametrize("sort, aggregate, col_sums", list(itertools.product([True, False], repeat=3)))
def test_a_report_that_was_stored_makes_the_same_tables(report, sort, aggregate, col_sums):
    again = Report.from_json(report.json())
    assert again.table(sort, aggregate, col_sums) == report.table(sort, aggregate, col_sums)
    assert ("\nSum " in report.table(sort, aggregate, col_sums)) == col_sums


def test_a_report_made_by_hand_is_laid_out_by_kind():
    calls = [{"Name": "a", "Duration (us)": Duration(12345.678), "Percent": Percent(33.333), "Count": Count(3), "x": Ratio(0.5)},
             {"Name": "b", "Duration (us)": Duration(2), "Percent": Percent(66.667), "Count": Count(1), "x": Ratio(0.25)}]
    lines = Report(calls, {"cpu0": {"Duration (us)": Duration(20000)}}, {"Number of threads": Count(2)}).table().splitlines()
    assert lines[1].split() == ["a", "12345.68", "33.33", "3", "0.5"] and lines[2].split() == ["b", "2.00", "66.67", "1", "0.25"]
    assert lines[4].split() == ["Sum", "12347.68", "100.00", "4"] and lines[5].split() == ["Total", "20000.00"]
    assert lines[-1] == "Number of threads: 2"


def test_inputs_may_be_set_before(mlp):
    mlp.set_input("with_constants", X)
    assert "fused_matmul_add_relu" in str(mlp.profile("with_constants"))


def test_tuples_that_are_made_of_tensors_are_rows():
    vm = opdyno.VirtualMachine(DATA / "0.27" / "tuples.so", opdyno.cpu(), profile=True)
    report = vm.profile("nested", np.ones(4, "float32"), np.ones(4, "float32"))
    names = [str(call["Name"]) for call in report.calls if str(call["Name"]) != "vm.builtin.match_shape"]
    assert [name for name in names if not name.startswith(("(", "vm.builtin.check_"))] == [
        "add", "multiply", "subtract", "vm.builtin.make_tuple", "vm.builtin.make_tuple"]


def test_a_profile_tells_its_turn(mlp, report):
    assert json.loads(mlp.profile("with_constants", X, turn=3).json())["configuration"]["Turn"] == {"count": 3}
    assert "Turn" not in json.loads(report.json())["configuration"]


def test_equal_calls_become_one_row_in_a_table(mlp):
    report = mlp.profile("with_constants", X, repeat=7)
    (row,) = [line for line in report.table().splitlines() if line.startswith("fused_matmul_add_relu ")]
    assert row.split()[4] == "7"
    assert sum(line.startswith("fused_matmul_add_relu ") for line in report.table(aggregate=False).splitlines()) == 7


def test_one_function_is_measured_without_and_with_counters(kernels):
    array = np.ones(8)
    assert set(profile_function(kernels, opdyno.cpu(), None, "double", warmup_iters=3)(array)) == {"Duration (us)"}
    assert array.tolist() == [16.0] * 8, "three calls to warm up and one that was measured, each doubled"
    assert "Duration (us)" in profile_function(kernels, opdyno.cpu())(1, 2), "by the name that the module is called by"
    try:
        events = PAPIMetricCollector({opdyno.cpu(): ["perf::TASK-CLOCK"]})
    except opdyno.Error as error:
        pytest.skip(str(error))
    measured = profile_function(kernels, opdyno.cpu(), [events], "sum")(array)
    assert measured["perf::TASK-CLOCK"].value >= 0
    with pytest.raises(IndexError, match="out of paper"):
        profile_function(kernels, opdyno.cpu(), [], "fail")()


def test_durations_are_added_scaled_and_compared():
    one, three = profiling.Duration(1.0), profiling.Duration(3.0)
    assert one + three == profiling.Duration(4.0) and three - one == one * 2 == 2 * one and three / one == 3.0
    assert three / 3 == one and sum([one, three]) == one + three and max(one, three) is three and sorted([three, one]) == [one, three]
    assert float(three) == 3.0 and one < three and three >= three and not one > three
    for wrong in (lambda: one + 1, lambda: one + profiling.Count(1), lambda: one < 2, lambda: one * one):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("kind", [profiling.Count, profiling.Bytes])
def test_a_count_is_made_of_a_whole_number(kind):
    for wrong in (1.5, 2.0, "a", None, 2**63):
        with pytest.raises(TypeError, match=f"a {kind.__name__} is made of an int of 64 bits"):
            kind(wrong)
    assert kind(np.int8(3)) == kind(3) == kind(6) / 2 == kind(1) * 3
    assert kind(3) / 2 == profiling.Ratio(1.5)


@pytest.mark.parametrize("kind", [profiling.Duration, profiling.Percent, profiling.Ratio])
def test_a_metric_is_made_of_a_number(kind):
    for wrong in ("a", b"1", None, [1]):
        with pytest.raises(TypeError, match=f"a {kind.__name__} is made of a number"):
            kind(wrong)


def test_reports_are_read_without_json(chain, monkeypatch):
    report = chain.profile("main", np.zeros(4, "float32"), details=True)
    encoded = json.loads(report.json())
    monkeypatch.setattr(opdyno.Report, "json", None)
    assert [list(call) for call in report.calls] == [list(call) for call in encoded["calls"]]
    assert list(report.configuration) == list(encoded["configuration"]) and list(report.device_metrics) == ["cpu0"]
    first, text = report.calls[0], encoded["calls"][0]
    assert first["Name"] == text["Name"]["string"] and first["Duration (us)"].microseconds == pytest.approx(text["Duration (us)"]["microseconds"])
