#!/usr/bin/env python3
"""TVM's own RPC client and its tracker with `opdyno serve`, and opdyno's client with TVM's server and tracker.

TVM is that of the environment that generate.py makes.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
DATA = ROOT / "tests" / "interop" / "data"
sys.path.append(str(ROOT / "tests" / "support"))
from tvm_servers import end, free_port, start, wait_for


def parse_arguments():
    cache = Path(os.environ.get("OPDYNO_CACHE_DIR", Path.home() / ".cache" / "opdyno")) / "interop"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="opdyno's build directory")
    parser.add_argument("--cache", type=Path, default=cache, help="directory of the environment")
    parser.add_argument("--release", default="0.27", help="TVM's")
    parser.add_argument("--python", type=Path, default=cache.parent / "bindings" / "python" / "bin" / "python",
                        help="a Python that has opdyno")
    return parser.parse_args()


def serve(arguments, *words):
    """A server and its port."""
    server = subprocess.Popen(
        [arguments.build / "bin" / "opdyno", "serve", "--listen", "127.0.0.1:0", *words], stdout=subprocess.PIPE, text=True
    )
    line = server.stdout.readline()
    return server, re.match(r"serving at 127\.0\.0\.1:(\d+)", line)[1]


def client_of_c(arguments):
    """client.c, compiled as users compile their programs."""
    program = arguments.build / "interop" / "rpc_client"
    program.parent.mkdir(exist_ok=True)
    include = [f"-I{ROOT / 'include'}", f"-I{arguments.build / 'include'}"]
    library = [f"-L{arguments.build / 'lib'}", f"-Wl,-rpath,{arguments.build / 'lib'}", "-lopdyno"]
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", *include, HERE / "client.c", "-o", program, *library], check=True)
    return program


def measure_on_both(arguments, machines):
    """TVM's server and opdyno's are given out in turns; both give what this machine gives."""
    program = [DATA / "0.27" / "chain_100.so"]
    opdyno = arguments.build / "bin" / "opdyno"
    command = [opdyno, "bench", *program, "--on", machines, "--repeat", "3", "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]  # each takes one of them
    measured = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert all(process.returncode == 0 for process in both)
    assert all(len(one["results_us"]) == 3 and min(one["results_us"]) > 0 for one in measured)
    here = subprocess.run([opdyno, "run", *program], capture_output=True, text=True, check=True)
    there = subprocess.run([opdyno, "run", *program, "--on", machines], capture_output=True, text=True, check=True, timeout=120)
    assert here.stdout == there.stdout


def main():
    arguments = parse_arguments()
    python = arguments.cache / f"venv-{arguments.release}" / "bin" / "python"
    if not python.exists():
        sys.exit(f"there is no TVM in {python}; tools/test --full installs it")
    client = [python, HERE / "session.py", DATA]
    started, of_tvm = [], []
    if not arguments.python.exists():
        sys.exit(f"{arguments.python} is not there; tools/test --full makes it")
    own = [arguments.python, HERE / "client.py", DATA]
    try:
        server, port = serve(arguments, "--key", "board")
        started.append(server)
        subprocess.run([*client, "direct", port], check=True, timeout=120)
        tracker_port = free_port()
        tracker = [python, "-m", "tvm.exec.rpc_tracker", "--host", "127.0.0.1", "--port", str(tracker_port)]
        start(of_tvm, [*tracker, "--port-end", str(tracker_port + 1)])
        wait_for(tracker_port)
        started.append(serve(arguments, "--key", "board", "--tracker", f"127.0.0.1:{tracker_port}")[0])
        subprocess.run([*client, "tracker", str(tracker_port)], check=True, timeout=120)
        started.pop().terminate()  # or the tracker would give it to the next client, too

        servers = [python, "-m", "tvm.exec.rpc_server", "--host", "127.0.0.1", "--key", "board"]
        port = free_port()
        start(of_tvm, [*servers, "--port", str(port), "--port-end", str(port + 1)])
        wait_for(port)
        subprocess.run([*own, "direct", str(port)], check=True, timeout=120)
        subprocess.run([client_of_c(arguments), DATA / "0.27", f"127.0.0.1:{port}"], check=True, timeout=120)
        address = f"127.0.0.1:{port}"
        bench = [arguments.build / "bin" / "opdyno", "bench", DATA / "0.27" / "chain_100.so", "--on", f"{address},key=board", "--repeat", "3", "--json"]
        measured = json.loads(subprocess.run(bench, check=True, stdout=subprocess.PIPE, timeout=120).stdout)
        assert measured["machine"] == address, "TVM's server does not tell its name"
        port = free_port()
        start(of_tvm, [*servers, "--port", str(port), "--port-end", str(port + 1), "--tracker", f"127.0.0.1:{tracker_port}"])
        wait_for(port)
        subprocess.run([*own, "tracker", str(tracker_port)], check=True, timeout=120)
        started.append(serve(arguments, "--key", "board", "--tracker", f"127.0.0.1:{tracker_port}")[0])
        measure_on_both(arguments, f"tracker=127.0.0.1:{tracker_port},key=board")
    finally:
        for process in started:
            process.terminate()
            process.wait()
        end(of_tvm)
    print("ok")


if __name__ == "__main__":
    main()
