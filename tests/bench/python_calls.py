"""What calls cost from Python: opdyno's package and TVM's, the same rows. Speaks as harness.cc --serve does.

python_calls.py opdyno|tvm PROGRAMS OTHER ARTIFACTS: a directory through which the sides hand VM programs to each other, and
which has the library of kernels.c; for TVM, the C library that registers its no-op, for opdyno, the Python that has TVM; and the
models.
"""

import atexit
import ctypes
import functools
import os
import re
import signal
import socket
import subprocess
import sys
import time
import timeit
from pathlib import Path

import numpy as np

import model_calls

BATCH_SECONDS = 1e-3
PROGRAM = "nop_1x4.vmexec"  # as VmProgram in vm_program.h names it
NOP = "opdyno.bench.nop"
CHAIN = "chain_1000.so"
MEBIBYTES = 16  # of a tensor that is sent to a server
SERVERS = []  # process IDs of those that were started, which are their groups' IDs, too
KERNELS = "kernels.so"  # as run.py names it


class Opdyno:
    RUN = """
import opdyno
result = opdyno.VirtualMachine(path)["main"](*inputs)
"""

    def __init__(self, programs, tvms_python):
        import opdyno

        self.runtime, self.programs, self.tvms_python = opdyno, programs, tvms_python
        module = opdyno.load_module(programs / KERNELS)
        self.nop, self.echo = module["nop"], module["echo"]
        self.tensor, self.function = opdyno.tensor, opdyno.Function
        self.error = opdyno.Error

    def view(self, tensor):
        return tensor.view()

    def session(self):
        command = [sys.executable, "-m", "opdyno", "serve", "--listen", "127.0.0.1:0"]
        server = start_server(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = int(re.match(r"serving at 127\.0\.0\.1:(\d+)", server.stdout.readline())[1])
        return self.runtime.rpc.connect("127.0.0.1", port)

    def stock_session(self):
        return connect_to_tvms_server(self.tvms_python, self.runtime.rpc.connect)

    def empty(self, dims, device):
        return self.runtime.empty(dims, "float32", device)

    def nop_vm(self):
        self.runtime.register_func(NOP, self.nop, override=True)
        text = f".func main(a, b, c, d) {{\n  call {NOP}(%a, %b, %c, %d)\n  ret %void\n}}\n"
        program = self.runtime.Executable.assemble(text)
        (self.programs / PROGRAM).write_bytes(program.save_bytes())
        return self.runtime.VirtualMachine(program)["main"]

    def vm(self, path):
        return self.runtime.VirtualMachine(path)

    def evaluator(self, path, session=None):
        if session:
            session.upload(str(path))
        vm = self.vm(session.load_module(path.name) if session else path)
        x = self.runtime.empty((4,), "float32", session.cpu() if session else None)
        return lambda: vm.time_evaluator("main", number=1000)(x).mean


class Tvm:
    # The leanest way: its runtime without the package of the compiler.
    RUN = """
import ctypes, importlib.util, pathlib
import tvm_ffi
runtime = pathlib.Path(importlib.util.find_spec("tvm").origin).parent / "lib/libtvm_runtime.so"
ctypes.CDLL(str(runtime), ctypes.RTLD_GLOBAL)
vm = tvm_ffi.load_module(path)["vm_load_executable"]()
vm["vm_initialization"](1, 0, 2)
result = vm["main"](*(tvm_ffi.from_dlpack(array) for array in inputs))
"""

    def __init__(self, programs, library):
        import tvm
        import tvm_ffi

        self.tvm, self.ffi, self.programs = tvm, tvm_ffi, programs
        ctypes.CDLL(library).opdyno_bench_register_nop()
        module = tvm_ffi.load_module(str(programs / KERNELS))
        self.nop, self.echo = module["nop"], module["echo"]
        self.tensor, self.function = tvm.runtime.tensor, tvm_ffi.convert
        self.error = Exception

    def view(self, tensor):
        return np.from_dlpack(tensor)

    def session(self):
        return connect_to_tvms_server(sys.executable, self.tvm.rpc.connect)

    stock_session = session

    def empty(self, dims, device):
        return self.tvm.runtime.empty(dims, "float32", device)

    def nop_vm(self):
        load = self.ffi.get_global_func("ffi.Module.load_from_bytes.relax.VMExecutable")
        program = load((self.programs / PROGRAM).read_bytes())
        return self.tvm.relax.VirtualMachine(program, self.tvm.cpu())["main"]

    def vm(self, path):
        return self.tvm.relax.VirtualMachine(self.tvm.runtime.load_module(str(path)), self.tvm.cpu())

    def evaluator(self, path, session=None):
        if session:
            session.upload(str(path))
        module, device = (session.load_module(path.name), session.cpu()) if session else (self.tvm.runtime.load_module(str(path)), self.tvm.cpu())
        evaluator = self.tvm.relax.VirtualMachine(module, device).time_evaluator("main", device, number=1000)
        x = self.empty((4,), device)
        return lambda: evaluator(x).mean


def start_server(command, **streams):
    """In a group of its own, which ends with this process: TVM's starts further ones."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **streams)
    SERVERS.append(server.pid)
    atexit.register(os.killpg, server.pid, signal.SIGKILL)
    return server


def connect_to_tvms_server(python, connect):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    where = ["--host", "127.0.0.1", "--port", str(port), "--port-end", str(port + 1)]
    start_server([python, "-m", "tvm.exec.rpc_server", *where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            return connect("127.0.0.1", port)
        except Exception:  # it does not listen yet
            time.sleep(0.1)
    raise RuntimeError("TVM's server does not listen")


@functools.cache
def remote(side, with_stock_server=False):
    """Another process, by each side's own client, and its own server or TVM's."""
    session = side.stock_session() if with_stock_server else side.session()
    session.upload(str(side.programs / KERNELS))
    dims = (MEBIBYTES << 18,)
    return {
        "session": session,
        "nop": session.load_module(KERNELS)["nop"],
        "here": side.tensor(np.ones(dims, "float32")),
        "there": side.empty(dims, session.cpu()),
    }


def failing(function, argument, error):
    def call():
        try:
            function(argument)
        except error:
            return
        raise RuntimeError("the wrong shape was accepted")

    return call


def rows(side, artifacts):
    """For each row its unit, how often it goes into that, and what makes statement and names."""
    array = np.ones(16, "float32")
    made = {"tensor": side.tensor, "view": side.view, "nop": side.nop, "echo": side.echo, "array": array, "x": side.tensor(array)}
    small = {name: side.tensor(np.zeros(4, "float32")) for name in "abcd"}
    return {
        "python_nop": ("ns", lambda: ("nop()", made)),
        "python_echo_int": ("ns", lambda: ("echo(1)", made)),
        "python_echo_tensor": ("ns", lambda: ("echo(x)", made)),
        "python_array": ("ns", lambda: ("nop(array)", made)),
        "python_tensor": ("us", lambda: ("tensor(array)", made)),
        "python_numpy": ("us", lambda: ("x.numpy()", made)),
        "python_view": ("us", lambda: ("view(x)", made)),
        "python_callback": ("ns", lambda: ("function(1)", {"function": side.function(lambda x: x)})),
        "python_error": ("us", lambda: ("call()", {"call": failing(side.vm(artifacts / CHAIN)["main"], side.tensor(np.zeros(5, "float32")), side.error)})),
        "python_rpc_call": ("us", lambda: ("nop()", remote(side))),
        "python_rpc_to": ("ms", lambda: ("here.copyto(there)", remote(side))),
        "python_rpc_from": ("ms", lambda: ("there.copyto(here)", remote(side))),
        "python_rpc_stock_to": ("ms", lambda: ("here.copyto(there)", remote(side, with_stock_server=True))),
        "python_rpc_stock_from": ("ms", lambda: ("there.copyto(here)", remote(side, with_stock_server=True))),
        "python_vm": ("ns", lambda: ("function(a, b, c, d)", {"function": side.nop_vm(), **small})),
    }


def import_time(module):
    """Milliseconds that a fresh interpreter takes longer with the module than without."""
    def once(statement):
        return min(timeit.repeat(lambda: subprocess.run([sys.executable, "-c", statement], check=True), number=1, repeat=5))

    return (once(f"import {module}") - once("")) * 1e3


RUN_AND_TELL = """
import sys
import numpy as np
path = sys.argv[1]
with np.load(path.replace(".so", ".npz")) as arrays:
    *inputs, expected = [arrays[key] for key in arrays]
{run}
assert np.allclose(np.from_dlpack(result), expected, rtol=1e-4, atol=1e-4)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
"""


def peak_memory(side, artifacts):
    """Mebibytes that a fresh interpreter needs at most to import NumPy and the package, load the MLP and run it."""
    command = [sys.executable, "-c", RUN_AND_TELL.format(run=side.RUN), str(artifacts / "mlp_784.so")]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@functools.cache
def evaluators(side, path):
    return side.evaluator(path), side.evaluator(path, side.session())


def remote_time(side, path):
    """Percent: the time that an evaluator on the server measures, of that which one here measures, in turns."""
    here, there = evaluators(side, path)
    times = [(here(), there()) for _ in range(5)]
    return 100 * sorted(time for _, time in times)[2] / sorted(time for time, _ in times)[2]


def resident(processes, *kinds):
    lines = [line.split() for pid in processes for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
    return sum(int(words[1]) for words in lines if words[0].rstrip(":") in kinds) / 1024


def session_memory(side):
    """Mebibytes of its own that a session has on the server, before it loads anything."""
    session = side.session()
    group = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit() and os.getpgid(int(entry.name)) == SERVERS[-1]]
    memory = resident([pid for pid in group if int(pid) != SERVERS[-1]], "Private_Clean", "Private_Dirty")
    del session
    return memory


def server_memory(side):
    """Mebibytes that a server has before the first session, with what it shares with other processes."""
    side.session()  # a server that listens; the session is over when it is measured
    time.sleep(0.2)
    return resident([SERVERS[-1]], "Rss")


class Timer:
    def __init__(self, unit, make):
        statement, names = make()
        self.timer, self.count, self.unit = timeit.Timer(statement, globals=names), 1, {"ns": 1e9, "us": 1e6, "ms": 1e3}[unit]
        while self.timer.timeit(self.count) < BATCH_SECONDS:
            self.count *= 2

    def sample(self):
        return sorted(self.timer.timeit(self.count) / self.count for _ in range(5))[2] * self.unit


def main():
    name, programs, library, artifacts = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    side = {"opdyno": Opdyno, "tvm": Tvm}[name]
    side = side(programs, library)
    known = rows(side, artifacts) | model_calls.rows(side, artifacts)
    whole = {
        "python_import": ("ms", lambda: import_time("opdyno" if name == "opdyno" else "tvm_ffi")),
        "python_peak": ("MiB", lambda: peak_memory(side, artifacts)),
        "python_rpc_evaluator": ("%", lambda: remote_time(side, artifacts / CHAIN)),
        "python_rpc_server": ("MiB", lambda: server_memory(side)),
        "python_rpc_session": ("MiB", lambda: session_memory(side)),
    }
    units = {row: unit for row, (unit, _) in (known | whole).items()}
    if name == "tvm":
        units["vm_function_call"] = "ns"  # beside that row of C++: the way that most people call TVM
        known["vm_function_call"] = known["python_vm"]
    print("".join(f"{row} {unit}\n" for row, unit in units.items()), flush=True)
    timers = {}
    for line in sys.stdin:
        row = line.strip()
        try:
            if row in whole:
                print(whole[row][1](), flush=True)
                continue
            if row not in timers:
                timers[row] = Timer(*known[row])
            print(timers[row].sample(), flush=True)
        except Exception as error:  # whatever it is, the driver shows it
            print("!", f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
