#!/usr/bin/env python3
"""Makes the files that Maven needs in addition to the sources: SWIG's classes in OUT/generated, and the native library
in OUT/natives, in the layout of the jar. With --static, the native library contains the static library of
tools/natives; otherwise it needs the build directory's libopdyno.so. With --aarch64, it is made for that platform,
too."""

import argparse
import hashlib
import platform
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

JAVA = Path(__file__).resolve().parent
ROOT = JAVA.parents[1]
sys.path[:0] = [str(JAVA), str(ROOT / "tests" / "bindings")]
from nullable import annotate
from common import default_cache, include_flags, library_directory, read_api, swig
from api import optional_parameters, optional_results  # common.py has added its directory to the path
from options import item_prefix, write_options
from records import write_records

NAME = "libopdyno_java.so"


def java_home():
    javac = shutil.which("javac")
    if not javac:
        sys.exit("javac is missing: it comes with the package openjdk-17-jdk-headless")
    return Path(javac).resolve().parents[1]


def link_flags(arguments, build_dir):
    if not arguments.static:
        directory = library_directory(arguments)
        return [f"-L{directory}", "-lopdyno", f"-Wl,-rpath,{directory}", "-Wl,-z,nodelete"]
    # nodelete, because worker threads sleep in the library's code. Only the JVM's entry points are exported, so that
    # the copies for different class loaders stay separate libraries.
    return [build_dir / "lib" / "libopdyno.a", f"-Wl,--version-script={JAVA / 'native' / 'exports.map'}", "-Wl,-z,nodelete",
            "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--no-undefined", "-Wl,--gc-sections", "-static-libstdc++", "-static-libgcc", "-s"]


def rename_items(enum):
    """Removes the C prefix of an enum's items: OPD_METRIC_COUNT becomes MetricKind.COUNT. SWIG cannot do this, because
    all C names are in one scope."""
    text = enum.read_text()
    items = re.findall(r"^  (OPD_\w+)\(", text, re.M)
    prefix = item_prefix([item for item in items if not item.endswith("_MAX_ENUM")])
    text = re.sub(r",\n  OPD_\w+_MAX_ENUM\(.*?\);", ";", text)
    enum.write_text(re.sub(rf"^  {prefix}", "  ", text, flags=re.M))


def guard(wrapper):
    """Adds a function-try-block to each native function, because a C++ exception that leaves it ends the JVM."""
    catch = "catch (...) {{\n  opdjava::raise_current(jenv);\n  return {}();\n}}\n"
    functions = re.compile(r"^(SWIGEXPORT (\w+) JNICALL Java_[^\n]*\)) (\{\n.*?^\}\n)", re.M | re.S)
    text, count = functions.subn(lambda found: f"{found[1]} try {found[3]}" + catch.format(found[2]), wrapper.read_text())
    if count < 100 or count != text.count(" JNICALL Java_"):
        sys.exit(f"{wrapper} has other functions than the {count} that were guarded")
    wrapper.write_text(text)


def make(arguments):
    """Generates the sources and compiles the native libraries. Returns their two directories."""
    shutil.rmtree(arguments.out, ignore_errors=True)
    generated, natives = arguments.out / "generated", arguments.out / "natives"
    (generated / "io" / "opdyno").mkdir(parents=True)
    wrapper, rules = arguments.out / "native_wrap.cc", arguments.out / "api"
    api = read_api(arguments, rules)
    write_records(api, generated / "io" / "opdyno", rules)
    swig(arguments, rules, "-java", "-c++", "-package", "io.opdyno", f"-I{JAVA / 'swig'}",
         "-outdir", generated / "io" / "opdyno", "-o", wrapper)
    guard(wrapper)
    annotate(generated / "io" / "opdyno" / "Native.java", optional_parameters(api.comments), optional_results(api.comments))
    for enum in (generated / "io" / "opdyno").glob("*.java"):
        if " enum " in enum.read_text():
            rename_items(enum)
    enums = {c_name: java for java, c_name in re.findall(r"^%rename\((\w+)\) (opd_\w+);", (JAVA / "swig" / "language.i").read_text(), re.M)}
    write_options(api, generated / "io" / "opdyno", enums)
    compile_native(arguments, platform.machine(), ["c++"], arguments.build_dir)
    if arguments.aarch64:
        compile_native(arguments, "aarch64", ["aarch64-linux-gnu-g++"], arguments.aarch64)
    return generated, natives


def compile_native(arguments, machine, compiler, build_dir, natives="natives"):
    """Compiles the native library for a machine. The JDK's headers are the same on all Linux machines."""
    wrapper, home, rules = arguments.out / "native_wrap.cc", java_home(), arguments.out / "api"
    place = arguments.out / natives / "io" / "opdyno" / "natives" / f"linux-{machine}"
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run([*compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{JAVA / 'native'}",
                    f"-I{ROOT / 'bindings' / 'swig'}", f"-I{rules}", f"-I{home / 'include'}", f"-I{home / 'include' / 'linux'}",
                    *include_flags(arguments), "-o", place / NAME, wrapper, *sorted((JAVA / "native").glob("*.cc")),
                    *link_flags(arguments, build_dir)], check=True)
    content = (place / NAME).read_bytes()
    (place / (NAME + ".sha256")).write_text(f"{hashlib.sha256(content).hexdigest()} {len(content)} {zlib.crc32(content):08x}\n")
    return place / NAME


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "natives", help="opdyno's build directory")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of SWIG's environment")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "java" / "made", help="its content is replaced")
    parser.add_argument("--aarch64", type=Path, help="opdyno's build directory for aarch64")
    parser.add_argument("--static", action="store_true", help="one self-contained native library")
    arguments = parser.parse_args()
    arguments.build_dir, arguments.out = arguments.build_dir.resolve(), arguments.out.resolve()
    make(arguments)


if __name__ == "__main__":
    main()
