#!/usr/bin/env python3
"""Makes the Rust binding from bindings/swig and bindings/rust, and runs src/main.rs on a library that TVM compiled."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import ROOT, artifact, include_flags, library_directory, parse_arguments, swig


def check_functions(ffi):
    """All that the library exports is there, and no more."""
    there = set(re.findall(r"(?<!\"]\n)    pub fn (opd_\w+)", ffi.read_text()))  # without inline ones
    exported = set(re.findall(r"^opd_\w+$", (ROOT / "tests" / "abi" / "symbols.txt").read_text(), re.MULTILINE))
    if there != exported:
        sys.exit(f"{ffi} and tests/abi/symbols.txt differ by {', '.join(sorted(there ^ exported))}")


def main():
    arguments = parse_arguments(__doc__, "rust")
    if not shutil.which("cargo"):
        sys.exit("cargo is missing: rustup or the distribution has it; 1.85 or newer is needed")
    source, generated = ROOT / "bindings" / "rust", arguments.out / "generated"
    shutil.rmtree(generated, ignore_errors=True)
    generated.mkdir(parents=True)
    xml = generated / "opdyno.xml"
    swig(arguments, "-xml", "-xmllite", f"-I{source / 'swig'}", "-o", xml)
    subprocess.run([sys.executable, "-B", source / "generator" / "generate.py", xml, "--headers", ROOT / "include" / "opdyno",
                    "--out", generated], check=True)
    check_functions(generated / "ffi.rs")
    inline = generated / "inline.o"
    subprocess.run(["cc", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", *include_flags(arguments), "-c", generated / "inline.c", "-o", inline], check=True)
    subprocess.run(["ar", "rcs", generated / "libopdyno_inline.a", inline], check=True)

    libraries = library_directory(arguments)
    settings = os.environ | {"OPDYNO_RUST_GENERATED": str(generated), "OPDYNO_LIB_DIR": str(libraries),
                             "CARGO_TARGET_DIR": str(arguments.out / "target"), "RUSTFLAGS": "-Dwarnings", "RUST_BACKTRACE": "0",
                             "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    cargo = {"cwd": Path(__file__).parent, "env": settings, "stdout": subprocess.PIPE, "text": True}
    flags = ["--quiet", "--offline", "--locked"]
    done = subprocess.run(["cargo", "run", *flags, "--", artifact()], **cargo)
    print(done.stdout, end="")
    if done.returncode or not done.stdout.endswith("ok\n"):
        sys.exit("the Rust program failed")
    done = subprocess.run(["cargo", "test", "--doc", "--package", "opdyno", *flags], **cargo)
    if done.returncode:
        sys.exit(f"the examples of the crate's documentation do not do what they say:\n{done.stdout}")


if __name__ == "__main__":
    main()
