"""Tests of merging and comparing reports from Python. The statistics are tested in C++."""

import json

import opdyno
import pytest
from opdyno import _native, profiling
from opdyno.profiling import Report


def runs(middle, count, rank=0):
    """Reports of one operator whose successive times are not correlated."""
    return [
        Report.from_json(
            json.dumps(
                {
                    "calls": [
                        {
                            "Name": {"string": "<f>"},
                            "Duration (us)": {"microseconds": middle * (1 + 0.01 * ((i * 7 % count) / count - 0.5))},
                        }
                    ],
                    "device_metrics": {},
                    "configuration": {"Rank": {"count": rank}, "Executor": {"string": "VM"}},
                }
            )
        )
        for i in range(count)
    ]


def test_merge_makes_columns_of_what_differs():
    merged = profiling.merge(runs(1, 2) + runs(2, 1, rank=1))
    assert [call["Run"].value for call in merged.calls] == [0, 1, 2]
    assert [call["Rank"].value for call in merged.calls] == [0, 0, 1]
    assert merged.configuration == {"Executor": "VM"}
    with pytest.raises(TypeError, match="reports"):
        profiling.merge([1])
    with pytest.raises(ValueError, match="at least one report is expected"):
        profiling.merge([])


def test_diff_gives_verdicts():
    slower = profiling.diff(runs(100, 13), runs(110, 13))
    assert slower.verdict == "regression" and len(slower) == 1
    (row,) = slower.report.calls
    assert row["Verdict"] == "regression" and row["Change"].ratio == pytest.approx(0.1)
    assert row["Change Low"].ratio < 0.1 < row["Change High"].ratio
    assert profiling.diff(runs(110, 13), profiling.merge(runs(100, 13))).verdict == "improvement"
    assert profiling.diff(runs(100, 13), runs(110, 13), min_effect=0.2).verdict == "same"
    assert row["Fails"].value == 0
    (row,) = profiling.diff(runs(100, 13), runs(110, 13), fail_above=0.03, paired=True).report.calls
    assert row["Fails"].value == 1
    assert "regression" in str(slower) and "regression" in repr(slower)
    assert "&lt;f&gt;</td>" in slower._repr_html_()


def test_diff_says_when_it_cannot_tell():
    few = profiling.diff(runs(100, 3), runs(110, 3))
    assert few.verdict == "undecided" and few.runs_needed(0, 0.03) > 3
    with pytest.raises(ValueError, match="level"):
        profiling.diff(runs(1, 2), runs(1, 2), level=3)
    with pytest.raises(TypeError):
        profiling.diff(runs(1, 2), runs(1, 2), min_effect="much")


def test_a_benchmark_tells_how_far_it_can_be_relied_on():
    result = opdyno.vm.evaluator(opdyno.Function(lambda: None), opdyno.cpu(), "", repeat=3)()
    stats = result.stats
    assert stats.is_noisy is True and stats.median_high == float("inf")  # an interval needs at least 6 results
    assert (stats.mean, stats.median, stats.std, stats.min, stats.max) == (result.mean, result.median, result.std, result.min, result.max)


def test_two_benchmarks_are_compared():
    before, after = (_native.benchmark_of([scale * (1 + i * 7 % 20 / 1000) for i in range(20)]) for scale in (1.0, 1.5))
    report = before.diff(after)
    (row,) = report.calls
    assert row["Verdict"] == "regression" and abs(row["Change"].ratio - 0.5) < 0.01, row
    assert before.diff(before).calls[0]["Verdict"] == "same"
    assert before.diff(after, min_effect=0.9).calls[0]["Verdict"] != "regression"
    with pytest.raises(ValueError, match="level"):
        before.diff(after, level=2.0)
