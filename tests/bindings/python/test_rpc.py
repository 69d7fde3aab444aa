"""Tests of RPC sessions with the package's `opdyno serve` on the loopback interface."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import opdyno
from conftest import DATA, KERNELS
from opdyno import rpc
from opdyno.profiling import MemoryMetricCollector, PerfMetricCollector


@contextlib.contextmanager
def serving(*before, options=()):
    """Starts a server. Yields its process and port. `before` is a command prefix."""
    command = [*before, sys.executable, "-m", "opdyno", "serve", "--listen", "127.0.0.1:0", "--key", "board", *options]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, start_new_session=True, **streams) as server:
        try:
            yield server.pid, int(re.match(r"serving at 127\.0\.0\.1:(\d+)", server.stdout.readline())[1])
        finally:
            os.killpg(server.pid, signal.SIGTERM)  # unshare ignores the signal, but ends with its child


@pytest.fixture(scope="module")
def port():
    with serving() as (_, found):
        yield found


@pytest.fixture
def session(port):
    with rpc.connect("127.0.0.1", port, key="board") as made:
        yield made


@pytest.fixture
def remote_chain(session):
    session.upload(DATA / "0.27" / "chain_100.so")
    return opdyno.VirtualMachine(session.load_module("chain_100.so"), session.cpu())


def test_a_session_says_what_it_is(session, port):
    its = session.describe()
    assert its["address"] == f"127.0.0.1:{port}" and its["key"] == "board" and its["absence"] == ""
    assert its["server"] == f"opdyno {opdyno.__version__}" and its["host"] == socket.gethostname()
    assert repr(session) == f'<RPCSession {its["index"]} with 127.0.0.1:{port}, {its["server"]}, key "board">'


def test_a_secret_is_proved_by_both_sides(port, tmp_path):
    secret = "0123456789abcdef0123"
    file = tmp_path / "secret"
    file.write_text(secret + "\n")
    file.chmod(0o600)
    with serving(options=["--secret-file", str(file)]) as (_, guarded):
        with rpc.connect("127.0.0.1", guarded, key="board", secret=secret) as session:
            assert session.listdir() == ""
        for other, why in ((None, "or wants a secret"), ("0123456789abcdef0124", "has another secret")):
            with pytest.raises(opdyno.Error, match=why) as caught:
                rpc.connect("127.0.0.1", guarded, key="board", secret=other)
            assert caught.value.code == opdyno.Code.FAILED_PRECONDITION
    with pytest.raises(opdyno.Error, match="does not say that it knows the secret"):
        rpc.connect("127.0.0.1", port, key="board", secret=secret)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        rpc.connect("127.0.0.1", port, key="board", secret="short")


def test_devices_are_those_of_the_server(session):
    dev = session.cpu()
    assert dev.device_type == 128 * (session.describe()["index"] + 1) + 1 and dev.device_id == 0
    assert str(dev) == f"remote[{session.describe()['index']}]:cpu:0" and opdyno.device(str(dev)) == dev
    assert dev.type == f"remote[{session.describe()['index']}]:cpu"
    assert dev.exist and dev.device_name == opdyno.cpu().device_name
    assert dev.max_thread_dimensions == opdyno.cpu().max_thread_dimensions
    assert not session.metal().exist and not session.device("cl", 57).exist
    for name in ("cuda", "cl", "vulkan", "rocm", "ext_dev", "hexagon", "webgpu"):
        assert getattr(session, name)(1).device_id == 1
    dev.sync()


def test_tensors_lie_there(session):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    there = opdyno.tensor(x, session.cpu())
    assert there.device == session.cpu()
    np.testing.assert_array_equal(there.numpy(), x)
    other = opdyno.empty(x.shape, "float32", session.cpu())
    there.copyto(other)
    np.testing.assert_array_equal(other.numpy(), x)
    for dtype in ("int8", "uint64", "float16", "bool"):
        y = np.array([1, 0, 1], dtype=dtype)
        np.testing.assert_array_equal(opdyno.tensor(y, session.cpu()).numpy(), y)
    with pytest.raises(Exception, match="device"):
        np.from_dlpack(there)


def test_kernels_run_there(session):
    session.upload(KERNELS.encode(), "k.c")
    module = session.load_module("k.c")
    assert module.kind == "rpc" and {"sum", "double"} <= set(module.function_names())
    assert repr(module).startswith('<Module "rpc" at 0x')
    x = opdyno.tensor(np.arange(4.0), session.cpu())
    module["double"](x)
    assert module["sum"](x) == 12.0 and module["main"](1, "two") == 2
    with pytest.raises(IndexError, match=r"out of paper \(on 127\.0\.0\.1:\d+\)"):
        module["fail"]()
    with pytest.raises(AttributeError, match="nobody"):
        module["nobody"]
    times = module.time_evaluator("sum", session.cpu(), number=10, repeat=3)(x)
    assert len(times.results) == 3 and 0 <= times.mean < 1
    with pytest.raises(opdyno.Error, match="must lie on a device of the session"):
        module["sum"](np.arange(4.0))


def test_a_vm_runs_there(session, remote_chain):
    x = np.arange(4, dtype="float32")
    there = opdyno.tensor(x, session.cpu())
    np.testing.assert_array_equal(remote_chain["main"](there).numpy(), x + 100)
    np.testing.assert_array_equal(remote_chain["main"](x=there).numpy(), x + 100)
    with pytest.raises(ValueError, match="must lie on a device of the session"):
        remote_chain["main"](x)
    assert remote_chain.parameter_names("main") == ["x"] and remote_chain.function_names() == ["main"]
    remote_chain.set_input("main", x)
    remote_chain.invoke_stateful("main")
    np.testing.assert_array_equal(remote_chain.get_outputs("main").numpy(), x + 100)
    remote_chain.save_function("main", "timed", there, include_return=False)
    assert remote_chain["timed"]() is None
    for name, arguments in (("timed", ()), ("main", (there,)), ("invoke_stateful", ("main",))):
        times = remote_chain.time_evaluator(name, session.cpu(), number=3, repeat=2)(*arguments)
        assert len(times.results) == 2 and 0 < times.mean < 1
    assert "main" in repr(remote_chain)


def test_a_vm_is_profiled_there(session, remote_chain, port, tmp_path):
    x = opdyno.tensor(np.arange(4, dtype="float32"), session.cpu())
    report, trace = remote_chain.profile_with_trace("main", x, repeat=3, details=True, collectors=[MemoryMetricCollector()])
    kernels = [row for row in report.calls if row["Name"].startswith("add")]
    assert len(kernels) == 300 and all(row["Argument Shapes"] == "float32[4], float32[4]" for row in kernels)
    events = json.loads(trace.chrome())["traceEvents"]
    assert any(f"127.0.0.1:{port}" in str(one.get("args", {}).get("name")) for one in events if one["ph"] == "M")
    with opdyno.profiler.profile() as here:  # calls of this process are on the same time line
        with opdyno.profiler.record_function("asks"):
            _, there = remote_chain.profile_with_trace("main", x)
    opdyno.profiler.merge([here, there]).export_chrome_trace(tmp_path / "merged.json")
    merged = json.loads((tmp_path / "merged.json").read_text())["traceEvents"]
    spans = {one["name"]: one for one in merged if one["ph"] == "X"}
    asks, main = spans["asks"], spans["main"]
    assert asks["ts"] <= main["ts"] and main["ts"] + main["dur"] <= asks["ts"] + asks["dur"] and asks["pid"] != main["pid"]

    class Own(opdyno.profiling.MetricCollector):
        pass

    with pytest.raises(opdyno.Error, match="this program's own"):
        remote_chain.profile("main", x, collectors=[Own()])

    # Only the server checks whether it has the events.
    unknown = {opdyno.cpu(): ["no-such-event"]}
    with pytest.raises(opdyno.Error, match="no-such-event") as here:
        PerfMetricCollector(unknown)
    with pytest.raises(opdyno.Error, match=rf"no-such-event.*\(on 127.0.0.1:{port}\)") as there:
        remote_chain.profile("main", x, collectors=[PerfMetricCollector(unknown, elsewhere=True)])
    assert str(port) not in str(here.value) and there.value.code == opdyno.Code.CALL_FAILED
    energy = opdyno.profiling.EnergyMetricCollector(elsewhere=True)
    with pytest.raises(opdyno.Error, match="the collector energy was made for other machines"):
        opdyno.profiling.profile_function(opdyno.Function(lambda: None), opdyno.cpu(), [energy])()


def test_a_trace_of_another_clock_is_put_on_this_one(tmp_path):
    other_clock = ["unshare", "--time", "--monotonic", "100000", "--fork"]  # a clock like that of another machine
    if not shutil.which("unshare") or subprocess.run([*other_clock, "true"], capture_output=True).returncode:
        pytest.skip("a process with another clock needs unshare and the right to use it")
    with serving(*other_clock) as (_, port), rpc.connect("127.0.0.1", port, key="board") as session:
        session.upload(DATA / "0.27" / "chain_100.so")
        vm = opdyno.VirtualMachine(session.load_module("chain_100.so"), session.cpu())
        x = opdyno.tensor(np.arange(4, dtype="float32"), session.cpu())
        with opdyno.profiler.profile() as here, opdyno.profiler.record_function("asks"):
            _, there = vm.profile_with_trace("main", x)
        opdyno.profiler.merge([here, there]).export_chrome_trace(tmp_path / "merged.json")
    merged = json.loads((tmp_path / "merged.json").read_text())
    error = merged["opdyno_processes"][1]["clock_error_ns"]
    assert 0 < error < 50_000_000  # the error of time requests on the loopback interface
    spans = {one["name"]: one for one in merged["traceEvents"] if one["ph"] == "X"}
    asks, main = spans["asks"], spans["main"]
    assert asks["ts"] - error / 1e3 <= main["ts"] and main["ts"] + main["dur"] <= asks["ts"] + asks["dur"] + error / 1e3


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_a_program_for_opencl_runs_there(session, mode):
    if not session.cl().exist:
        pytest.skip("there is no OpenCL device")
    name, dev = f"mlp_{mode}.so", session.cl()
    session.upload(DATA / "opencl" / name)
    vm = opdyno.VirtualMachine(session.load_module(name), dev)
    with np.load(DATA / "opencl" / "mlp.npz") as arrays:
        inputs, expected = [opdyno.tensor(arrays[key], dev) for key in arrays if key.startswith("in")], arrays["out0"]
    np.testing.assert_allclose(vm["main"](*inputs).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert "opencl0" in vm.profile("main", *inputs).table()


def test_a_session_goes_through_tls(tmp_path):
    folder = Path(__file__).parents[2] / "data" / "tls"
    key = tmp_path / "server.key"
    key.touch(0o600)
    key.write_bytes((folder / "server.key").read_bytes())
    pem = (folder / "server.pem").read_text()
    print_of_it = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    with serving(options=["--tls-cert", str(folder / "server.pem"), "--tls-key", str(key)]) as (_, guarded):
        for trusted in ({"tls_ca": folder / "ca.pem"}, {"tls_fingerprint": print_of_it},
                        {"tls_ca": folder / "ca.pem", "tls_name": "localhost"}):  # fmt: skip
            with rpc.connect("127.0.0.1", guarded, key="board", **trusted) as session:
                data = np.arange(1 << 20, dtype="float32")
                assert np.array_equal(opdyno.tensor(data, session.cpu()).numpy(), data)
        for other, why in (({}, "demands TLS"), ({"tls_ca": folder / "other_ca.pem"}, "certificate is refused"),
                           ({"tls_ca": folder / "ca.pem", "tls_name": "board"}, "hostname mismatch"),
                           ({"tls_fingerprint": "0" * 64}, "another certificate")):  # fmt: skip
            with pytest.raises(opdyno.Error, match=why) as caught:
                rpc.connect("127.0.0.1", guarded, key="board", **other)
            assert caught.value.code == opdyno.Code.FAILED_PRECONDITION


def test_files_of_the_session(session, tmp_path):
    (tmp_path / "one").write_bytes(b"1")
    session.upload(tmp_path / "one")
    session.upload(bytearray(b"\0two"), "two")
    assert session.download("two") == bytearray(b"\0two") and session.listdir() == "one,two"
    session.remove("one")
    assert session.listdir("/") == "two"
    with pytest.raises(ValueError, match="target"):
        session.upload(b"x")


def test_a_file_is_linked_there_and_loaded_here(session, tmp_path):
    (tmp_path / "kernels.c").write_text(KERNELS)
    subprocess.run([os.environ.get("CC", "cc"), "-c", "-fPIC", "kernels.c"], cwd=tmp_path, check=True)
    session.upload(tmp_path / "kernels.o")
    library = session.download_linked_module("kernels.o")
    assert library[:4] == b"\x7fELF"
    (tmp_path / "linked.so").write_bytes(library)
    assert opdyno.load_module(tmp_path / "linked.so")["sum"](opdyno.tensor(np.array([1.0, 2.0]))) == 3
    session.upload(tmp_path / "linked.so")
    assert session.download_linked_module("linked.so") == library
    session.upload(tmp_path / "kernels.c")
    with pytest.raises(ValueError, match="cannot be linked to a library"):
        session.download_linked_module("kernels.c")


def test_what_cannot_be_done_is_said(session, port):
    with pytest.raises(opdyno.Error, match="the server has another key") as caught:
        rpc.connect("127.0.0.1", port)
    assert caught.value.code == opdyno.Code.FAILED_PRECONDITION
    with pytest.raises(opdyno.Error, match="127.0.0.1:1"):
        rpc.connect("127.0.0.1", 1)
    with pytest.raises(NotImplementedError):
        rpc.connect("127.0.0.1", port, session_constructor_args=["rpc.Connect"])
    with pytest.raises(ValueError, match="no global function"):
        session.get_function("nobody")
    assert session.get_function("tvm.rpc.server.workpath")("x").endswith("/x")


def test_after_its_end_there_is_nothing(port):
    with rpc.connect("127.0.0.1", port, key="board") as session:
        x = opdyno.tensor(np.zeros(4, "float32"), session.cpu())
    with pytest.raises(opdyno.Error, match="it was closed"):
        x.numpy()
    with pytest.raises(ConnectionError, match="it was closed"):
        session.get_function("anything")
    assert "ended" in repr(session) and not session.cpu().exist


def test_threads_share_a_session(session, remote_chain):
    def run(first):
        for i in range(20):
            x = np.full(4, first + i, "float32")
            there = opdyno.tensor(x, session.cpu())
            np.testing.assert_array_equal(remote_chain["main"](there).numpy(), x + 100)
        done.append(first)

    done = []
    threads = [threading.Thread(target=run, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1000, 2000, 3000]


@contextlib.contextmanager
def waiting(session):
    """A server function that runs until this context ends, but at most a minute."""
    gate = session.get_function("tvm.rpc.server.workpath")("gate")
    code = f"""
    #include <unistd.h>
    int __tvm_ffi_wait(void *self, const Any *args, int32_t n, Any *result) {{
      for (int i = 0; i < 6000 && access("{gate}", F_OK); ++i) usleep(10000);
      return 0;
    }}
    """
    session.upload((KERNELS + code).encode(), "waits.c")
    module = session.load_module("waits.c")
    module["wait"]  # compiles the function
    try:
        yield module
    finally:
        Path(gate).touch()


def test_ctrl_c_ends_the_wait(session):
    with waiting(session) as module:
        wait = module["wait"]
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
            wait()
    assert "waits.c" in session.listdir(), "the session goes on"


def test_others_run_while_one_waits_for_its_turn(session):
    """A thread that waits for another thread's request must not block the other threads."""
    with waiting(session) as module:
        wait = module["wait"]
        ended = threading.Event()
        threads = [threading.Thread(target=lambda: (wait(), ended.set()))]
        threads += [threading.Thread(target=ask) for ask in (module.function_names, lambda: session.cl(7).exist)]
        for thread in threads:
            thread.start()
            time.sleep(0.2)
        assert not ended.is_set(), "this thread stood still as long as the function ran"
    for thread in threads:
        thread.join()


def test_a_thousand_sessions_leave_nothing():
    def things():
        return {
            "descriptors of the server": len(os.listdir(f"/proc/{pid}/fd")),
            "processes of the server": len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()),
            "descriptors here": len(os.listdir("/proc/self/fd")),
        }

    with serving() as (pid, port):
        before = things()
        with rpc.connect("127.0.0.1", port, key="board") as session:
            folder = Path(session.get_function("tvm.rpc.server.workpath")("x")).parent
        for _ in range(1000):
            with rpc.connect("127.0.0.1", port, key="board") as session:
                session.upload(b"x", "x")
        del session
        for _ in range(600):  # the server notices the end of the last sessions a little later
            if things() == before:
                break
            time.sleep(0.05)
        assert things() == before and not folder.exists()


def test_a_crash_is_an_error_and_ends_only_its_session(port):
    source = KERNELS + "int __tvm_ffi_crash(void *self, const Any *args, int32_t n, Any *result) { return *(volatile int *)8; }"
    with rpc.connect("127.0.0.1", port, key="board") as session, rpc.connect("127.0.0.1", port, key="board") as other:
        session.upload(source.encode(), "crash.c")
        crash = session.load_module("crash.c")["crash"]
        with pytest.raises(opdyno.Error, match="in crash") as caught:
            crash()
        assert caught.value.code == opdyno.Code.IO
        assert session.describe()["absence"] and other.listdir() == ""


def test_the_example_of_the_page_runs(port, tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[3] / "docs" / "remote.md").read_text()
    code = re.search(r"```python\n(import numpy\nimport opdyno\n.*?)```", page, re.S)[1]
    shutil.copy(DATA / "0.27" / "chain_100.so", tmp_path / "model.so")
    monkeypatch.chdir(tmp_path)
    exec(code.replace("9090", str(port)).replace('"pi4"', '"board"'), {})
    shown = capsys.readouterr().out
    assert "[100. 101. 102. 103.]" in shown and "Duration (us)" in shown and "mean" in shown
