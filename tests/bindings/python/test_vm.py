"""Tests of the VM with the interface that TVM's users know."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import opdyno
from conftest import DATA
from opdyno.profiling import Count, Duration, Percent, Ratio


def test_it_runs_what_tvm_compiled(chain):
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(chain["main"](x).numpy(), x + 100)
    np.testing.assert_array_equal(chain.call("main", opdyno.tensor(x)).numpy(), x + 100)
    assert chain["main"](x=x).numpy()[0] == 100 and chain.parameter_names("main") == ["x"]
    assert repr(chain["main"]) == "<VMFunction main(x)>"
    assert repr(chain).startswith("<VirtualMachine at 0x") and repr(chain).endswith("functions: [main]>")


def test_the_executed_modes_agree():
    x = np.arange(4, dtype="float32")
    for directory in (DATA / "0.25", DATA / "0.26", DATA / "0.27"):
        if (directory / "chain_100.so").exists():
            np.testing.assert_array_equal(opdyno.VirtualMachine(directory / "chain_100.so")["main"](x).numpy(), x + 100)


def test_wrong_arguments_say_what_was_expected(chain):
    with pytest.raises(opdyno.Error, match="expected dimension 0 to be 4, but it is 5"):
        chain["main"](np.zeros(5, "float32"))
    with pytest.raises(TypeError, match="main"):
        chain["main"]()
    with pytest.raises(opdyno.Error, match="y"):
        chain["main"](y=np.zeros(4, "float32"))
    with pytest.raises(opdyno.Error, match="main"):
        chain["mian"]


def test_python_values_and_functions_go_through_a_program(host_vm):
    assert host_vm["add"](2, 3) == 5 and host_vm["add"](x=2, y=3) == 5 and host_vm["add"](2, y=3) == 5
    assert host_vm["add"]("a", "b") == "ab"
    assert host_vm["call"](lambda x: x + 1, 41) == 42


def test_closures_and_saved_functions(host_vm):
    closure = host_vm["closure"](40)
    assert closure(2) == 42 and host_vm.invoke_closure(closure, 2) == 42
    host_vm.save_function("add", "add_saved", 20, 22)
    assert host_vm["add_saved"]() == 42
    host_vm.save_function("add", "add_saved", 1, y=2)
    assert host_vm["add_saved"]() == 3
    host_vm.save_function("add", "quiet", 1, 2, include_return=False)
    assert host_vm["quiet"]() is None
    with pytest.raises(opdyno.Error):
        host_vm.save_function("add", "pair", 1, 2)


def test_stateful_calls(host_vm):
    with pytest.raises(opdyno.Error):
        host_vm.invoke_stateful("pair")
    host_vm.set_input("pair", 5)
    with pytest.raises(opdyno.Error):
        host_vm.get_outputs("pair")
    host_vm.invoke_stateful("pair")
    assert host_vm.get_outputs("pair") == ((5, 7), 5)
    assert host_vm.get_output_arity("pair") == 2 and host_vm.get_output_arity("pair", 1) == -1
    with pytest.raises(RuntimeError, match="invoke_stateful"):
        host_vm["pair"]()
    assert host_vm["pair"](6)[1] == 6


def test_instruments_see_every_call(host_vm):
    seen = []

    def watch(func, name, before, result, *args):
        seen.append((name, before, result, args))
        return opdyno.VMInstrumentReturnKind.NO_OP

    host_vm.set_instrument(watch)
    assert host_vm["add"](1, 2) == 3
    host_vm.set_instrument(lambda *args: int(opdyno.VMInstrumentReturnKind.SKIP_RUN))
    assert host_vm["add"](1, 2) is None
    host_vm.set_instrument(None)
    assert seen == [("test.py.add", True, None, (1, 2)), ("test.py.add", False, 3, (1, 2))]


def test_the_three_uses_of_its_time_evaluator(host_vm, chain):
    assert chain.time_evaluator("main", opdyno.cpu(), number=2)(np.zeros(4, "float32")).mean > 0
    host_vm.set_input("pair", 1)
    assert host_vm.time_evaluator("invoke_stateful", opdyno.cpu())("pair").mean > 0
    with pytest.raises(ValueError, match="one thread at a time"):
        host_vm.time_evaluator("invoke_stateful", concurrency=2)
    host_vm.save_function("add", "saved", 1, 2)
    assert host_vm.time_evaluator("saved", opdyno.cpu(), repeat=3)().mean > 0


def test_a_program_is_profiled(chain):
    report = chain.profile("main", np.zeros(4, "float32"))
    adds = [call for call in report.calls if call["Name"] == "add"]
    assert len(adds) == 100 and adds[0]["Argument Shapes"] == "float32[4], float32[4]"
    assert isinstance(adds[0]["Duration (us)"], opdyno.profiling.Duration)
    assert isinstance(adds[0]["Percent"], opdyno.profiling.Percent) and adds[0]["Count"].value == 1
    assert report.device_metrics["cpu0"]["Duration (us)"].microseconds > 0
    assert "add" in str(report) and "<table>" in report._repr_html_() and report.csv().count("\n") >= 100
    time = report.device_metrics["cpu0"]["Duration (us)"].microseconds
    assert repr(report) == f"<Report of {len(report)} calls, cpu0: {time:,.2f} us>"
    again = opdyno.Report.from_json(report.json())
    assert again.json() == report.json() and len(again) == len(report)  # TVM's format has 17 digits after the point
    report, trace = chain.profile_with_trace("main", np.zeros(4, "float32"), repeat=2)
    assert len(trace) > 200 and '"traceEvents"' in trace.chrome() and trace.dropped == 0
    assert repr(trace) == f"<Trace of {len(trace)} calls, 0 dropped>"
    with pytest.raises(ValueError):
        opdyno.Report.from_json('{"calls": [')


@pytest.mark.parametrize("memory", ["naive", "pooled", {opdyno.cpu(): "naive"}, None])
def test_allocators_by_name_or_by_device(memory):
    vm = opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so", opdyno.cpu(), memory_cfg=memory, profile=True)
    assert vm["main"](np.zeros(4, "float32")).numpy()[0] == 100
    vm.trim()


def test_options_that_make_no_sense_are_errors():
    with pytest.raises(ValueError, match="gigantic"):
        opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so", memory_cfg="gigantic")
    with pytest.raises(opdyno.Error, match="cuda"):
        opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so", opdyno.cuda())


def test_deadlines_and_tokens_end_calls(host_vm):
    with pytest.raises(TimeoutError) as caught:
        host_vm.call("spin", 1, timeout=0.02)
    assert caught.value.code == opdyno.Code.DEADLINE_EXCEEDED
    token = opdyno.Cancel()
    threading.Timer(0.02, token.cancel).start()
    with pytest.raises(InterruptedError) as caught:
        host_vm.call("spin", 1, cancel=token)
    assert caught.value.code == opdyno.Code.CANCELLED and host_vm["add"](1, 1) == 2
    token.reset()
    assert host_vm.call("spin", 0, cancel=token) == 0 and token.current_operator is None


def test_a_report_is_made_of_metrics():
    calls = [{"Name": "add", "Duration (us)": Duration(12.5), "Count": Count(2)}, {"Name": "mul", "Percent": Percent(40.0)}]
    report = opdyno.Report(calls, {opdyno.cpu(1): {"Cache misses": Ratio(0.25)}}, {"Executor": "VM"})
    assert report.calls == calls and report.configuration == {"Executor": "VM"} and len(report) == 2
    assert report.device_metrics == {"cpu1": {"Cache misses": Ratio(0.25)}}
    again = opdyno.Report(report.calls, report.device_metrics, report.configuration)
    assert again.json() == report.json() and pickle.loads(pickle.dumps(report)).json() == report.json()
    with pytest.raises(TypeError, match="Name is of type int"):
        opdyno.Report([{"Name": 3}], {}, {})


def test_what_a_report_shows_in_a_notebook_is_escaped():
    name = "<script>alert('1')</script> & \"x\""
    call = {"Name": name, "<b>": "<i>", "Ratio": Ratio(0.5), "Count": Count(3), "Duration (us)": Duration(1234.5),
            "Percent": Percent(25.0)}
    report = opdyno.Report([call], {}, {})
    page = xml.etree.ElementTree.fromstring(report._repr_html_())
    titles = [cell.text for cell in page.iter("th")]
    assert name in (label.text for label in page.iter("span")) and any(name in (p.text or "") for p in page.iter("p"))
    cells = dict(zip(titles, (cell.text for cell in page.iter("td"))))
    given = {"Name": name, "<b>": "<i>", "Ratio": "0.5", "Count": "3", "Duration (us)": "1234.50", "Percent": "25.00"}
    assert {title: cells[title] for title in given} == given
    assert {tag.tag for tag in page.iter()} == {
        "div", "style", "p", "span", "table", "thead", "tfoot", "tbody", "tr", "th", "td"
    }  # fmt: skip


def test_an_executable_shows_itself(host_vm):
    executable = opdyno.Executable.assemble(".func f(x) {\n  ret %x\n}")
    assert repr(executable).endswith("functions: [f(x)], 0 constants>")
    many = opdyno.Executable.assemble("\n".join(f".func f{i}() {{\n  ret %void\n}}" for i in range(10)))
    assert repr(many).endswith("functions: [f0(), f1(), f2(), f3(), f4(), f5(), f6(), f7(), … 2 more], 0 constants>")
    assert "ret %x" in executable.as_text() and executable.describe()["functions"][0]["name"] == "f"
    assert "f" in executable.as_python() and executable.stats()


def test_memory_is_counted(chain):
    chain["main"](np.zeros(4, "float32"))
    stats = opdyno.memory_stats()
    assert stats.live_bytes >= stats.idle_bytes > 0 and stats.peak_bytes >= stats.live_bytes
    chain.trim()
    large = opdyno.empty((1 << 24,), "uint8")
    assert opdyno.memory_stats().live_bytes >= 1 << 24
    del large
    opdyno.empty_cache()
    assert opdyno.memory_stats().peak_bytes >= 1 << 24
    opdyno.reset_peak_memory_stats(opdyno.cpu())
    assert opdyno.memory_stats().peak_bytes < 1 << 24
    for function in opdyno.empty_cache, opdyno.reset_peak_memory_stats:
        with pytest.raises(opdyno.Error, match="cuda"):
            function(opdyno.cuda(0))


def test_an_application_is_profiled_without_touching_its_calls(chain):
    x = np.zeros(4, "float32")
    with chain.profiling(details=True) as run:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: chain["main"](x), range(6)))
    assert run.report.device_metrics["cpu0"]["Count"].value == 6
    calls = [call for call in run.report.calls if call["Name"] == "add"]
    assert len(calls) == 600 and {call["Run"].value for call in calls} == set(range(6))
    assert all(call["Call Path"] == "main" and call["Tensors (bytes)"] == opdyno.profiling.Bytes(32) for call in calls)
    assert run.report.calls[-1]["Name"] == "(profiler)" and len(run.trace) >= 600
    with chain.profiling(sample_interval=4) as sampled:
        for _ in range(8):
            chain["main"](x)
    assert sampled.report.device_metrics["cpu0"]["Count"].value == 2
    with pytest.raises(opdyno.Error, match="not being profiled"):
        sampled.stop()
    with pytest.raises(RuntimeError, match="not been stopped"):
        chain.profiling().report
    everything = chain.profile("main", x, builtins="folded")
    assert "(builtins)" in {call["Name"] for call in everything.calls}
    with pytest.raises(ValueError, match="builtins must be"):
        chain.profile("main", x, builtins="none")


def test_a_report_tells_how_near_operators_come_to_the_machine(chain):
    peak = opdyno.profiling.measure_peak()
    assert peak.gflops > 0 and peak.bandwidth_gbps > 0 and peak.num_threads >= 1
    report = chain.profile("main", np.zeros(4, "float32")).with_roofline(peak)
    add = next(call for call in report.calls if call["Name"] == "add")
    assert add["FLOP"].value == 4 and add["Tensors (bytes)"] == opdyno.profiling.Bytes(32)
    assert add["Arithmetic Intensity (FLOP/byte)"].ratio == 0.125
    assert report.configuration["Peak GFLOP/s"].ratio == peak.gflops
    assert "Percent of Peak" not in chain.profile("main", np.zeros(4, "float32")).with_roofline().calls[0]


INTERRUPTED = """
import sys, threading, time, os, signal
sys.path.insert(0, sys.argv[1])
from conftest import host_program
import opdyno
vm = host_program()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - began < 30)
print(vm["add"](1, 2))
"""


@pytest.mark.parametrize(
    "call",
    [
        'vm["spin"](1)',
        'vm["call"](lambda x: vm["spin"](x), 1)',
        'vm.function("spin")(1)',
        'vm.profile("spin", 1)',
        'vm.set_input("spin", 1), vm.invoke_stateful("spin")',
        'vm.time_evaluator("spin", opdyno.cpu())(1)',
        'vm.time_evaluator("spin", opdyno.cpu(), concurrency=2)(1)',
    ],
)
def test_ctrl_c_ends_a_call(call):
    script = INTERRUPTED.format(call=call)
    run = subprocess.run([sys.executable, "-c", script, str(Path(__file__).parent)], capture_output=True, text=True, timeout=120)
    assert run.stdout == "interrupted True\n3\n", run.stderr


def test_other_signals_do_not_end_a_call():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *args: seen.append(1))
    try:
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        calls = iter([1] * 20 + [0])

        def step(x):
            time.sleep(0.01)
            return next(calls)

        assert host_program_again(step)["spin"](1) == 0
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [1]


def host_program_again(step):
    """A VM of the host program whose addition is `step`."""
    opdyno.register_func("test.py.step", lambda x, y: step(x), override=True)
    return opdyno.VirtualMachine(
        opdyno.Executable.assemble(
            ".func spin(n) {\nagain:\n  %n = call test.py.step(%n, 0)\n  if %n else done\n  goto again\ndone:\n  ret %n\n}"
        )
    )


def test_outputs_can_be_supplied(chain):
    out = opdyno.empty((4,), "float32")
    chain.call("main", np.zeros(4, "float32"), outputs=[out])
    assert out.numpy().tolist() == [100] * 4


def test_one_vm_serves_many_threads(chain):
    wrong = []

    def work(start):
        for i in range(50):
            x = np.full(4, start + i, "float32")
            if not (chain["main"](x).numpy() == x + 100).all():
                wrong.append((start, i))

    threads = [threading.Thread(target=work, args=(100 * t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_outlive_their_vm():
    result = opdyno.VirtualMachine(DATA / "0.27" / "chain_100.so")["main"](np.zeros(4, "float32"))
    assert result.numpy().tolist() == [100] * 4


def test_it_works_after_a_fork(chain):
    x = np.zeros(4, "float32")
    chain["main"](x)
    child = os.fork()
    if child == 0:
        try:
            ok = chain["main"](x).numpy()[0] == 100
        finally:
            os._exit(0 if ok else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    assert done == child and os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("copy", [copy.copy, lambda value: pickle.loads(pickle.dumps(value))], ids=["copy", "pickle"])
def test_objects_can_be_pickled(host_vm, copy):
    array = opdyno.Array([1, "two", (3.5, None), {"k": b"v"}])
    assert copy(array) == array and isinstance(copy(array), opdyno.Array)
    both = opdyno._native.opd_map_create([1, "number", True, "bool"])
    assert list(copy(both).items()) == list(both.items())
    params = opdyno.Params({"w": np.arange(3.0), "b": np.zeros(2)})
    assert list(copy(params)) == ["w", "b"] and copy(params)["w"].numpy().tolist() == [0, 1, 2]
    program = opdyno.Executable.assemble(".func main(x) {\n  ret %x\n}")
    assert copy(program).as_text() == program.as_text() and opdyno.VirtualMachine(copy(program))["main"](7) == 7
    times = host_vm.time_evaluator("add", opdyno.cpu(), number=2, repeat=3)(1, 2)
    assert copy(times).results == times.results and copy(times).median == times.median


def test_saved_functions_are_profiled(host_vm):
    host_vm.save_function("add", "three", 1, 2)
    report = host_vm.profile("three", builtins="all")
    assert report.calls[0]["Name"] == "test.py.add"
    with pytest.raises(TypeError, match="a saved function takes no arguments"):
        host_vm.profile("three", 1)


def test_memory_cfg_names_devices_of_the_vm():
    program = opdyno.Executable.assemble(".func main(x) {\n  ret %x\n}")
    assert opdyno.VirtualMachine(program, opdyno.cpu(), {opdyno.cpu(): "naive"})["main"](1) == 1
    with pytest.raises(ValueError, match="memory_cfg has cpu:1, which is no device of the VM: cpu:0"):
        opdyno.VirtualMachine(program, opdyno.cpu(), {opdyno.cpu(1): "naive"})
    with pytest.raises(TypeError, match="a device is needed, not a float"):
        opdyno.VirtualMachine(program, 1.5)


def test_what_is_no_module_is_named():
    for make in (opdyno.VirtualMachine, opdyno.Executable):
        with pytest.raises(TypeError, match="a module is needed, not int"):
            make(3)


def test_the_name_of_a_function_is_text(host_vm):
    with pytest.raises(TypeError, match="a function's name must be str, not int"):
        host_vm[3]


def test_a_timeout_may_be_as_long_as_one_likes(host_vm):
    for timeout in (1e30, float("inf"), 10**40):
        assert host_vm.call("add", 1, 2, timeout=timeout) == 3


def test_a_tuple_that_is_used_as_a_tensor_says_so():
    vm = opdyno.VirtualMachine(opdyno.Executable.assemble(".func main(x) {\n  %t = call vm.builtin.make_tuple(%x)\n  ret %t\n}"))
    result = vm["main"](np.zeros(2, "float32"))
    with pytest.raises(AttributeError, match=r"a tuple of 1; its item 0 has one, as in result\[0\].numpy"):
        result.numpy()
    assert result[0].numpy().tolist() == [0, 0] and not hasattr(result, "no_such_name")


def test_messages_name_what_python_has(host_vm):
    run = host_vm.profiling()
    run.start()
    with pytest.raises(opdyno.Error) as caught:
        host_vm.profiling().start()
    assert "opd_" not in str(caught.value)
    run.stop()
    with pytest.raises(opdyno.Error) as caught:
        run.stop()
    assert "opd_" not in str(caught.value)
