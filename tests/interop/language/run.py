#!/usr/bin/env python3
"""A language model that TVM compiles, run by opdyno: against the model in NumPy, and beside TVM's own VM.

TVM is that of the environment that generate.py makes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
import generate  # noqa: E402

MODES = ("bytecode", "compiled")


def parse_arguments():
    cache = generate.default_cache()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=cache, help="directory of the environments")
    parser.add_argument("--release", nargs="*", default=["0.27"], help="TVM's")
    parser.add_argument("--steps", type=int, default=150, help="of random work")
    parser.add_argument("--python", type=Path, default=cache.parent / "bindings" / "python" / "bin" / "python",
                        help="a Python that has opdyno and NumPy")
    return parser.parse_args()


def run(python, *command):
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(HERE)}
    done = subprocess.run([python, *map(str, command)], check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def work(python, runtime, directory, mode, seed, steps, *more):
    program = directory / f"tiny_{mode}.so"
    lines = run(python, HERE / "work.py", runtime, program, directory / "params.npz", seed, steps, *more).splitlines()
    return [json.loads(line) for line in lines]


def compare(ours, theirs, where):
    """The work is the same, and the kernels are, so the numbers are the same to the last bit."""
    if len(ours) != len(theirs):
        sys.exit(f"{where}: {len(ours)} results, but TVM has {len(theirs)}")
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            sys.exit(f"{where}: result {number} differs from TVM's:\n{str(a)[:300]}\n{str(b)[:300]}")


def check_checkpoints(tvm, arguments, directory):
    program, parameters = directory / "tiny_bytecode.so", directory / "params.npz"
    runtimes = {"tvm": tvm, "opdyno": arguments.python}
    files = {name: directory / f"{name}.npz" for name in runtimes}
    for name, python in runtimes.items():
        run(python, HERE / "checkpoint.py", name, "export", program, parameters, files[name])
    for name, other in (("tvm", "opdyno"), ("opdyno", "tvm"), ("opdyno", "opdyno")):
        run(runtimes[name], HERE / "checkpoint.py", name, "import", program, parameters, files[other])


def check_release(release, arguments, directory):
    tvm = generate.environment_for(release, arguments.cache)
    run(tvm, HERE / "build_model.py", directory)
    passes = 0
    for seed, mode in enumerate(MODES, 1):
        ours = work(arguments.python, "opdyno", directory, mode, seed, arguments.steps)
        results = directory / "results.json"
        results.write_text(json.dumps([line for line in ours if "logits" in line]))
        passes += int(run(arguments.python, HERE / "check_logits.py", directory / "params.npz", results))
        compare(ours, work(tvm, "tvm", directory, mode, seed, arguments.steps), f"TVM {release}, {mode}")
        windows = (directory, mode, seed + 10, arguments.steps, "windows")
        compare(work(arguments.python, "opdyno", *windows), work(tvm, "tvm", *windows), f"TVM {release}, {mode}, windows")
        run(arguments.python, HERE / "check_trees.py", directory / f"tiny_{mode}.so", directory / "params.npz", seed)
    if release not in ("0.25", "0.26"):  # which have none
        check_checkpoints(tvm, arguments, directory)
    print(f"TVM {release}: {passes} passes have NumPy's logits; all have TVM's; windows and trees agree", flush=True)


if __name__ == "__main__":
    given = parse_arguments()
    for version in given.release:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check_release(version, given, Path(scratch))
            except subprocess.CalledProcessError as error:
                sys.exit(f"failed: {' '.join(map(str, error.cmd))}\n{error.stderr[-3000:]}")
