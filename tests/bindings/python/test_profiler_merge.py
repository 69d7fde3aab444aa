"""Tests of merging and comparing recordings from Python. The content of merged files and the statistics are tested in
C++."""

import json
from xml.etree import ElementTree

import numpy
import opdyno
import pytest
from opdyno import profiling
from opdyno.profiler import MergedTrace, diff, merge, profile, record_function, schedule
from test_trace_page import needs_browser, shown


@pytest.fixture
def vm():
    opdyno.register_func("test.merge.kernel", lambda x: None, override=True)
    program = ".func main(x) {\n  call test.merge.kernel(%x)\n  ret %x\n}"
    return opdyno.VirtualMachine(opdyno.Executable.assemble(program), opdyno.cpu())


def recorded(vm, calls, name="request", **options):
    with profile(**options) as p:
        for _ in range(calls):
            with record_function(name):
                vm["main"](numpy.ones(4, "float32"))
    return p


def test_a_merged_trace_has_the_forms_of_a_profile(vm, tmp_path):
    one, two = recorded(vm, 2, profile_memory=True), recorded(vm, 1, "other")
    one.add_metadata("model", "a")
    two.add_metadata("model", "b")
    two.add_metadata("more", "c")
    both = merge([one, two.trace], labels=["rank 0", "rank 1"], clock_errors_ns=[1500, -1])
    assert isinstance(both, MergedTrace) and len(both.trace) == 3
    assert [event.name for event in both.events() if event.kind == "range"] == ["request", "request", "other"]
    assert {row.key: row.count for row in both.key_averages()} == {"request": 2, "main": 3, "test.merge.kernel": 3, "other": 1}
    both.export_chrome_trace(tmp_path / "both.json")
    written = json.loads((tmp_path / "both.json").read_text())
    assert [process["label"] for process in written["opdyno_processes"]] == ["rank 0", "rank 1"]
    assert written["opdyno_processes"][0]["clock_error_ns"] == 1500
    assert written["model"] == "a" and "host_name" not in written
    pids = {event["pid"] for event in written["traceEvents"] if event["name"] == "other"}
    assert len(pids) == 1 and pids.isdisjoint(event["pid"] for event in written["traceEvents"] if event["name"] == "request")
    both.export_stacks(tmp_path / "stacks.txt")
    assert {line.split(";")[0] for line in (tmp_path / "stacks.txt").read_text().splitlines()} == {"rank_0", "rank_1"}
    both.export_memory_timeline(tmp_path / "memory.json", device="cpu")
    three = recorded(vm, 1)
    three.add_metadata("model", "b")
    three.add_metadata("more", "c")
    with pytest.raises(ValueError, match="traces 0 and 1 are of one recording"):
        merge([both, two])
    again = merge([both, three], labels=["job", ""])
    again.export_chrome_trace(tmp_path / "again.json")
    written = json.loads((tmp_path / "again.json").read_text())
    assert [process["label"] for process in written["opdyno_processes"]][:2] == ["job: rank 0", "job: rank 1"]
    assert written["model"] == "a" and written["model of 1"] == "b" and written["more"] == "c"


def test_a_merged_trace_is_moved(vm):
    one, two = recorded(vm, 1), recorded(vm, 1)
    second = 1_000_000_000
    starts = [event.time_range.start for event in merge([one, two], offsets_ns=[3600 * second, 0]).events()]
    assert len(starts) == 6 and starts[:2] != sorted(starts, reverse=True)[:2]
    assert starts[3] - starts[2] > 3e9, "an hour, less what lay between the two"


def test_what_cannot_be_merged_is_refused(vm):
    one, two = recorded(vm, 1), recorded(vm, 1)
    for recordings, options, message in [
        ([], {}, "at least one trace is expected"),
        ([one, one], {}, "trace 1 is trace 0 again"),
        ([one, two], {"labels": ["a"]}, "labels must be as many as the traces, 2, but are 1"),
        ([one, two], {"labels": ["a", "a"]}, 'labels 0 and 1 are both "a"'),
        ([one], {"offsets_ns": [2**62]}, r"offsets_ns\[0\] is 4611686018427387904"),
    ]:
        with pytest.raises(ValueError, match=message):
            merge(recordings, **options)
    with pytest.raises(OverflowError):
        merge([one], offsets_ns=[2**63])
    with pytest.raises(TypeError):
        merge([one], offsets_ns=["soon"])
    with pytest.raises(TypeError):
        merge([1])


def test_a_diff_counts_the_parts(vm):
    before, after = recorded(vm, 4), recorded(vm, 6)
    by_name, by_path = diff(before, after.trace), diff([before], [after, recorded(vm, 2)], by="path")
    assert isinstance(by_name, profiling.Diff)
    assert {row["Name"] for row in by_name.report.calls} == {"main", "test.merge.kernel", "(total)"}
    assert {(row["Runs Before"].value, row["Runs After"].value) for row in by_name.report.calls} == {(4, 6)}
    assert {row["Name"] for row in by_path.report.calls} == {"request;main", "request;main;test.merge.kernel", "(total)"}
    assert {row["Runs After"].value for row in by_path.report.calls} == {8}
    assert diff(before, after, metric="Self (us)", min_effect=0.5).report.configuration["Minimum effect"].ratio == 0.5
    with profile(schedule=schedule(wait=0, warmup=0, active=3, repeat=1)) as steps:
        for _ in range(3):
            vm["main"](numpy.ones(4, "float32"))
            vm["main"](numpy.ones(4, "float32"))
            steps.step()
    assert {row["Runs Before"].value for row in diff(steps, steps).report.calls} == {3}
    with pytest.raises(ValueError, match="by must be one of name, path, not 'shape'"):
        diff(before, after, by="shape")
    with pytest.raises(ValueError, match="at least one report is expected"):
        diff([], after)


def test_a_flame_graph_shows_what_changed(vm, tmp_path):
    before, after = recorded(vm, 3), recorded(vm, 3, "renamed")
    after.export_flame_graph(tmp_path / "diff.svg", before=before)
    titles = [title.text for title in ElementTree.parse(tmp_path / "diff.svg").getroot().iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("renamed\n") for title in titles) and any("only after" in title for title in titles)
    assert any("only before" in title for title in titles)
    after.export_flame_graph(tmp_path / "flame.svg", before=None)
    assert "before" not in (tmp_path / "flame.svg").read_text()


@needs_browser
def test_the_page_says_whose_threads_they_are(vm, tmp_path):
    both = merge([recorded(vm, 1), recorded(vm, 1)], labels=["<rank 0>", "rank 1"], offsets_ns=[0, 5_000_000])
    both.export_html(tmp_path / "trace.html")
    clocks, title, details = shown(
        tmp_path / "trace.html",
        "await search('request'); byId('next').click(); return [text('#clocks'), text('#title'), text('#selected')]",
    )
    assert title == "Trace of <rank 0>, rank 1"
    assert clocks.startswith("<rank 0>: process ") and "moved by 5.000 ms" in clocks
    assert "of <rank 0>" in details
