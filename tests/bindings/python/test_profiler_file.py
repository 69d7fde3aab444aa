"""Tests of recordings in files and in ring buffers."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import opdyno
from opdyno import profiler
from opdyno.profiler import profile, record_function, schedule


def names(recorded):
    return [event.name for event in recorded.events()]


def add_ranges(first, count):
    for i in range(first, first + count):
        with record_function(f"range {i}"):
            pass


def test_a_file_has_what_was_recorded(tmp_path):
    file = tmp_path / "events"
    with profile(file=file) as p:
        add_ranges(0, 3)
        assert names(p.snapshot()) == ["range 0", "range 1", "range 2"]
        add_ranges(3, 1)
    assert names(p) == [f"range {i}" for i in range(4)] == names(profiler.load(file))
    assert not os.path.exists(f"{file}.live")
    p.export_chrome_trace(tmp_path / "given.json")
    loaded = profiler.load(str(file))
    loaded.export_chrome_trace(tmp_path / "loaded.json")
    assert "range 3" in (tmp_path / "loaded.json").read_text()
    assert "range 3" in loaded.key_averages().table()


def test_a_ring_has_the_last_events():
    with profile(ring=True, max_bytes=2 << 16) as p:
        add_ranges(0, 5000)
    found = names(p)
    assert found == [f"range {i}" for i in range(5000 - len(found), 5000)] and 900 < len(found) < 2100
    assert p.trace.dropped == 5000 - len(found)


def test_ring_file_is_a_ring_in_a_file(tmp_path):
    file = tmp_path / "events"
    with profile(ring_file=file, max_bytes=2 << 16, flush_interval_ms=50):
        add_ranges(0, 5000)
    found = names(profiler.load(file))
    assert found == [f"range {i}" for i in range(5000 - len(found), 5000)] and 900 < len(found) < 3100
    with pytest.raises(ValueError, match="file and ring_file are both given"):
        profile(file=file, ring_file=file)
    with pytest.raises(ValueError, match="flush_interval_ns needs a file"):
        profile(flush_interval_ms=50)
    with pytest.raises(ValueError, match="flush_interval_ms must be"):
        profile(file=file, flush_interval_ms=-1)


def test_a_file_that_was_written_anew_is_not_taken_for_the_recording(tmp_path, monkeypatch):
    file = tmp_path / "events"
    profiles = []
    for name in ("first", "second"):
        with profile(file=file) as p:
            add_ranges(len(profiles), 1)
        profiles.append(p)
    assert names(profiles[1]) == ["range 1"]
    with pytest.raises(RuntimeError, match="was written again"):
        profiles[0].events()
    with pytest.raises(ValueError, match="are of one recording"):
        profiler.merge([profiles[1], profiler.load(file)])


def test_a_relative_path_is_that_of_the_directory_at_first(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    p = profile(file="events")
    p.start()
    add_ranges(0, 1)
    monkeypatch.chdir(tmp_path / "elsewhere")
    p.stop()
    assert names(p) == ["range 0"] and os.listdir(tmp_path / "elsewhere") == []


def test_each_cycle_of_a_schedule_writes_the_file_anew(tmp_path):
    file, seen = tmp_path / "events", []
    with profile(
        file=file, schedule=schedule(wait=0, warmup=0, active=1, repeat=2), on_trace_ready=lambda p: seen.append(names(p))
    ) as p:
        for i in range(2):
            add_ranges(i, 1)
            p.step()
    assert [[name for name in cycle if name.startswith("range")] for cycle in seen] == [["range 0"], ["range 1"]]
    assert "range 1" in names(profiler.load(file)) and "range 0" not in names(profiler.load(file))


def test_the_trace_handler_gets_what_is_in_the_file(tmp_path):
    seen = []
    with profile(file=tmp_path / "events", on_trace_ready=lambda p: seen.append(names(p))):
        add_ranges(0, 1)
    assert seen == [["range 0"]]


KILLED = """
import os, signal, sys
from opdyno.profiler import profile, record_function
p = profile(file=sys.argv[1])
p.start()
with record_function("done"):
    pass
with record_function("under way"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_its_recording(tmp_path):
    file = tmp_path / "events"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(file)], timeout=120)
    assert ended.returncode == -signal.SIGKILL
    events = profiler.load(file).events()
    assert [event.name for event in events] == ["done", "under way"]
    with profile(file=file):
        pass
    assert names(profiler.load(f"{file}.crashed")) == ["done", "under way"]


def test_stacks_are_in_the_file(tmp_path):
    with profile(file=tmp_path / "events", with_stack=True) as p:
        add_ranges(0, 1)
    stacks = [event.stack for event in profiler.load(tmp_path / "events").events()]
    assert stacks == [event.stack for event in p.events()]
    assert any("test_profiler_file.py" in frame and frame.endswith("add_ranges") for frame in stacks[0])


def test_what_is_no_recording_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        profiler.load(tmp_path / "none")
    (tmp_path / "text").write_text("text")
    with pytest.raises(ValueError, match="is not a recording"):
        profiler.load(tmp_path / "text")
    with profile(file=tmp_path / "events"), pytest.raises(opdyno.Error, match="another recording is writing"):
        profile(file=tmp_path / "events").start()
    with pytest.raises(OSError, match="events"):
        profile(file=tmp_path / "no" / "events").start()


def test_memory_is_in_the_file(tmp_path):
    with profile(file=tmp_path / "events", profile_memory=True) as p:
        x = opdyno.tensor(np.ones(1000, "float32"))
        with record_function("holds"):
            y = opdyno.empty((1000,), "float32")
    del x, y
    assert p.events()[0].cpu_memory_usage == 4000
    profiler.load(tmp_path / "events").export_memory_timeline(tmp_path / "memory.html")
    assert (tmp_path / "memory.html").stat().st_size > 1000


FULL_DISK = """
import resource, sys
import opdyno
from opdyno.profiler import profile, record_function

said = []
opdyno.set_log_callback(lambda level, message: said.append(message))
p = profile(file=sys.argv[1])
p.start()
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))  # as a full disk
for _ in range(20_000):
    with record_function("range"):
        pass
try:
    p.stop()
except OSError as error:
    print("stop:", error)
print("log:", said[0])
table = p.key_averages().table()
print(table.splitlines()[0], "range" in table, p.trace.dropped > 0)
try:
    with profile(file=sys.argv[1] + ".2"):
        for _ in range(20_000):
            with record_function("range"):
                pass
        raise KeyError("of the block")
except KeyError as error:
    print("block:", error)
"""


def test_a_file_that_cannot_grow_is_an_error_and_its_trace_says_what_was_dropped(tmp_path):
    file = str(tmp_path / "events")
    said = subprocess.run([sys.executable, "-c", FULL_DISK, file], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].startswith(f"stop: the recording has ended, but is not complete: cannot write {file}: File too large")
    assert said[1] == f"log: events of a recording are lost, and counted as dropped: cannot write {file}: File too large"
    assert re.fullmatch(r"Dropped events: \d+ True True", said[2])
    assert said[3] == "block: 'of the block'"
