#!/usr/bin/env python3
"""Measures opdyno and its peers, both sides in turn; tools/bench calls this. See README.md."""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import model_cases
import package
import peers

SIZE = "library_size"  # measured here, not by a process

# The order of the rows, and what the project wants to reach: shown beside the figures; nothing here decides.
GOALS = {
    "packed_call": "<= 1.1x",
    "vm_instruction_0": "<= 0.2x",
    "vm_instruction_1": "<= 0.15x",
    "vm_instruction_4": "<= 0.1x",
    "vm_function_call": "<= 80 ns",
    "vm_call_named": "<= 120 ns",
    "vm_instrument": "<= 30 ns",
    "telemetry_call": "<= 250 ns",
    "telemetry_operator": "",
    "chain": "<= 0.06x, 2x bare",
    "chain_compiled": "<= 0.45x",
    "chain_bare_kernel": "",
    "profile_record": "<= 25 ns",
    "profile_record_100": "<= 25 ns",
    "profile_record_compiled": "<= 30 ns",
    "profile_operator": "<= 100 ns",
    "profile_collector": "<= 120 ns",
    "profile_papi": "<= 2 reads + 0.3 us",
    "papi_read": "",
    "papi_start_stop": "",
    "two_time_stamps": "",
    "record_1us": "97 to 103 %",
    "profile_whole": "",
    "range_recorded": "<= 30 ns",
    "range_idle": "<= 2 ns",
    "report_table_chain": "<= 2 ms",
    "report_json": "<= 20 ms",
    "report_from_json": "<= 160 ms",
    "report_csv": "<= 20 ms",
    "report_table": "<= 20 ms",
    "report_arrow": "<= 5 ms",
    "trace_chrome": "<= 500 ms",
    "trace_chrome_gz": "<= 2000 ms",
    "trace_perfetto": "<= 200 ms",
    "trace_speedscope": "",
    "trace_pprof": "",
    "trace_html": "<= 1000 ms",
    "trace_table": "<= 100 ms",
    "trace_events": "",
    "trace_memory_timeline": "<= 2000 ms",
    "trace_memory_timeline_raw": "<= 2000 ms",
    "trace_memory_timeline_html": "<= 2000 ms",
    "memory_block": "",
    "memory_block_recorded": "",
    "profiler_stop": "<= 50 ms",
    "report_diff": "<= 200 ms",
    "report_diff_distinct": "<= 200 ms",
    "executable_read": "<= 150 us, both",
    "vm_create": "<= 150 us, both",
    "kv_pass": "<= 500 ns",
    "kv_create": "<= 1 ms",
    "kv_decode": "",
    "kv_decode_compiled": "",
    "kv_decode_host": "<= 0.3x",
    "device_launch": "bare + 300 ns",
    "device_launch_bare": "",
    "device_launch_recorded": "launch + 500 ns",
    "device_allocation": "call + 150 ns",
    "vulkan_launch": "",
    "vulkan_launch_bare": "",
    "cuda_launch": "bare + 300 ns",
    "cuda_launch_bare": "",
    "kernel_kept": "",
    "kernel_compiled": "",
    "python_nop": "<= 0.8x",
    "python_echo_int": "<= 0.8x",
    "python_echo_tensor": "<= 0.8x",
    "python_array": "<= 0.8x",
    "python_tensor": "<= 1 us",
    "python_numpy": "<= 1 us",
    "python_view": "<= 0.5 us",
    "python_callback": "<= 0.8x",
    "python_error": "<= 4 us",
    "python_vm": "<= 0.7x",
    "python_rpc_call": "<= 0.5x",
    "python_rpc_evaluator": "98 to 102 %",
    "python_rpc_server": "<= 6 MiB",
    "python_rpc_session": "<= 3 MiB",
    "python_rpc_to": "<= 8 ms",
    "python_rpc_from": "<= 8 ms",
    "python_rpc_stock_to": "<= 1x",
    "python_rpc_stock_from": "<= 1x",
    "python_import": "<= 25 ms",
    "python_peak": "<= 32 MiB",
    "rust_nop": "C + 5 ns",
    "rust_echo_int": "C + 5 ns",
    "rust_echo_tensor": "C + 5 ns",
    "rust_vm": "C + 15 ns",
    "rust_callback": "<= 10 ns",
    "java_nop": "<= 25 ns",
    "java_echo_long": "<= 35 ns",
    "java_echo_tensor": "<= 90 ns",
    "java_lambda": "<= 150 ns",
    "java_vm": "C + 60 ns",
    "threads_16": "<= 10 %",
    "idle_vm": "<= 64 KiB",
    "load_first": "<= 0.9x",
    "load_first_call": "<= 0.5x",
    "load_next": "<= 0.4x",
    "params_open": "<= 5 ms",
    "params_copy": "<= 0.77x, 1.25x bare",
    "params_copy_bare": "",
    "params_load_bytes": "<= 0.77x",
    "params_save": "1.25x bare",
    "params_save_bare": "",
    "params_save_bytes": "<= 0.77x",
    "cold_run": "<= 15 ms",
    "doctor": "<= 1000 ms",
    "peak_memory": "<= 10 MiB",
    SIZE: "<= 1.5 MB",
}

# What TVM's profiler took for the same when TVM had one: measured once, on another machine, so no ratio is shown.
CONSTANTS = {"profile_operator": 13000, "report_json": 84, "report_csv": 97, "report_table": 145, "report_from_json": 429}


class Side:
    """A process that measures rows on request: harness.cc --serve."""

    def __init__(self, name, command):
        self.name = name
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([str(part) for part in command], **pipes)
        self.units = {}
        for line in iter(self.process.stdout.readline, "\n"):
            if not line:
                raise peers.Missing(f"{name} ended at its start")
            row, unit = line.split()
            self.units[row] = unit

    def sample(self, row):
        try:
            self.process.stdin.write(row + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            raise peers.Missing(f"{self.name} crashed")
        if answer.startswith("!"):
            raise peers.Missing(answer[2:].strip())
        return float(answer)


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


def measure(row, own, peer, rounds):
    """One line of the result. The sides take turns, and in who is first."""
    sides = [side for side in (own, peer) if side]
    samples = {side.name: [] for side in sides}
    for index in range(rounds):
        for side in sides if index % 2 == 0 else reversed(sides):
            samples[side.name].append(side.sample(row))
    name, others = (peer.name, samples[peer.name]) if peer else (None, [])
    return result(row, own.units[row], samples[own.name], name, others)


def result(row, unit, own, peer_name, peer):
    ratios = [a / b for a, b in zip(own, peer)]
    return {
        "name": row,
        "unit": unit,
        "opdyno": {"median": statistics.median(own), "samples": own},
        "peer": {"name": peer_name, "median": statistics.median(peer), "samples": peer} if peer else None,
        "ratio": statistics.median(ratios) if ratios else None,
        "constant": None if peer else CONSTANTS.get(row),
        "spread": quartiles(ratios or own),
        "goal": GOALS.get(row, ""),
    }


def measure_beside_all(row, own, sides, rounds, lines, skipped):
    """A line for each peer that has the row, or one without a peer."""
    for peer in [side for side in sides if row in side.units] or [None]:
        try:
            lines.append(measure(row, own, peer, rounds))
            print_line(lines[-1])
        except peers.Missing as error:
            skipped.append(row)
            print(f"{row}: not measured: {error}")


def stripped_size(library, directory):
    target = Path(directory) / library.name
    shutil.copyfile(library, target)
    subprocess.run(["strip", str(target)], check=True)
    return target.stat().st_size / 1e6


def sizes(library, tvm, directory):
    own = [stripped_size(library.resolve(), directory)]
    others = [sum(stripped_size(other, directory) for other in tvm.libraries)] if tvm else []
    return result(SIZE, "MB", own, "tvm ffi+runtime", others)


# ---- output

COLUMNS = "{:<26} {:>9} {:>9} {:>7} {:<4} {:<17} {:<16} {}"


def number(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def print_line(line):
    peer = line["peer"] or {"median": None, "name": "-"}
    spread = " .. ".join(number(bound) for bound in line["spread"])
    figures = [number(line["opdyno"]["median"]), number(peer["median"]), number(line["ratio"])]
    if line["constant"] is not None:
        peer, figures[1] = {"name": "a constant*"}, number(line["constant"]) + "*"
    print(COLUMNS.format(line["name"], *figures, line["unit"], spread, peer["name"], line["goal"]), flush=True)


def print_models(lines, begin, language):
    """The rows of models in one sentence."""
    ratios = {line["name"]: line["ratio"] for line in lines if line["name"].startswith(begin) and line["ratio"]}
    if ratios:
        worst = max(ratios, key=ratios.get)
        print(f"models from {language}: opdyno is faster in {sum(ratio < 1 for ratio in ratios.values())} of {len(ratios)}; "
              f"geometric mean of the ratios {number(statistics.geometric_mean(ratios.values()))}; highest {number(ratios[worst])}, {worst}")


def machine():
    names = [text.split(":", 1)[1].strip() for text in open("/proc/cpuinfo") if text.startswith("model name")]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": names[0] if names else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "load_average": os.getloadavg(),
    }


def compiler(build_dir):
    """As CMake recorded it."""
    for file in build_dir.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"):
        fields = dict(re.findall(r'set\(CMAKE_CXX_COMPILER_(ID|VERSION) "(.*)"\)', file.read_text()))
        return " ".join(fields.get(key, "?") for key in ("ID", "VERSION"))
    return "unknown"


# ---- the run


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows, or beginnings of their names (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample, and what machine it was")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each side (default: %(default)s)")
    parser.add_argument("--no-peer", action="store_true", help="opdyno alone")
    parser.add_argument("--build-dir", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def start_peers(tvm, programs):
    """Those that can be had, and a sentence for each that cannot."""
    try:
        tvm.make_artifacts()
        tvm.compile()
        model_cases.write_calls(tvm.artifacts, Path(programs))
    except peers.Missing as error:
        return [], [str(error)]
    sides, problems = [], []
    for name, command in (("tvm C++", tvm.host_command(programs)), ("tvm Python", tvm.python_command(programs))):
        try:
            sides.append(Side(name, command))
        except (peers.Missing, OSError) as error:
            problems.append(f"{name}: {error}")
    return sides, problems


def compile_kernels(programs):
    for name in ("kernels", "no_kernels"):
        command = [os.environ.get("CC") or "cc", "-O2", "-shared", "-fPIC", Path(__file__).parent / f"{name}.c", "-o", Path(programs) / f"{name}.so"]
        peers.run(command, f"compiling {name}.c", Path(programs) / f"{name}.log")


def python_side(arguments, tvm, programs):
    """opdyno's Python package, and a sentence if it cannot be had; its rows are then left out."""
    try:
        python = package.interpreter(arguments.cache.parent)
        return Side("opdyno", [python, Path(__file__).parent / "python_calls.py", "opdyno", programs, tvm.venv / "bin/python", tvm.artifacts]), []
    except (peers.Missing, OSError) as error:
        return None, [f"no rows of Python: {error}"]


def rust_sides(arguments, programs):
    """The Rust crate, and the same calls by the C API; or a sentence why there are none."""
    if not shutil.which("cargo"):
        return None, [], ["no rows of Rust: cargo is missing"]
    target, source = arguments.cache.parent / "bench-rust", Path(__file__).parent / "rust"
    libraries = arguments.build_dir.resolve() / "lib"
    environment = os.environ | {"OPDYNO_LIB_DIR": str(libraries), "OPDYNO_LINK": "dynamic", "CARGO_TARGET_DIR": str(target)}
    done = subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=source, env=environment, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return None, [], [f"no rows of Rust: {done.stderr.strip().splitlines()[-1]}"]
    program, kernels = target / "release/calls", Path(programs) / "kernels.so"
    command = ["env", f"LD_LIBRARY_PATH={libraries}", program]
    return Side("opdyno", [*command, "rust", kernels]), [Side("opdyno's C API", [*command, "c", kernels])], []


def java_side(arguments, programs):
    """The Java package with the library that is measured; or a sentence why there is none."""
    root, out = Path(__file__).resolve().parents[2], arguments.cache.parent / "bench-java"
    if not shutil.which("javac"):
        return None, ["no rows of Java: javac is missing"]
    make = [root / "bindings/java/make.py", "--build-dir", arguments.build_dir, "--cache", arguments.cache.parent / "bindings", "--out", out]
    done = subprocess.run(make, stderr=subprocess.PIPE, text=True)
    sources = [*out.rglob("*.java"), *(root / "bindings/java/src").rglob("*.java"), *(root / "bindings/java/stubs").rglob("*.java"), Path(__file__).parent / "java/Calls.java"]
    if done.returncode == 0:
        done = subprocess.run(["javac", "--release", "17", "-d", out / "classes", *sources], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return None, [f"no rows of Java: {done.stderr.strip().splitlines()[-1]}"]
    library = f"-Dopdyno.library.path={next(out.rglob('libopdyno_java.so'))}"
    # As in a program that has run for some time: else the kernel's first pages for new objects are measured, too.
    heap = ["-Xms256m", "-XX:+AlwaysPreTouch"]
    return Side("opdyno", ["java", *heap, library, "-cp", out / "classes", "Calls", Path(programs) / "kernels.so"]), []


def run(arguments, programs):
    tvm = peers.Tvm(arguments.cache)
    compile_kernels(programs)
    sides, problems = ([], []) if arguments.no_peer else start_peers(tvm, programs)
    has_tvm = bool(sides)
    problems = [f"no peer: {problem}" for problem in problems]
    program = arguments.build_dir / "bin/opdyno_bench"
    native = Side("opdyno", [program, "--serve", "--artifacts", tvm.artifacts, "--programs", programs])
    python, more = python_side(arguments, tvm, programs)
    problems += more
    rust, by_c, more = rust_sides(arguments, programs)
    problems += more
    sides += by_c
    java, more = java_side(arguments, programs)
    problems += more
    owners = {row: side for side in (native, python, rust, java) if side for row in side.units}
    known = [row for row in dict.fromkeys([*GOALS, *owners]) if row in owners or row == SIZE]
    rows = [row for row in known if not arguments.names or row.startswith(tuple(arguments.names))]
    for problem in problems:
        print(problem)
    if not rows:
        sys.exit(f"there is no row {' or '.join(arguments.names)}; there are: {', '.join(known)}")
    print(COLUMNS.format("", "opdyno", "peer", "ratio", "unit", "middle half", "peer", "to reach"))
    lines, skipped = [], []
    for row in rows:
        if row == SIZE:
            lines.append(sizes(arguments.build_dir / "lib/libopdyno.so", tvm if has_tvm else None, programs))
            print_line(lines[-1])
        else:
            measure_beside_all(row, owners[row], sides, arguments.rounds, lines, skipped)
    if any(line["constant"] is not None for line in lines):
        print("* TVM's profiler, when it had one: measured once, on another machine")
    print_models(lines, "models_", "Python")
    print_models(lines, "c_models_", "C")
    if arguments.json:
        facts = {
            "machine": machine(),
            "compiler": compiler(arguments.build_dir),
            "peers": tvm.versions() if has_tvm else [],
            "problems": problems,
            "rows": lines,
        }
        arguments.json.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"{len(lines)} rows measured" + (f", {len(skipped)} not: {', '.join(skipped)}" if skipped else ""))


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="opdyno-bench-") as programs:
        run(arguments, programs)


if __name__ == "__main__":
    main()
