"""Foreign readers read what make_traces.py wrote, and find what the program noted itself. run.py runs this by pytest.

One file of over 600 lines, because each reader's part is short and all compare with the same spans of the same programs.
"""

import copy
import functools
import gzip
import json
import logging
import os
import re
import subprocess
import xml.etree.ElementTree
from collections import Counter, defaultdict
from pathlib import Path

import pytest

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else its graph fails on PyTorch's own traces, too

import forms  # noqa: E402

DIRECTORY = Path(os.environ["OPDYNO_TRACES"])
EXPECTED = json.loads((DIRECTORY / "expected.json").read_text())
WITH_SPANS = ["nasty", "cycle_1", "cycle_2", "full", "not_utf8", "wide_space", "not_xml", "reentrant"]
ALL = [*WITH_SPANS, "empty"]
CYCLES = {"cycle_1": ["2", "3"], "cycle_2": ["6", "7"]}
CLOCKS_NS = 1_000_000  # by which the process's clock and the trace's may differ
KINDS = {"call": "cpu_op", "run": "user_annotation", "range": "user_annotation", "step": "user_annotation"}


def spans_of(name, *kinds):
    return [span for span in EXPECTED[name]["spans"] if not kinds or span["kind"] in kinds]


def counts(names):
    return dict(Counter(names))


def close(a, b, within=1):
    return a == b or (a is not None and b is not None and abs(a - b) <= within)


@functools.cache
def chrome_of(name):
    return forms.Chrome(DIRECTORY / f"{name}.json")


# Chrome


@pytest.mark.parametrize("name", ALL)
def test_chrome_is_json_with_exact_times(name):
    chrome = chrome_of(name)
    text = forms.read(DIRECTORY / f"{name}.json").decode()
    plain = json.loads(text)
    assert json.loads(forms.read(DIRECTORY / f"{name}.json.gz")) == plain
    for number in re.findall(r'"(?:ts|dur)":([^,}]*)', re.sub(r'"(?:[^"\\]|\\.)*"(?!:)', '""', text)):
        assert re.fullmatch(r"\d+\.\d{3}", number), number
    for event, exact in zip(plain["traceEvents"], chrome.events, strict=True):
        if event["ph"] == "X":  # doubles keep nanoseconds
            assert round(event["ts"] * 1000) == forms.nanoseconds(exact["ts"])
            assert round(event["dur"] * 1000) == forms.nanoseconds(exact["dur"])
    assert plain["opdyno_dropped_calls"] == EXPECTED[name].get("dropped", 0)
    if name == "nasty":
        assert plain['key " ] \n'] == 'value " ] \n \\'


@pytest.mark.parametrize("name", ALL)
def test_chrome_spans_of_a_track_nest(name):
    chrome = chrome_of(name)
    tracks = defaultdict(list)
    for event in chrome.events:
        if event["ph"] == "X":
            begin = forms.nanoseconds(event["ts"])
            tracks[event["pid"], event["tid"]].append((begin, -begin - forms.nanoseconds(event["dur"]), event["name"]))
    for spans in tracks.values():
        open_ends = []
        for begin, end, name in sorted(spans):
            while open_ends and open_ends[-1] <= begin and open_ends[-1] < -end:
                open_ends.pop()
            assert not open_ends or -end <= open_ends[-1], f"{name!r} crosses another span of its track"
            open_ends.append(-end)
    assert len({pid for pid, _ in tracks}) <= 1


@pytest.mark.parametrize("name", WITH_SPANS)
def test_chrome_has_what_the_program_did(name):
    """Names, threads, order, parents, kinds, shapes and times."""
    chrome = chrome_of(name)
    found, noted = forms.by_thread(chrome.spans), defaultdict(list)
    for span in EXPECTED[name]["spans"]:
        noted[span["thread"]].append(span)
    assert set(found) == set(noted)
    for thread, wanted in noted.items():
        got = found[thread]
        assert [span.name for span in got] == [span["name"] for span in wanted]
        begin, end = (lambda span: span["begin"]), (lambda span: span["end"] or 1 << 60)
        exact = forms.parents(got, lambda span: span.begin, lambda span: span.end)
        assert exact == forms.parents(wanted, begin, end)
        for span, note in zip(got, wanted, strict=True):
            assert span.category == KINDS[note["kind"]]
            assert span.dims == note.get("dims"), note
            assert bool(span.args.get("Open")) == (note["end"] is None), note
            (before, after), (first, last_inside) = note["outside"], note["inside"]
            assert before is None or before - CLOCKS_NS <= span.begin, note
            assert after is None or span.end <= after + CLOCKS_NS, note
            assert first is None or span.begin <= first + CLOCKS_NS, note
            assert last_inside is None or last_inside - CLOCKS_NS <= span.end, note
            if note["end"] is None:
                assert span.end <= EXPECTED[name]["stopped"] + CLOCKS_NS
    marks = sorted((mark.thread, mark.begin, mark.name) for mark in chrome.marks)
    assert [(thread, text) for thread, _, text in marks] == [
        (mark["thread"], mark["name"]) for mark in sorted(EXPECTED[name]["marks"], key=lambda m: (m["thread"], m["begin"]))
    ]


@pytest.mark.parametrize("name", WITH_SPANS)
def test_chrome_numbers_runs(name):
    chrome = chrome_of(name)
    assert [run.args["Run"] for run in sorted(chrome.runs, key=lambda run: run.begin)] == list(range(len(chrome.runs)))
    runs = {(run.begin, run.end, run.thread) for run in chrome.runs}
    noted = [span for span in chrome.spans if (span.begin, span.end, span.thread) in runs]
    assert len(noted) == len(chrome.runs) and all("Run" in span.args for span in noted)
    ids = [event["args"]["External id"] for event in chrome.events if event["ph"] == "X"]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", WITH_SPANS)
def test_chrome_names_threads(name):
    chrome = chrome_of(name)
    lanes = {span.thread + span.lane * forms.LANE_STEP for span in chrome.spans}
    assert lanes <= set(chrome.thread_names)
    if name == "nasty":
        assert sum('(a"\\]; é)' in text for text in chrome.thread_names.values()) == 2
        assert any(span.lane > 1 for span in chrome.spans), "the sample has ranges that overlap"


# TensorBoard's plug-in


class Complaints(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@pytest.fixture
def complaints():
    from torch_tb_profiler import utils

    handler = Complaints()
    utils.get_logger().addHandler(handler)
    yield handler.texts
    utils.get_logger().removeHandler(handler)


def tensorboard_profile(path, tmp_path):
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator

    data = RunProfileData.parse("worker_1", 1, str(path), str(tmp_path))  # processes and analyzes, too
    return data, RunGenerator("worker_1", 1, data).generate_run_profile()


def operators_in_steps(name):
    """TensorBoard joins a call with the only one within it if both have one name; there are none such here."""
    return counts(span["name"] for span in spans_of(name, "call"))


@pytest.mark.parametrize("directory", ["tensorboard", "tensorboard_gz"])
def test_tensorboard(directory, tmp_path, complaints):
    paths = sorted((DIRECTORY / directory).iterdir())
    assert len(paths) == 2
    for path, (name, steps) in zip(paths, CYCLES.items(), strict=True):
        data, run = tensorboard_profile(path, tmp_path)
        assert data.data_schema_version == 1 and data.distributed_info == {"rank": 3}
        assert data.steps_names == steps
        assert counts({agg.name: agg.calls for agg in data.op_list_groupby_name}) and {
            agg.name: agg.calls for agg in data.op_list_groupby_name
        } == operators_in_steps(name)
        assert [view.display_name for view in run.views] == ["Overview", "Operator", "Trace"]
        rows = run.operation_table_by_name["data"]
        assert {row["name"]: row["calls"] for row in rows} == operators_in_steps(name)
        shapes = {(row["name"], row["input_shape"]) for row in run.operation_table_by_name_input["data"]}
        assert shapes == {(span["name"], str(span["dims"])) for span in spans_of(name, "call")}
        assert [row[0] for row in run.overview["steps"]["rows"]] == steps
        chrome = forms.Chrome(path)
        per_thread = [
            pair
            for spans in forms.by_thread(chrome.spans).values()
            for pair in zip(spans, operator_self_times(spans), strict=True)
        ]
        for row in rows:
            total = sum(span.end - span.begin for span, _ in per_thread if is_operator(span, row["name"]))
            own = sum(time for span, time in per_thread if is_operator(span, row["name"]))
            assert close(row["host_total_duration"], total / 1000, 1), row  # it rounds to µs
            assert close(row["host_self_duration"], own / 1000, 1), row
    assert complaints == []


def is_operator(span, name):
    return span.category == "cpu_op" and span.name == name


def operator_self_times(spans):
    """TensorBoard's trees have operators alone."""
    operators = [span for span in spans if span.category == "cpu_op"]
    _, times = forms.self_times(operators)
    own = dict(zip(map(id, operators), (time for time, _ in times), strict=True))
    return [own.get(id(span), 0) for span in spans]


def test_tensorboard_with_names_of_all_kinds(tmp_path, complaints):
    data, run = tensorboard_profile(DIRECTORY / "nasty.json", tmp_path)
    assert {agg.name: agg.calls for agg in data.op_list_groupby_name} == operators_in_steps("nasty")
    assert [view.display_name for view in run.views] == ["Overview", "Operator", "Trace"]
    assert complaints == []


@pytest.mark.parametrize("name", ["nasty", "cycle_1", "empty"])
def test_tensorboard_may_add_to_the_text(name, tmp_path):
    """For its Trace view it cuts the file at the last bracket."""
    from torch_tb_profiler.run import RunProfile

    run = RunProfile("worker", None)
    run.gpu_metrics = ['{"ph":"C","name":"added"}']
    text = gzip.decompress(run.append_gpu_metrics((DIRECTORY / f"{name}.json").read_bytes()))
    events = json.loads(text)["traceEvents"]
    assert events[-1] == {"ph": "C", "name": "added"}
    assert len(events) == 1 + len(json.loads((DIRECTORY / f"{name}.json").read_text())["traceEvents"])


@pytest.mark.parametrize("directory", ["tensorboard", "tensorboard_gz"])
def test_tensorboard_finds_the_files(directory):
    from torch_tb_profiler import io
    from torch_tb_profiler.profiler.loader import RunLoader

    with io.Cache() as cache:
        run = RunLoader("run", str(DIRECTORY / directory), cache).load()
    assert run.workers == ["worker_1"] and run.get_spans("worker_1") == ["1", "2"]
    assert [view.display_name for view in run.views] == ["Overview", "Operator", "Trace"]


# HolisticTraceAnalysis


def hta_trace(*paths):
    from hta.common.trace import Trace

    trace = Trace(trace_files=list(map(str, paths)), trace_dir="")
    trace.parse_traces(use_multiprocessing=False)
    return trace


@pytest.mark.parametrize("name", ["nasty", *CYCLES])
def test_hta_call_graph(name):
    from hta.common.trace_call_graph import CallGraph

    trace = hta_trace(DIRECTORY / f"{name}.json.gz")
    (rank,) = trace.get_ranks()
    assert rank == (0 if name == "nasty" else 3)
    if name in CYCLES:
        assert [str(step) for step in trace.get_iterations()] == CYCLES[name]
    texts = trace.symbol_table.get_sym_table()
    graph = CallGraph(trace)
    rows = trace.get_trace(rank)
    got = defaultdict(list)
    for index, row in rows.iterrows():
        stack = graph.get_stack_of_node(index)
        parent = stack.loc[index]["parent"] if index in stack.index else rows.loc[index]["parent"]
        got[row["tid"]].append((texts[row["name"]], texts[rows.loc[parent]["name"]] if parent >= 0 else None))
    chrome = forms.Chrome(DIRECTORY / f"{name}.json")
    wanted = defaultdict(list)
    tracks = defaultdict(list)
    for span in [*chrome.runs, *chrome.spans]:  # of equal spans, the run is the outer one
        tracks[span.thread + span.lane * forms.LANE_STEP].append(span)
    for track, spans in tracks.items():
        above = forms.parents(spans, lambda span: span.begin, lambda span: span.end)
        for span, parent in zip(spans, above, strict=True):
            wanted[track].append((span.name, None if parent is None else spans[parent].name))
    assert {track: counts(pairs) for track, pairs in got.items()} == {track: counts(pairs) for track, pairs in wanted.items()}


def test_hta_diff():
    from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff

    control, test = (
        LabeledTrace(label=name, t=hta_trace(DIRECTORY / f"{name}.json")) for name in CYCLES
    )
    compared = TraceDiff.compare_traces(
        control, test, control_iteration=[2, 3], test_iteration=[6, 7], device_type=DeviceType.CPU
    )
    for name, column in ("cycle_1", "cycle_1_counts"), ("cycle_2", "cycle_2_counts"):
        wanted = counts(span["name"] for span in spans_of(name, "call"))
        got = {operator: int(compared[column][operator]) for operator in wanted}
        assert got == wanted
    changes = TraceDiff.ops_diff(
        control, test, control_iteration=[2, 3], test_iteration=[6, 7], device_type=DeviceType.CPU
    )
    assert "test.readers.call_main" in changes["increased"] and "in a kernel" in changes["increased"]
    assert {"backward", "load", "compute", 'forward ] ; "'} <= set(changes["unchanged"])


# Perfetto


def comparable(spans):
    return sorted(spans, key=lambda span: (span.thread, span.lane, *span.key))


@pytest.mark.parametrize("ending", ["pftrace", "pftrace.gz"])
@pytest.mark.parametrize("name", ALL)
def test_perfetto(name, ending):
    chrome = chrome_of(name)
    perfetto = forms.Perfetto(DIRECTORY / f"{name}.{ending}")
    assert forms.unknown_fields(perfetto.trace) == []
    assert all(len(packet.ListFields()) > 1 for packet in perfetto.trace.packet)
    assert len(perfetto.spans) == len(chrome.spans)
    spans = comparable(perfetto.spans)
    for ours, theirs in zip(spans, chrome_with_open(chrome), strict=True):
        assert (ours.thread, ours.lane, ours.name, ours.category) == (
            theirs.thread,
            theirs.lane,
            theirs.name,
            theirs.category,
        )
        assert close(ours.begin, theirs.begin) and close(ours.end, theirs.end), (ours, theirs)
        assert ours.args.get("Open") == theirs.args.get("Open")
        if theirs.dims:
            assert re.findall(r"\[([\d, ]*)\]", ours.args["Input Dims"]) == [", ".join(map(str, d)) for d in theirs.dims]
    for ours, theirs in zip(comparable(perfetto.marks), comparable(chrome.marks), strict=True):
        assert (ours.thread, ours.name) == (theirs.thread, theirs.name) and close(ours.begin, theirs.begin)
    assert bool(perfetto.dropped) == bool(EXPECTED[name].get("dropped"))


def chrome_with_open(chrome):
    spans = copy.deepcopy(chrome.spans)
    for span in spans:
        if span.args.get("Open"):
            span.end = None
    return comparable(spans)


def test_perfetto_names_processes_and_threads():
    perfetto = forms.Perfetto(DIRECTORY / "nasty.pftrace")
    (process,) = [track.process for track in perfetto.tracks.values() if track.HasField("process")]
    threads = [track.thread for track in perfetto.tracks.values() if track.HasField("thread")]
    assert process.process_name and all(thread.pid == process.pid for thread in threads)
    assert sum(thread.thread_name == 'a"\\]; é' for thread in threads) == 2


# Speedscope


@pytest.mark.parametrize("name", ALL)
def test_speedscope_is_valid(name):
    import jsonschema

    schema = json.loads(Path(os.environ["OPDYNO_SPEEDSCOPE_SCHEMA"]).read_text())
    document = json.loads((DIRECTORY / f"{name}.speedscope.json").read_text(), parse_constant=forms.refuse)
    jsonschema.validators.validator_for(schema)(schema).validate(document)
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"


@pytest.mark.parametrize("name", WITH_SPANS)
def test_speedscope(name):
    chrome = chrome_of(name)
    document = json.loads((DIRECTORY / f"{name}.speedscope.json").read_text())
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    first = min(span.begin for span in [*chrome.spans, *chrome.marks])
    got = comparable(forms.speedscope(document))
    wanted = comparable([*chrome.spans, *chrome.marks])
    for ours, theirs in zip(got, wanted, strict=True):
        assert (ours.thread, ours.lane, ours.name) == (theirs.thread, theirs.lane, theirs.name)
        assert close(ours.begin, theirs.begin - first) and close(ours.end, theirs.end - first)


# The page and the flame graph


@pytest.mark.parametrize("name", ALL)
def test_page(name):
    chrome = chrome_of(name)
    head, found = forms.page(DIRECTORY / f"{name}.html")
    kinds = ["call", "run", "range", "step", "mark"]
    first = min((span.begin for span in [*chrome.spans, *chrome.marks]), default=0)
    wanted = comparable([*chrome.spans, *chrome.marks])
    for ours, theirs in zip(comparable(found), wanted, strict=True):
        assert (ours.thread, ours.lane, ours.name) == (theirs.thread, theirs.lane, theirs.name)
        assert close(ours.begin, theirs.begin - first) and close(ours.end, theirs.end - first)
        assert ours.args["Open"] == (theirs.args or {}).get("Open", 0)
        if theirs.dims:
            assert re.findall(r"\[([\d, ]*)\]", ours.args["shapes"]) == [", ".join(map(str, d)) for d in theirs.dims]
    assert counts(kinds[span.category] for span in found) == counts(
        [span["kind"] for span in EXPECTED[name]["spans"]] + ["mark"] * len(EXPECTED[name]["marks"])
    )
    assert sum(thread["dropped"] for thread in head["threads"]) == EXPECTED[name].get("dropped", 0)
    for thread in forms.by_thread(found).values():
        offset = found.index(thread[0])
        above, times = forms.self_times(thread)
        for span, parent, (own, rounding) in zip(thread, above, times, strict=True):
            assert close(span.args["self"], own, rounding)
            around = None if span.parent is None else thread[span.parent - offset]
            theirs = None if parent is None else thread[parent]
            assert around is theirs or (around.begin, around.end) == (theirs.begin, theirs.end)


def test_page_has_the_stacks_of_chrome():
    _, found = forms.page(DIRECTORY / "stacks.html")
    stacks = [(span.name, span.args["stack"]) for span in found]
    assert stacks == [(span.name, span.args.get("Call stack", "")) for span in chrome_of("stacks").spans]
    functions = {name: re.findall(r"(?:around|within)", stack) for name, stack in stacks if name.startswith("in ")}
    assert functions == {"in around": ["around"], **dict.fromkeys(["in within", "in a kernel"], ["within", "around"])}


@pytest.mark.parametrize("name", ALL)
def test_flame_graph(name):
    """Each box has the number and the time of the spans of its stack, which the boxes above it tell."""
    root = xml.etree.ElementTree.parse(DIRECTORY / f"{name}.svg").getroot()
    own, totals = own_times(chrome_of(name), with_marks=True), defaultdict(lambda: [0, 0])
    for stack, (count, ns, _) in own.items():
        totals[frame_path(stack)][0] += count
        for depth in range(len(stack) + 1):
            totals[frame_path(stack[:depth])][1] += ns
    rows = defaultdict(list)
    for box in root.iter("{http://www.w3.org/2000/svg}g"):
        title, rect = (box.find("{http://www.w3.org/2000/svg}" + tag) for tag in ("title", "rect"))
        text, x = title.text, float(rect.get("x"))
        found = re.fullmatch(r"(.*)\n([\d.]+) (µs|ms|s) \([\d.]+ %\), alone [\d.]+ (?:µs|ms|s)(?:, (\d+) spans?)?", text, re.S)
        row = round((float(rect.get("y")) - 56) / 18)
        # Widths are rounded, so that boxes side by side may overlap: the one around begins last at or before it.
        around = max(above for above in rows[row - 1] if above[0] <= x)[1] if row else ()
        path = (*around, found[1]) if row else ()
        rows[row].append((x, path))
        count, ns = totals[path]
        assert row == 0 or int(found[4]) == count, path
        assert abs(float(found[2]) * {"µs": 1e3, "ms": 1e6, "s": 1e9}[found[3]] - ns) <= ns * 0.01 + 1000, path
    assert bool(rows) == (totals[()][1] > 0)
    assert f"Dropped events: {EXPECTED[name].get('dropped')}" in "".join(root.itertext()) or "dropped" not in EXPECTED[name]


def frame_path(stack):
    """Names as XML may have them: control characters are spaces, and what is no character is U+FFFD."""
    return tuple(re.sub("[\ufffe\uffff]", "\ufffd", re.sub("[\x00-\x1f\x7f-\x9f]", " ", name)) for name in stack)


# pprof and stacks: times of stacks, without what is within them


def own_times(chrome, with_marks):
    """By stack, from the outermost name on: number of spans, their own time, and by how much rounding may change that."""
    result = defaultdict(lambda: [0, 0, 0])
    spans = [*chrome.spans, *(chrome.marks if with_marks else [])]
    for thread in forms.by_thread(spans).values():
        above, times = forms.self_times(thread)
        paths = {}

        def path_of(i, thread=thread, above=above, paths=paths):
            if i not in paths:
                name = re.sub(r"^ProfilerStep#\d+$", "ProfilerStep*", thread[i].name)  # steps are joined
                paths[i] = (*(() if above[i] is None else path_of(above[i])), name)
            return paths[i]

        for i, (own, rounding) in enumerate(times):
            sums = result[path_of(i)]
            sums[0] += 1
            sums[1] += own
            sums[2] += rounding
    return result


@pytest.mark.parametrize("name", ALL)
def test_pprof(name):
    profile = forms.pprof(DIRECTORY / f"{name}.pb.gz")
    assert forms.unknown_fields(profile) == []
    texts = list(profile.string_table)
    assert texts[0] == ""
    assert [(texts[each.type], texts[each.unit]) for each in profile.sample_type] == [
        ("calls", "count"),
        ("time", "nanoseconds"),
    ]
    functions = {function.id: texts[function.name] for function in profile.function}
    locations = {}
    for location in profile.location:
        (line,) = location.line
        locations[location.id] = functions[line.function_id]
    assert 0 not in functions and 0 not in locations, "0 is none"
    assert len(functions) == len(profile.function) and len(locations) == len(profile.location)
    got = defaultdict(lambda: [0, 0])
    for sample in profile.sample:
        assert len(sample.value) == 2 and sample.value[1] >= 0
        path = tuple(locations[place] for place in reversed(sample.location_id))
        got[path][0] += sample.value[0]
        got[path][1] += sample.value[1]
    chrome = forms.Chrome(DIRECTORY / f"{name}.json")
    wanted = own_times(chrome, with_marks=True)
    assert {path: sums[0] for path, sums in got.items()} == {path: sums[0] for path, sums in wanted.items()}
    for path, (_, own, rounding) in wanted.items():
        assert close(got[path][1], own, rounding + 1), path
    if chrome.spans:
        first = min(span.begin for span in [*chrome.spans, *chrome.marks])
        last = max(span.end for span in [*chrome.spans, *chrome.marks])
        assert close(profile.time_nanos, first) and close(profile.duration_nanos, last - first, 2)


def frame(name):
    """A name as a part of a line."""
    return re.sub("[\x00-\x20;\x7f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufffe\uffff]", "_", name) or "_"


LINE = re.compile(r"(?P<stack>[^;\n]+(?:;[^;\n]+)*) (?P<number>[1-9]\d*)")


def stacks_of(path):
    """As inferno splits it: into lines at \\n, and those at the last space."""
    text = path.read_bytes().decode()
    assert not text or text.endswith("\n")
    found = []
    for line in text.split("\n")[:-1]:
        match = LINE.fullmatch(line)
        assert match and " " not in match["stack"], f"no line of stacks: {line!r}"
        found.append((tuple(match["stack"].split(";")), int(match["number"])))
    return found


@pytest.mark.parametrize("name", ALL)
def test_stacks(name):
    got, lines = defaultdict(int), defaultdict(int)  # several names may be one frame, such as "_"
    for path, number in stacks_of(DIRECTORY / f"{name}.stacks"):
        got[path] += number
        lines[path] += 1
    wanted = defaultdict(lambda: [0, 0])
    for path, (count, own, rounding) in own_times(forms.Chrome(DIRECTORY / f"{name}.json"), with_marks=False).items():
        sums = wanted[tuple(map(frame, path))]
        sums[0] += own
        sums[1] += rounding + count
    assert set(got) <= set(wanted)
    for path, (own, rounding) in wanted.items():
        half = 500 * max(1, lines[path])  # each line is rounded up to µs
        assert close(got[path] * 1000 - half, own, half + rounding + 1), path


@pytest.mark.parametrize("name", ALL)
def test_stacks_of_each_event(name):
    got = defaultdict(int)
    for path, number in stacks_of(DIRECTORY / f"{name}.each.stacks"):
        got[path] += number
    least = defaultdict(lambda: [0, 0])
    chrome = forms.Chrome(DIRECTORY / f"{name}.json")
    for thread in forms.by_thread(chrome.spans).values():
        above, times = forms.self_times(thread)
        for i, (own, _) in enumerate(times):
            path, at = [], i
            while at is not None:
                path.insert(0, frame(thread[at].name))
                at = above[at]
            sums = least[tuple(path)]
            sums[0] += own // 1000
            sums[1] += 1
    assert set(got) <= set(least)
    for path, (microseconds, number) in least.items():
        assert close(got[path], microseconds, number), path  # each is rounded down


@pytest.mark.skipif("OPDYNO_INFERNO" not in os.environ, reason="run.py --inferno")
@pytest.mark.parametrize("ending", ["stacks", "each.stacks"])
@pytest.mark.parametrize("name", WITH_SPANS)
def test_inferno(name, ending):
    path = DIRECTORY / f"{name}.{ending}"
    made = subprocess.run([os.environ["OPDYNO_INFERNO"], "--hash", path], capture_output=True, text=True, check=True)
    assert made.stderr == ""  # it tells of lines that it ignores
    svg = xml.etree.ElementTree.fromstring(made.stdout)
    titles = [title.text for title in svg.iter("{http://www.w3.org/2000/svg}title")]
    total = sum(number for _, number in stacks_of(path))
    assert f"all ({total:,} samples, 100%)" in titles
    shown = {title.rsplit(" (", 1)[0] for title in titles}
    drawn = defaultdict(int)
    for stack, number in stacks_of(path):
        for depth in range(len(stack)):
            drawn[stack[: depth + 1]] += number
    wide = {stack[-1] for stack, number in drawn.items() if number > total / 1000}  # narrow ones are left out
    assert wide <= shown
