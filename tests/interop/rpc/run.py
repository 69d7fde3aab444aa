#!/usr/bin/env python3
"""TVM's own RPC client, and its tracker, with `opdyno serve`. TVM is that of the environment that generate.py makes."""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DATA = ROOT / "tests" / "interop" / "data"


def parse_arguments():
    cache = Path(os.environ.get("OPDYNO_CACHE_DIR", Path.home() / ".cache" / "opdyno")) / "interop"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="opdyno's build directory")
    parser.add_argument("--cache", type=Path, default=cache, help="directory of the environment")
    parser.add_argument("--release", default="0.27", help="TVM's")
    return parser.parse_args()


def serve(arguments, *words):
    """A server and its port."""
    server = subprocess.Popen(
        [arguments.build / "bin" / "opdyno", "serve", "--listen", "127.0.0.1:0", *words], stdout=subprocess.PIPE, text=True
    )
    line = server.stdout.readline()
    return server, re.match(r"serving at 127\.0\.0\.1:(\d+)", line)[1]


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
    sys.exit("the tracker does not listen")


def main():
    arguments = parse_arguments()
    python = arguments.cache / f"venv-{arguments.release}" / "bin" / "python"
    if not python.exists():
        sys.exit(f"there is no TVM in {python}; tools/test --full installs it")
    client = [python, HERE / "session.py", DATA]
    started, group = [], None
    try:
        server, port = serve(arguments, "--key", "board")
        started.append(server)
        subprocess.run([*client, "direct", port], check=True, timeout=120)
        tracker_port = free_port()
        tracker = [python, "-m", "tvm.exec.rpc_tracker", "--host", "127.0.0.1", "--port", str(tracker_port)]
        # In a group of its own, because it starts a process that would outlive it.
        started.append(subprocess.Popen([*tracker, "--port-end", str(tracker_port + 1)], start_new_session=True))
        group = started[-1].pid
        wait_for(tracker_port)
        started.append(serve(arguments, "--key", "board", "--tracker", f"127.0.0.1:{tracker_port}")[0])
        subprocess.run([*client, "tracker", str(tracker_port)], check=True, timeout=120)
    finally:
        for process in started:
            process.terminate()
            process.wait()
        if group:
            os.killpg(group, signal.SIGKILL)
    print("ok")


if __name__ == "__main__":
    main()
