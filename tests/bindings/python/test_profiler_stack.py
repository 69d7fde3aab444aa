"""Tests of Python and native stacks in traces, and of tasks of parallel loops."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy
import pytest

import opdyno
from opdyno.profiler import profile, record_function

X = numpy.ones(4, "float32")


def machine(kernel=lambda x: None):
    program = ".func main(x) {\n  call inner(%x)\n  ret %x\n}\n.func inner(x) {\n  call test.stack.kernel(%x)\n  ret %x\n}"
    opdyno.register_func("test.stack.kernel", kernel, override=True)
    return opdyno.VirtualMachine(opdyno.Executable.assemble(program), opdyno.cpu())


def line_of_caller():
    return sys._getframe(1).f_lineno


def here(function, line):
    return f"{__file__}({line}): {function}"


def event(p, name):
    return next(event for event in p.events() if event.name == name)


def test_events_have_the_functions_that_called_from_the_innermost_on():
    vm, lines = machine(), {}

    def deep():
        lines["deep"] = line_of_caller() + 1
        vm["main"](X)

    with profile(with_stack=True) as p:
        deep()
        lines["test"] = line_of_caller() - 1
    run = event(p, "main")
    assert run.stack[:2] == [here("deep", lines["deep"]), here("test_events_have_the_functions_that_called_from_the_innermost_on", lines["test"])]
    assert event(p, "test.stack.kernel").stack == run.stack, "an operator has the stack of its run"
    assert all("opdyno" not in os.path.basename(frame.split("(")[0]) for frame in run.stack), "none of the library itself"
    assert event(p, "test.stack.kernel").module_hierarchy == "main.inner"
    assert run.module_hierarchy == ""


def test_ranges_have_stacks_of_their_own_also_in_callbacks():
    def kernel(x):
        with record_function("in the kernel"):
            pass

    vm = machine(kernel)

    def calls():
        with record_function("outer"):
            vm["main"](X)

    with profile(with_stack=True) as p:
        calls()
    names = [frame.split(": ")[-1] for frame in event(p, "in the kernel").stack]
    assert names[:3] == ["kernel", "calls", "test_ranges_have_stacks_of_their_own_also_in_callbacks"]
    assert event(p, "outer").stack[0].endswith(": calls")


def test_stacks_are_only_there_if_asked_for(tmp_path):
    vm = machine()
    with profile() as p:
        vm["main"](X)
    assert event(p, "main").stack == []
    assert all(row.stack == [] for row in p.key_averages(group_by_stack_n=5))
    assert "Source Location" not in p.key_averages(group_by_stack_n=5).table()
    p.export_chrome_trace(tmp_path / "t.json")
    assert "Call stack" not in (tmp_path / "t.json").read_text()


def test_averages_are_grouped_by_the_innermost_functions():
    vm = machine()

    def one():
        vm["main"](X)

    def other():
        vm["main"](X)

    with profile(with_stack=True) as p:
        for _ in range(3):
            one()
        other()
    counts = lambda n: sorted(row.count for row in p.key_averages(group_by_stack_n=n) if row.key == "main")  # noqa: E731
    assert counts(0) == [4]
    assert counts(1) == [1, 3]
    rows = {row.stack[0].split(": ")[-1]: row for row in p.key_averages(group_by_stack_n=1) if row.key == "main"}
    assert rows["one"].count == 3 and rows["other"].count == 1 and len(rows["one"].stack) == 1
    table = p.key_averages(group_by_stack_n=2).table(sort_by="count", max_src_column_width=200)
    assert "Source Location" in table.splitlines()[1]
    assert here("one", one.__code__.co_firstlineno + 1) in table


def test_files_have_stacks(tmp_path):
    vm = machine(lambda x: time.sleep(0.001))

    def caller():
        vm["main"](X)

    with profile(with_stack=True) as p:
        caller()
    p.export_chrome_trace(tmp_path / "t.json")
    calls = [event for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if event["name"] == "test.stack.kernel"]
    frames = calls[0]["args"]["Call stack"].split(";")
    assert frames[0] == here("caller", caller.__code__.co_firstlineno + 1) and frames[-1] == ""
    p.export_stacks(tmp_path / "stacks.txt")
    line = next(line for line in (tmp_path / "stacks.txt").read_text().splitlines() if ";test.stack.kernel " in line)
    names = line.rsplit(" ", 1)[0].split(";")
    place = next(i for i, name in enumerate(names) if name.endswith("_caller"))
    assert names[place - 1].endswith(":_test_files_have_stacks") and names[place + 1 :] == ["main", "inner", "test.stack.kernel"]
    p.export_speedscope(tmp_path / "s.json")
    frames = json.loads((tmp_path / "s.json").read_text())["shared"]["frames"]
    assert {"name": "caller", "file": __file__, "line": caller.__code__.co_firstlineno + 1} in frames


def test_each_thread_has_its_own_stack():
    vm = machine()
    barrier = threading.Barrier(4)

    def thread_main(name):
        barrier.wait()
        for _ in range(20):
            with record_function(name):
                vm["main"](X)

    with profile(with_stack=True) as p:
        threads = [threading.Thread(target=thread_main, args=(f"thread {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = [event for event in p.events() if event.kind == "range"]
    assert len(found) == 80
    for each in found:
        assert each.stack[0].endswith(": thread_main")
        assert not any("test_each_thread" in frame for frame in each.stack), "what started it is on another thread"


def test_errors_in_a_run_leave_nothing_behind():
    def kernel(x):
        raise RuntimeError("broken")

    vm = machine(kernel)

    def fails():
        with pytest.raises(RuntimeError):
            vm["main"](X)

    with profile(with_stack=True) as p:
        fails()
        with record_function("after"):
            pass
    assert not any(frame.endswith(": fails") for frame in event(p, "after").stack)


def test_names_that_are_no_utf8_are_replaced():
    scope = {"record_function": record_function}
    exec(compile("def odd():\n  with record_function('odd'): pass", "file\udcff.py", "exec"), scope)  # noqa: S102
    with profile(with_stack=True) as p:
        scope["odd"]()
    assert event(p, "odd").stack[0] == "?(2): odd"


PROGRAM = """
import os, sys
import opdyno
from opdyno.profiler import profile, record_function
p = profile(with_stack=True)
p.start()
def named():
    with record_function("parent"):
        pass
named()
child = os.fork()
with record_function("both"):
    pass
if child == 0:
    p.stop()
    os._exit(0 if any(e.name == "both" and e.stack[0].endswith(": <module>") for e in p.events()) else 1)
assert os.waitpid(child, 0)[1] == 0
class Late:
    def __del__(self):
        with record_function("late"):
            pass
late = sys.modules["__main__"].late = Late()
late.self = late
print("done")
"""


def test_the_process_may_fork_and_end_while_stacks_are_recorded():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
