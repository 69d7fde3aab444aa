"""How a program runs by a library that AddressSanitizer and UndefinedBehaviorSanitizer watch, as those of build/asan are."""

import platform
import re
import subprocess
import sys
from pathlib import Path

LOADER = Path("/lib64/ld-linux-x86-64.so.2")

# Drivers of OpenCL are not tested here, and the runtime of clang 14 ends the process where a thread of theirs ends.
SETTINGS = {"ASAN_OPTIONS": "detect_leaks=1:intercept_tls_get_addr=0:allow_addr2line=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:allow_addr2line=1", "OCL_ICD_VENDORS": "/nonexistent"}


def compiler_of(build_dir, language):
    return re.search(rf"^CMAKE_{language}_COMPILER:\w+=(.*)$", (build_dir / "CMakeCache.txt").read_text(), re.M)[1]


def runtime(build_dir):
    """The sanitizers' runtime as a library, which the compiler of that build has; none with a line why there is none."""
    compiler = compiler_of(build_dir, "C")
    name = f"libclang_rt.asan-{platform.machine()}.so"
    found = Path(subprocess.run([compiler, f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    if found.is_absolute() and LOADER.exists():
        return found
    print(f"skipped: {compiler} has no {name}, or {LOADER} is missing, so nothing runs by the library of {build_dir}", flush=True)
    return None


def fixed_addresses():
    """tools/testing.sh says why."""
    command = ["setarch", "-R"]
    return [] if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode else command


def runner(build_dir, preloaded):
    """What stands before a program. Its children run without the sanitizers, as they would not with LD_PRELOAD."""
    command = [*fixed_addresses(), LOADER, "--preload", preloaded, "--library-path", build_dir / "lib"]
    return [str(part) for part in command]


def check_library(command, programs, build_dir):
    """They would have that library, not the one that they were linked with. Some programs need none."""
    shown = [subprocess.run([*command, "--list", program], check=True, stdout=subprocess.PIPE, text=True).stdout for program in programs]
    wrong = [text for text in shown if "libopdyno.so" in text and f"{build_dir / 'lib'}/libopdyno.so" not in text]
    if wrong or not any("libopdyno.so" in text for text in shown):
        sys.exit(f"the programs do not run by the library of {build_dir}:\n{wrong[0] if wrong else shown[0]}")
