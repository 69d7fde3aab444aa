#!/usr/bin/env python3
"""A language model that TVM compiles, run by opdyno: against the model in NumPy, and beside TVM's own VM.

TVM is that of the environment that generate.py makes.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
import generate  # noqa: E402

MODES = ("bytecode", "compiled")
EXAMPLE = HERE.parents[2] / "examples" / "tiny_llama"


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
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{HERE}:{EXAMPLE}"}
    done = subprocess.run([python, *map(str, command)], check=True, capture_output=True, text=True, env=environment)
    return done.stdout


def model_files(directory):
    return next(directory.glob("*.so")), directory / "weights.npz"


def work(python, runtime, directory, mode, seed, steps, *more):
    lines = run(python, HERE / "work.py", runtime, *model_files(directory / mode), seed, steps, *more).splitlines()
    return [json.loads(line) for line in lines]


def compare(ours, theirs, where):
    """The work is the same, and the kernels are, so the numbers are the same to the last bit."""
    if len(ours) != len(theirs):
        sys.exit(f"{where}: {len(ours)} results, but TVM has {len(theirs)}")
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            sys.exit(f"{where}: result {number} differs from TVM's:\n{str(a)[:300]}\n{str(b)[:300]}")


def check_command(python, mode, directory):
    """`opdyno profile` drives the program, with the weights and, where the program tells their shapes, without."""
    program, parameters = model_files(directory / mode)
    driven = ("--prefill", 20, "--decode", 4, "--batch", 2, "--json")
    for weights in ((), ("--params", parameters)):
        told = json.loads(run(python, "-m", "opdyno", "profile", program, *driven, *weights))
        calls = {row["name"]: row["calls_per_token"] for row in told["operators"]}
        cache = told["cache"]
        is_named = "packed function" not in calls and told["profile_us_per_token"]["attention"] > 0  # the cache's kernels
        if calls["vm.builtin.attention_kv_cache_attention_with_fused_qkv"] != 2 or (cache["pages_in_use"], cache["pages"]) != (4, 5) or not is_named:
            sys.exit(f"{program}: opdyno profile tells {calls} and {cache}")


def check_hybrid(tvm, arguments, directory):
    """Of a model that has a KV cache and the states of a recurrent network."""
    passes = 0
    for seed, mode in enumerate(MODES, 40):
        made = f"hybrid_{mode}"
        run(tvm, HERE / "build_hybrid.py", directory / made, mode)
        program, parameters = model_files(directory / made)
        ours = work(arguments.python, "opdyno", directory, made, seed, arguments.steps, "hybrid")
        passes += check_logits(arguments.python, parameters, ours, directory)
        compare(ours, work(tvm, "tvm", directory, made, seed, arguments.steps, "hybrid"), made)
        driven = ("--prefill", 20, "--decode", 4, "--batch", 3, "--json", "--params", parameters)
        told = json.loads(run(arguments.python, "-m", "opdyno", "profile", program, *driven))
        calls = {row["name"]: row["calls_per_token"] for row in told["operators"]}
        names = ("vm.builtin.attention_kv_cache_attention_with_fused_qkv", "vm.builtin.rnn_state_get", "get_state", "vm.builtin.rnn_state_set", "set_state")
        if told["functions"][:2] != ["create_paged_kv_cache", "create_rnn_state"] or any(calls[name] != 2 for name in names):
            sys.exit(f"{program}: opdyno profile tells {told['functions']} and {calls}")
    return passes


def check_checkpoints(tvm, arguments, directory):
    program, parameters = model_files(directory / "bytecode")
    runtimes = {"tvm": tvm, "opdyno": arguments.python}
    files = {name: directory / f"{name}.npz" for name in runtimes}
    for name, python in runtimes.items():
        run(python, HERE / "checkpoint.py", name, "export", program, parameters, files[name])
    for name, other in (("tvm", "opdyno"), ("opdyno", "tvm"), ("opdyno", "opdyno")):
        run(runtimes[name], HERE / "checkpoint.py", name, "import", program, parameters, files[other])


def check_kinds(tvm, arguments, directory):
    """Of layers with a window, and of layers that share keys and values: against NumPy, and beside TVM's VM."""
    passes = 0
    for seed, (kind, mode) in enumerate([(kind, mode) for kind in ("window", "shared") for mode in MODES], 50):
        made = directory / f"{kind}_{mode}"
        run(tvm, HERE / "build_kinds.py", made, kind, "--exec-mode", mode)
        ours, theirs = (run(python, HERE / "check_kinds.py", runtime, *model_files(made), kind, seed, arguments.steps).splitlines()
                        for runtime, python in (("opdyno", arguments.python), ("tvm", tvm)))  # fmt: skip
        compare(ours, theirs, f"{kind}, {mode}")
        passes += len(ours)
    return passes


def repair_merging(program):
    """TVM's kernels that merge two parts of attention have a race: each thread of a row reads its weight and writes the new one. The threads of
    one warp do so at once, but PoCL runs them one after the other. Here the last one writes."""
    source = program.read_bytes()
    head = re.search(rb"S_ptr\[\(\(\(convert_int\(get_group_id\(0\)\)\) \* H\) \+ \(convert_int\(get_local_id\(1\)\)\)\)\] = ", source)
    replaced = b"if(get_local_id(0)+1==get_local_size(0))S_ptr[get_group_id(0)*H+get_local_id(1)]="
    assert head and len(replaced) <= len(head[0]), "TVM makes another kernel now"
    program.write_bytes(source.replace(head[0], replaced.ljust(len(head[0]))))


def check_logits(python, parameters, results, directory):
    file = directory / "results.json"
    file.write_text(json.dumps([line for line in results if "logits" in line]))
    return int(run(python, HERE / "check_logits.py", parameters, file))


def check_device(tvm, arguments, directory):
    """Of the GPU's kernels on PoCL, against NumPy: TVM's wheel cannot run them."""
    if run(arguments.python, "-c", "import opdyno; print(opdyno.device('opencl:0').exist)").strip() != "True":
        print("not tried: there is no device opencl:0", flush=True)
        return 0
    passes = 0
    for seed, mode in enumerate(MODES, 30):
        run(tvm, EXAMPLE / "build.py", directory / f"opencl_{mode}", "--exec-mode", mode, "--target", "opencl")
        program, parameters = model_files(directory / f"opencl_{mode}")
        repair_merging(program)
        ours = work(arguments.python, "opdyno", directory, f"opencl_{mode}", seed, arguments.steps, "opencl:0")
        passes += check_logits(arguments.python, parameters, ours, directory)
    return passes


def check_latent(tvm, arguments, directory):
    """Of MLA: TVM's frontend has kernels of it for GPUs only."""
    if run(arguments.python, "-c", "import opdyno; print(opdyno.device('opencl:0').exist)").strip() != "True":
        return 0
    run(tvm, HERE / "build_kinds.py", directory / "latent", "latent")
    program, parameters = model_files(directory / "latent")
    repair_merging(program)
    return len(run(arguments.python, HERE / "check_kinds.py", "opdyno", program, parameters, "latent", 60, 60, "opencl:0").splitlines())


def check_release(release, arguments, directory):
    tvm = generate.environment_for(release, arguments.cache)
    for mode in MODES:
        run(tvm, EXAMPLE / "build.py", directory / mode, "--exec-mode", mode)
    passes = 0
    for seed, mode in enumerate(MODES, 1):
        ours = work(arguments.python, "opdyno", directory, mode, seed, arguments.steps)
        passes += check_logits(arguments.python, model_files(directory / mode)[1], ours, directory)
        compare(ours, work(tvm, "tvm", directory, mode, seed, arguments.steps), f"TVM {release}, {mode}")
        windows = (directory, mode, seed + 10, arguments.steps, "windows")
        compare(work(arguments.python, "opdyno", *windows), work(tvm, "tvm", *windows), f"TVM {release}, {mode}, windows")
        check_command(arguments.python, mode, directory)
        run(arguments.python, HERE / "check_trees.py", *model_files(directory / mode), seed)
    kinds = latent = 0
    if release not in ("0.25", "0.26"):  # which have none
        check_checkpoints(tvm, arguments, directory)
        kinds, latent = check_kinds(tvm, arguments, directory), check_latent(tvm, arguments, directory)
    hybrid = check_hybrid(tvm, arguments, directory)
    there = check_device(tvm, arguments, directory)
    print(f"TVM {release}: {passes} passes have NumPy's logits, and {hybrid} of a hybrid model, {kinds} of layers with windows or shared rows; "
          f"all have TVM's; windows and trees agree; "
          f"{there} passes on opencl:0 have NumPy's, and {latent} of MLA", flush=True)  # fmt: skip


if __name__ == "__main__":
    given = parse_arguments()
    for version in given.release:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check_release(version, given, Path(scratch))
            except subprocess.CalledProcessError as error:
                sys.exit(f"failed: {' '.join(map(str, error.cmd))}\n{error.stderr[-3000:]}")
