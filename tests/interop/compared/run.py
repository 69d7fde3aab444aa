#!/usr/bin/env python3
"""`opdyno compare` of builds that TVM makes of one network: they agree within tolerances, and of builds with one kernel made
wrong, the operator that is named is the wrong one in at least 19 of 20.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True
import generate  # noqa: E402

# What rounding does to the values of each build, beside those of the float32 build.
HALF, BYTES = "float32=2e-2,float16=2e-2", "0.25"
TOLERANCES = {"unfused": "1e-5", "scheduled": "1e-5", "nhwc": "1e-5", "float16": HALF,
              "weights8": BYTES, "int8": BYTES, "int8_unfused": BYTES}  # fmt: skip
# What a wrong build is compared with, beside the float32 build: one that has the same numbers.
QUANTISED = {"int8": "int8_unfused", "int8_unfused": "int8"}


def parse_arguments():
    cache = generate.default_cache()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=cache, help="directory of the environments")
    parser.add_argument("--release", default="0.27", help="TVM's")
    parser.add_argument("--python", type=Path, default=cache.parent / "bindings" / "python" / "bin" / "python", help="a Python that has opdyno")
    parser.add_argument("--opdyno", type=Path, help="the program, in place of that Python's")
    parser.add_argument("--directory", type=Path, help="where the builds go, and stay")
    return parser.parse_args()


def opdyno(arguments, *words):
    command = [arguments.opdyno] if arguments.opdyno else [arguments.python, "-m", "opdyno"]
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr[-2000:]}")
    return done


def compare(arguments, a, b, tolerance, *more):
    words = ["compare", a, b, *more, "--repeat", "0", "--as", "json", "--rtol", "0", "--atol", tolerance, "-i", "x:2x3x14x12xf32=rand(-1,1)"]
    configuration = json.loads(opdyno(arguments, *words).stdout)["configuration"]
    return {name: value.get("string", value.get("count")) for name, value in configuration.items()}


def with_one(library, kernel):
    """The library with all other kernels hidden from those who import it."""
    content = bytearray(library.read_bytes())
    (sections,), (count,) = struct.unpack_from("<Q", content, 40), struct.unpack_from("<H", content, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", content, sections + 64 * i) for i in range(count)]
    (symbols,) = (header for header in headers if header[1] == 11)  # SHT_DYNSYM
    names = headers[symbols[6]][4]
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        begin = names + struct.unpack_from("<I", content, at)[0]
        name = content[begin : content.index(0, begin)].decode()
        if name.startswith("__tvm_ffi_") and name != f"__tvm_ffi_{kernel}":
            content[at + 5] = 2  # STV_HIDDEN
    one = library.with_name("one.so")
    one.unlink(missing_ok=True)
    one.write_bytes(content)
    return one


def check(arguments, directory):
    tvm = generate.environment_for(arguments.release, arguments.cache)
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([*generate.fixed_addresses(), tvm, HERE / "build.py", directory], check=True, env=environment)
    for build, tolerance in TOLERANCES.items():
        for a, b in (("float32", build), (build, "float32")):
            found = compare(arguments, directory / f"{a}.so", directory / f"{b}.so", tolerance)
            if found["Equal"] != 1:
                sys.exit(f"{a} and {b} differ: {found['Verdict']}")
    wrong = json.loads((directory / "wrong.json").read_text())
    missed, tried, alone = [], 0, 0
    for build, kernel, defect in wrong:
        program = directory / f"{build}.opdasm"
        if not program.exists():
            program.write_text(opdyno(arguments, "dis", directory / f"{build}.so").stdout)
        if f"call {kernel}(" not in program.read_text():  # a reshape is a view
            continue
        one = with_one(directory / f"wrong/{build}.so", kernel)
        imports = ("--import", one, "--import", directory / f"{build}.so")
        others = {"float32": TOLERANCES.get(build, "1e-5")} | ({QUANTISED[build]: "1e-5"} if build in QUANTISED else {})
        for other, tolerance in others.items():
            found = compare(arguments, directory / f"{other}.so", program, tolerance, *imports)
            named = [name.split(" (")[0] for name in (found.get("Cause") or "").split(", ")]
            tried += 1
            alone += named == [kernel]
            if kernel not in named:
                missed.append(f"{build} beside {other}: {kernel} ({defect}): {found['Verdict']}")
    print(f"TVM {arguments.release}: {len(TOLERANCES)} builds agree with the first one; of {tried} with a wrong kernel, {tried - len(missed)} "
          f"name it, {alone} of them alone", *missed, sep="\n  ", flush=True)  # fmt: skip
    if 20 * len(missed) > tried:
        sys.exit("these are too many")


if __name__ == "__main__":
    given = parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        check(given, given.directory or Path(scratch))
