"""Runs programs with a library that was compiled with AddressSanitizer and UndefinedBehaviorSanitizer, such as that of
build/asan."""

import platform
import re
import subprocess
import sys
from pathlib import Path

LOADER = Path("/lib64/ld-linux-x86-64.so.2")

# OpenCL drivers are not tested here: if one of their threads ends, the runtime of clang 14 ends the process.
SETTINGS = {"ASAN_OPTIONS": "detect_leaks=1:intercept_tls_get_addr=0:allow_addr2line=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:allow_addr2line=1", "OCL_ICD_VENDORS": "/nonexistent"}


def compiler_of(build_dir, language):
    return re.search(rf"^CMAKE_{language}_COMPILER:\w+=(.*)$", (build_dir / "CMakeCache.txt").read_text(), re.M)[1]


def runtime(build_dir):
    """The path of the sanitizers' runtime library, from the compiler of that build. If there is none, prints why and
    returns None."""
    compiler = compiler_of(build_dir, "C")
    name = f"libclang_rt.asan-{platform.machine()}.so"
    found = Path(subprocess.run([compiler, f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    if found.is_absolute() and LOADER.exists():
        return found
    print(f"skipped: {compiler} has no {name}, or {LOADER} is missing, so nothing runs by the library of {build_dir}", flush=True)
    return None


def fixed_addresses():
    """The command prefix that runs a program without address randomisation; tools/testing.sh has the reason."""
    command = ["setarch", "-R"]
    return [] if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode else command


def runner(build_dir, preloaded):
    """The command prefix of a program. Unlike with LD_PRELOAD, the program's children run without the sanitizers."""
    command = [*fixed_addresses(), LOADER, "--preload", preloaded, "--library-path", build_dir / "lib"]
    return [str(part) for part in command]


def check_library(command, programs, build_dir):
    """Checks that the programs would use the library of that build instead of the one that they were linked with. Some
    programs need no library."""
    shown = [subprocess.run([*command, "--list", program], check=True, stdout=subprocess.PIPE, text=True).stdout for program in programs]
    wrong = [text for text in shown if "libopdyno.so" in text and f"{build_dir / 'lib'}/libopdyno.so" not in text]
    if wrong or not any("libopdyno.so" in text for text in shown):
        sys.exit(f"the programs do not run by the library of {build_dir}:\n{wrong[0] if wrong else shown[0]}")
