"""Servers of TVM's RPC as TVM has them, for tests: `python -m tvm.exec.rpc_server` and the like."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit(f"nothing of TVM's listens at the port {port}")


def start(group, command):
    """Of TVM: in a group of its own, because it starts processes that would outlive it, and would hold this one's pipes."""
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    group.append(process)
    return process


def end(group):
    for process in group:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def tvm_rpc_server(environments, release="0.27"):
    """The address of a server of TVM's whose key is "board"; None without the environment that tests/interop/generate.py makes."""
    python = environments / f"venv-{release}" / "bin" / "python"
    if not python.exists():
        print(f"skipped: a client with TVM's server: there is no TVM in {python}; tools/test --full installs it", flush=True)
        yield None
        return
    port, group = free_port(), []
    try:
        start(group, [python, "-m", "tvm.exec.rpc_server", "--host", "127.0.0.1", "--key", "board", "--port", str(port), "--port-end", str(port + 1)])
        wait_for(port)
        yield f"127.0.0.1:{port}"
    finally:
        end(group)
