"""Tests of opdyno.profiler: profiles of the whole process, and ranges."""

import gzip
import json
import os
import re
import socket
import threading

import numpy
import pytest

import opdyno
from opdyno.profiler import (
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def machine(kernel):
    program = ".func main(x) {\n  call test.profiler.kernel(%x)\n  ret %x\n}"
    opdyno.register_func("test.profiler.kernel", kernel, override=True)
    return opdyno.VirtualMachine(opdyno.Executable.assemble(program), opdyno.cpu())


@pytest.fixture
def vm():
    return machine(lambda x: None)


def events(p, path):
    p.export_chrome_trace(path)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]


def named(found, name):
    return [event for event in found if event["name"] == name]


def test_names_of_torch_that_scripts_use():
    with profile(execution_trace_observer=None, custom_trace_id_callback=lambda: "id 1") as p:
        with record_function("range"):
            pass
    assert p.get_trace_id() == "id 1"
    (row,) = p.key_averages()
    for text, us in (
        (row.cpu_time_str, row.cpu_time),
        (row.cpu_time_total_str, row.cpu_time_total),
        (row.self_cpu_time_total_str, row.self_cpu_time_total),
    ):
        unit = {"us": 1, "ms": 1e3}[text[-2:]]
        assert float(text[:-2]) * unit == pytest.approx(us, abs=unit / 1000)


def test_attributes_of_events_that_torch_has(vm):
    with profile() as p:
        with record_function("range"):
            vm["main"](numpy.ones(4, "float32"))
    for event in p.events():
        assert (event.sequence_nr, event.fwd_thread, event.device_index, event.use_device) == (-1, None, 0, None)
        assert (event.kernels, event.concrete_inputs, event.overload_name) == ([], [], "")
        assert event.device_resource_id == event.thread == threading.get_native_id()
    assert {event.name: event.scope for event in p.events()} == {"range": 7, "main": 0, "test.profiler.kernel": 0}
    assert {row.key: row.scope for row in p.key_averages()} == {"range": 7, "main": 0, "test.profiler.kernel": 0}


def test_the_parts_of_start_that_torch_has():
    assert kineto_available()
    ready = []
    p = profile(on_trace_ready=ready.append)
    p.prepare_trace()
    with record_function("before"):
        pass
    p.start_trace()
    with record_function("within"):
        pass
    p.stop_trace()
    assert [event.name for event in p.events()] == ["within"]
    assert ready == []


def test_a_profile_has_calls_and_ranges_of_all_threads(vm, tmp_path):
    x = numpy.ones(4, "float32")
    with profile() as p:
        with record_function("outer"), record_function("inner"):
            vm["main"](x)

        def elsewhere():
            with record_function("elsewhere"):
                vm["main"](x)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    for path in (tmp_path / "trace.json", tmp_path / "trace.json.gz"):
        found = events(p, path)
        (outer,), (inner,), (other,) = (named(found, name) for name in ("outer", "inner", "elsewhere"))
        kernels = named(found, "test.profiler.kernel")
        assert len(kernels) == 2 and len(p.trace) == 2
        assert outer["ts"] <= inner["ts"] <= kernels[0]["ts"]
        assert kernels[0]["ts"] + kernels[0]["dur"] <= inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
        assert other["tid"] == kernels[1]["tid"] != outer["tid"]


def test_ranges_are_decorators_that_may_recurse(tmp_path):
    @record_function("deep")
    def deep(levels):
        return deep(levels - 1) + 1 if levels else 0

    with profile() as p:
        assert deep(3) == 3
    assert len(named(events(p, tmp_path / "t.json"), "deep")) == 4
    assert deep(2) == 2, "also when nothing records"


def test_a_range_ends_with_an_error_and_lets_it_pass(tmp_path):
    with profile() as p:
        with pytest.raises(KeyError), record_function("fails"):
            raise KeyError("x")
    assert len(named(events(p, tmp_path / "t.json"), "fails")) == 1


def test_a_profile_may_be_started_again_and_counts_what_found_no_room(tmp_path):
    p = profile(max_events=5)
    with pytest.raises(AssertionError, match="recorded nothing yet"):
        p.trace
    for _ in range(2):
        p.start()
        for _ in range(8):
            with record_function("many"):
                pass
        p.stop()
        assert p.trace.dropped == 3
        assert len(named(events(p, tmp_path / "t.json"), "many")) == 5


def test_what_is_out_of_turn_is_an_error():
    p = profile()
    with pytest.raises(opdyno.Error, match="start it first"):
        p.stop()
    with p, pytest.raises(opdyno.Error, match="started already"):
        p.start()
    for use in (p.events, p.key_averages, lambda: p.export_stacks("x"), lambda: p.export_chrome_trace("x")):
        p._trace = None
        with pytest.raises(AssertionError):
            use()


N, W, R, S = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


@pytest.mark.parametrize(
    ("numbers", "expected"),  # the results of torch 2.15
    [
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}, [N, N, W, R, S, N, W, R, S, N, N, N]),
        ({"wait": 0, "warmup": 0, "active": 1}, [S] * 12),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1}, [N, N, W, S, N, N, W, S, N, N, W, S]),
        ({"wait": 1, "warmup": 0, "active": 3, "repeat": 1, "skip_first_wait": 1}, [R, R, S] + [N] * 9),
    ],
)
def test_a_schedule_says_what_each_step_is_for(numbers, expected):
    plan = schedule(**numbers)
    assert [plan(step) for step in range(12)] == expected
    with pytest.raises(AssertionError, match="not negative"):
        plan(-1)


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}])
def test_a_schedule_of_wrong_numbers_is_refused(wrong):
    with pytest.raises(AssertionError, match="at least one active step"):
        schedule(**{"wait": 1, "warmup": 1, "active": 1, **wrong})


def test_steps_are_recorded_as_the_schedule_says(vm):
    x, ready = numpy.ones(4, "float32"), []

    def on_trace_ready(p):
        ready.append((p.step_num, [event.trace_name for event in p.events() if event.name != "test.profiler.kernel"]))

    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=on_trace_ready) as p:
        for i in range(8):
            with record_function(f"work {i}"):
                vm["main"](x)
            p.step()
    step = lambda i: [f"ProfilerStep#{i}", f"work {i}", "main"]  # noqa: E731
    # The last step of the second cycle is step 8, which has no work and ends with the block.
    assert ready == [(5, step(3) + step(4)), (8, step(7) + ["ProfilerStep#8"])]
    assert [row.key for row in p.key_averages()][0] == "ProfilerStep*"


def test_a_schedule_may_be_any_function_of_the_number(vm):
    names = {1: "RECORD", 2: "RECORD", 5: "RECORD_AND_SAVE"}
    seen = []
    with profile(schedule=lambda i: ProfilerAction[names.get(i, "NONE")], on_trace_ready=lambda p: seen.append(p.events())) as p:
        for _ in range(7):
            p.step()
    assert [[event.trace_name for event in events] for events in seen] == [
        ["ProfilerStep#1", "ProfilerStep#2"],
        ["ProfilerStep#5"],
    ]


def test_without_a_schedule_the_end_of_the_block_is_ready(vm):
    ready = []
    with profile(on_trace_ready=ready.append) as p:
        vm["main"](numpy.ones(4, "float32"))
    assert ready == [p] and [event.name for event in p.events()] == ["main", "test.profiler.kernel"]
    with profile(schedule=schedule(wait=0, warmup=5, active=1), on_trace_ready=ready.append):
        pass
    assert ready == [p], "it was left while it warmed up"


def test_events_have_parents_children_times_and_shapes(vm):
    with profile(with_flops=True) as p, record_function("outer"):
        vm["main"](numpy.ones((2, 3), "float32"))
        with record_function("inner"):
            pass
    found = p.events()
    outer, run, kernel, inner = found
    assert [event.name for event in found] == ["outer", "main", "test.profiler.kernel", "inner"]
    assert [event.kind for event in found] == ["range", "run", "call", "range"]
    assert outer.cpu_parent is None and run.cpu_parent is outer and kernel.cpu_parent is run and inner.cpu_parent is outer
    assert outer.cpu_children == [run, inner] and kernel.cpu_children == []
    assert outer.time_range.start == 0 <= run.time_range.start < kernel.time_range.start < inner.time_range.start
    assert kernel.input_shapes == [[2, 3]] and outer.input_shapes == []
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - run.cpu_time_total - inner.cpu_time_total, abs=0.01)
    assert found.self_cpu_time_total == pytest.approx(outer.cpu_time_total, abs=0.01)
    assert outer.thread == threading.get_native_id() and outer.is_user_annotation and not kernel.is_user_annotation
    assert kernel.error is None and not kernel.is_open and kernel.flops == 0 and kernel.cuda_time_total == 0


def test_what_is_open_at_the_end_is_there(vm):
    p, kept = profile(), record_function("open")
    p.start()
    kept.__enter__()
    p.stop()
    kept.__exit__(None, None, None)
    (event,) = p.events()
    assert event.name == "open" and event.is_open


def test_a_profiler_may_be_stopped_from_within_a_call():
    p = profile()
    vm = machine(lambda x: p.stop())
    p.start()
    vm["main"](numpy.ones(4, "float32"))
    (run,) = p.events()
    assert run.name == "main" and run.is_open, "the kernel had not ended"


def test_averages_are_joined_by_name_and_by_shapes(vm):
    with profile() as p:
        for size in (3, 4, 4):
            vm["main"](numpy.ones(size, "float32"))
    by_name = {row.key: row for row in p.key_averages()}
    assert by_name["test.profiler.kernel"].count == by_name["main"].count == 3
    assert by_name["main"].cpu_time == pytest.approx(by_name["main"].cpu_time_total / 3)
    by_shape = [(row.count, row.input_shapes) for row in p.key_averages(group_by_input_shape=True) if row.kind == "call"]
    assert by_shape == [(1, [[3]]), (2, [[4]])]
    total = p.key_averages().total_average()
    assert total.key == "Total" and total.count == 6
    assert total.self_cpu_time_total == pytest.approx(p.events().self_cpu_time_total)


def test_tables_have_the_layout_of_torch(vm):
    with profile() as p:
        vm["main"](numpy.ones((2, 3), "float32"))
    lines = p.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=1, header="Top").split("\n")
    assert set(lines[0]) == {"="} and lines[1] == "Top" and set(lines[2]) == {"-", " "}
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls", "Input Shapes"]
    assert re.split("  +", lines[3].strip()) == titles
    assert lines[5].split()[0] == "main" and lines[6] == lines[2] and lines[7].startswith("Self CPU time total: ")
    assert len(lines) == 9 and "[[2, 3]]" in p.events().table() and str(p.events()) == p.events().table()
    with pytest.raises(AttributeError, match='sorted by "speed"; it can by key, self_cpu_time_total'):
        p.key_averages().table(sort_by="speed")
    assert "main" in p.key_averages().table(top_level_events_only=True, time_unit="ms")
    assert "kernel" not in p.key_averages().table(top_level_events_only=True)


def test_files_have_the_metadata_whenever_it_was_added(vm, tmp_path):
    def ready(p):
        p.add_metadata("late", 'a "text"')
        p.export_chrome_trace(tmp_path / "ready.json")

    with profile(record_shapes=True, on_trace_ready=ready) as p:
        p.add_metadata_json("distributedInfo", '{"rank": 3}')
        p.preset_metadata_json("list", "[1, 2.5]")
        for wrong in ("", "{", "{'a': 1}", "NaN", "1 2"):
            with pytest.raises(ValueError, match="not valid JSON"):
                p.add_metadata_json("wrong", wrong)
    read = json.loads((tmp_path / "ready.json").read_text())
    assert read["late"] == 'a "text"' and read["distributedInfo"] == {"rank": 3} and read["list"] == [1, 2.5]
    assert read["record_shapes"] == 1 and "with_flops" not in read and "wrong" not in read
    assert read["schemaVersion"] == 1 and list(read)[-1] == "traceName"


def test_metadata_that_no_file_could_have_is_refused_at_once(tmp_path):
    with profile() as p:
        pass
    for wrong in ('"\ud800"', "[" * 100 + "]" * 100, "[" * 100_000 + "]" * 100_000):
        with pytest.raises(ValueError, match="'wrong' is not valid JSON"):
            p.add_metadata_json("wrong", wrong)
    for wrong in (b"1", bytearray(b"{}"), None, 1):
        with pytest.raises(TypeError, match="'wrong' must be JSON as str, not " + type(wrong).__name__):
            p.add_metadata_json("wrong", wrong)
    p.add_metadata_json("deepest", "[" * 99 + "]" * 99)
    p.add_metadata_json("brackets", json.dumps('[{"' * 200))
    p.add_metadata_json("half a pair", '"\\ud800"')
    p.export_chrome_trace(tmp_path / "trace.json")
    read = json.loads((tmp_path / "trace.json").read_text())
    assert read["brackets"] == '[{"' * 200 and read["half a pair"] == "\ud800" and "wrong" not in read


def test_spans_keep_their_parents_when_the_list_is_sorted(tmp_path):
    with profile() as p, record_function("outer"):
        with record_function("inner"):
            pass
    events = p.events()
    outer, inner = events
    events.reverse()
    assert inner.cpu_parent is outer and outer.cpu_children == [inner]
    del events[:]
    assert inner.cpu_parent is outer and outer.cpu_children == [inner]
    outer.cpu_children.clear()
    assert outer.cpu_children == [inner]
    assert "key=Total" in repr(p.events().total_average())
    p.events().export_chrome_trace(tmp_path / "events.json")
    assert (tmp_path / "events.json").exists()


def test_cupti_reports_or_it_is_said_why_not():
    try:
        with profile(cupti=True):
            pass
    except opdyno.Error as error:
        assert str(error).startswith(("no device reports its activity: cuda: ", "activity of CUDA devices is not reported: "))



def test_times_are_numbers():
    for option in ("last_seconds", "flush_interval_ms"):
        with pytest.raises(TypeError, match=f"{option} must be a number, not str"):
            profile(**{option: "5"})
    profile(last_seconds=numpy.float32(0.5))


def test_a_handler_writes_each_trace_to_a_file_of_its_own(vm, tmp_path):
    directory = tmp_path / "made" / "here"
    for use_gzip, worker in ((False, None), (True, "worker.1")):
        handler = tensorboard_trace_handler(directory, worker_name=worker, use_gzip=use_gzip)
        with profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=2), on_trace_ready=handler) as p:
            for _ in range(3):
                vm["main"](numpy.ones(4, "float32"))
                p.step()
    names = sorted(file.name for file in directory.iterdir())
    default = re.escape(f"{socket.gethostname()}_{os.getpid()}")
    assert len(names) == 4
    assert sum(bool(re.fullmatch(default + r"\.\d+\.pt\.trace\.json", name)) for name in names) == 2
    assert sum(bool(re.fullmatch(r"worker\.1\.\d+\.pt\.trace\.json\.gz", name)) for name in names) == 2
    for file in directory.iterdir():
        text = (gzip.open if file.suffix == ".gz" else open)(file, "rt").read()
        assert json.loads(text)["traceEvents"]


def test_stacks_are_joined_or_one_by_one(vm, tmp_path):
    with profile() as p:
        for _ in range(3):
            with record_function("a;b c"):
                vm["main"](numpy.ones(4, "float32"))
    path = tmp_path / "stacks.txt"
    p.export_stacks(path)
    lines = [line.rsplit(" ", 1) for line in path.read_text().splitlines()]
    assert [stack for stack, _ in lines] == ["a_b_c", "a_b_c;main", "a_b_c;main;test.profiler.kernel"]
    assert -0.1 <= sum(int(us) for _, us in lines) - p.events().self_cpu_time_total < len(lines)  # rounded up
    p.export_stacks(path, "self_cpu_time_total", per_event=True)
    assert len(path.read_text().splitlines()) <= 9 and all(re.fullmatch(r"\S+ \d+\n", line) for line in path.open())
    p.export_stacks(path, "self_cuda_time_total")
    assert path.read_text() == ""
    with pytest.raises(ValueError, match="self_cuda_time_total"):
        p.export_stacks(path, "calls")
    with pytest.raises(FileNotFoundError):
        p.export_stacks(tmp_path / "missing" / "stacks.txt")


def test_activities_are_known_by_name_and_left_out_with_a_warning():
    class torch_activity:
        name = "CPU"

    own = {ProfilerActivity.CUDA, ProfilerActivity.OPENCL, ProfilerActivity.PrivateUse1}
    assert supported_activities() == {ProfilerActivity.CPU} | own
    assert profile(activities=[torch_activity]).activities == {ProfilerActivity.CPU}
    assert profile().activities == supported_activities()
    with pytest.warns(UserWarning, match="XPU is not supported"):
        assert profile(activities=[ProfilerActivity.CPU, ProfilerActivity.XPU]).activities == {ProfilerActivity.CPU}
    with pytest.warns(DeprecationWarning, match="use_cuda"):
        profile(use_cuda=False)
    with pytest.raises(AssertionError):
        profile(activities=[])
    with pytest.raises(ValueError, match="is not an activity"):
        profile(activities=["cpu"])


def test_memory_is_recorded_with_torchs_names(tmp_path):
    with profile(profile_memory=True) as p:
        with record_function("outer"):
            kept = opdyno.empty((1000,), "uint8")
            with record_function("inner"):
                opdyno.empty((5000,), "uint8")  # allocated and freed
    assert kept.shape == (1000,)
    outer, inner = p.events()
    assert (outer.cpu_memory_usage, outer.self_cpu_memory_usage, inner.cpu_memory_usage) == (1000, 1000, 0)
    assert inner.self_cpu_memory_usage == inner.device_memory_usage == inner.self_cuda_memory_usage == 0
    averages = p.key_averages()
    assert averages.total_average().self_cpu_memory_usage == 1000
    table = averages.table(sort_by="self_cpu_memory_usage")
    assert "CPU Mem  Self CPU Mem" in table and "1000 B" in table and table.index("outer") < table.index("inner")
    p.export_chrome_trace(tmp_path / "t.json")
    read = json.loads((tmp_path / "t.json").read_text())
    found = [event for event in read["traceEvents"] if event["name"] == "[memory]"]
    assert [event["args"]["Bytes"] for event in found] == [1000, 5000, -5000] and read["profile_memory"] == 1
    assert {(event["args"]["Device Type"], event["args"]["Device Id"]) for event in found} == {(0, -1)}
    counters = [event["args"]["Allocated"] for event in read["traceEvents"] if event["ph"] == "C"]
    assert counters == [event["args"]["Total Allocated"] for event in found]


def test_memory_timelines_are_written_as_their_names_say(tmp_path):
    with profile(profile_memory=True) as p:
        opdyno.empty((3000,), "uint8")
    forms = {}
    for name in ("t.json", "t.json.gz", "t.raw.json.gz", "t.raw.json", "t.html"):
        path = tmp_path / name
        p.export_memory_timeline(path, device="cpu")
        forms[name] = (gzip.open if path.suffix == ".gz" else open)(path, "rt").read()
    times, sizes = json.loads(forms["t.json"])
    assert forms["t.json"] == forms["t.json.gz"] == forms["t.raw.json"], "as torch: only .raw.json.gz is raw"
    assert len(times) == len(sizes) and all(len(row) == 9 and row[0] == 0 for row in sizes)
    assert max(sum(row) for row in sizes) - sum(sizes[-1]) == 3000 and times == sorted(times)
    steps = json.loads(forms["t.raw.json.gz"])
    assert [step[1:] for step in steps if step[1] != 1] == [[2, 3000, 2], [4, -3000, 2]]
    assert forms["t.html"].startswith("<!DOCTYPE html>") and "http" not in forms["t.html"].replace("http-equiv", "")
    p.export_memory_timeline(str(tmp_path / "t.json"))
    with pytest.raises(ValueError, match='"moon" is not a device'):
        p.export_memory_timeline(tmp_path / "t.json", device="moon")
    with profile() as plain:
        pass
    with pytest.raises(ValueError, match="profile_memory=True"):
        plain.export_memory_timeline(tmp_path / "t.json")


def test_the_raw_timeline_has_a_version_for_each_write_but_the_first(tmp_path):
    with profile(profile_memory=True) as p:
        x = opdyno.empty((3001,), "uint8")
        for number in range(3):
            x.copyfrom(numpy.full(3001, number, "uint8"))
        del x
    p.export_memory_timeline(tmp_path / "t.raw.json.gz", device="cpu")
    steps = json.loads(gzip.open(tmp_path / "t.raw.json.gz", "rt").read())
    version = [[3, -3001, 2], [3, 3001, 2]]
    assert [step[1:] for step in steps if abs(step[2]) == 3001] == [[2, 3001, 2], *version, *version, [4, -3001, 2]]
    assert [step[0] for step in steps] == sorted(step[0] for step in steps)


def test_the_raw_timeline_of_a_warm_program_is_of_versions(tmp_path):
    program = """.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(3002), 0, dtype(uint8), "global")
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  ret %x
}"""
    vm = opdyno.VirtualMachine(opdyno.Executable.assemble(program), opdyno.cpu())
    x = numpy.ones(4, "float32")
    vm["main"](x)
    with profile(profile_memory=True) as p:
        vm["main"](x)
        vm["main"](x)
    p.export_memory_timeline(tmp_path / "t.raw.json.gz", device="cpu")
    steps = json.loads(gzip.open(tmp_path / "t.raw.json.gz", "rt").read())
    expected = [[1, 3002, 7], [3, -3002, 7], [3, 3002, 4], [3, -3002, 4], [3, 3002, 4]]
    assert [step[1:] for step in steps if abs(step[2]) == 3002] == expected
    sums = dict.fromkeys(range(8), 0)
    for _, _, size, category in steps:
        sums[category] += size
        assert sums[category] >= 0


def test_the_example_of_torchs_documentation_runs(vm, capsys):
    x = numpy.ones(4, "float32")

    def trace_handler(prof):
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1))

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=trace_handler,
    ) as p:
        for _ in range(4):
            vm["main"](x)
            p.step()
    assert capsys.readouterr().out.count("ProfilerStep*") == 1


def test_what_records_nothing_is_warned_of(tmp_path):
    with pytest.warns(UserWarning, match=r"has a schedule, but step\(\) was never called"):
        with profile(schedule=schedule(wait=1, warmup=1, active=1)):
            pass
    if not opdyno.Device("cuda", 0).exist:
        with pytest.warns(UserWarning, match="no CUDA device can be used here"):
            profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with profile(profile_memory=True) as p:
        pass
    with pytest.raises(ValueError, match="the trace has no memory of cuda:5"):
        p.export_memory_timeline(tmp_path / "memory.html", device="cuda:5")
