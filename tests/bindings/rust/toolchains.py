"""Checks with other Rust toolchains: the oldest release that the crates allow, and Miri, which needs a nightly
release."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from refused import check_refused

NIGHTLY = "nightly-2026-05-20"  # Miri of this release was tested; other releases may have other rules
FLAGS = "-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check"


def quietly(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def installed(toolchain, program, *components):
    """Whether rustup has the toolchain, or can install it here."""
    if not shutil.which("rustup"):
        return False
    return quietly("rustup", "run", toolchain, *program, "--version") or quietly(
        "rustup", "toolchain", "install", toolchain, "--profile", "minimal", *(f"--component={name}" for name in components))


def run(source, cargo, toolchain, step, **settings):
    env = cargo["env"] | {"CARGO_TARGET_DIR": f"{cargo['env']['CARGO_TARGET_DIR']}-{toolchain}"} | settings
    return subprocess.run(["cargo", f"+{toolchain}", *step], cwd=source, env=env, stdout=subprocess.PIPE, text=True)


def library_of(messages):
    """The path of the compiled crate opdyno, from Cargo's messages."""
    for message in map(json.loads, messages.splitlines()):
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == "opdyno" and not message["profile"]["test"]:
            return Path(next(name for name in message["filenames"] if name.endswith(".rmeta")))
    sys.exit("cargo check told of no crate opdyno")


def check_oldest(source, cargo, features):
    """Checks that the crates compile with the oldest Rust that they allow, and that refused.rs does not compile."""
    oldest = re.search(r'^rust-version = "(.*)"$', (source / "Cargo.toml").read_text(), re.MULTILINE)[1]
    if not installed(oldest, ["rustc"]):
        return print(f"skipped: Rust {oldest} cannot be installed here, so no test shows that it is enough, nor what it refuses", flush=True)
    done = run(source, cargo, oldest, ["check", "--quiet", "--all-targets", *features, "--message-format", "json-render-diagnostics"])
    if done.returncode:
        sys.exit(f"the crates need a newer Rust than {oldest}, which they state")
    if wrong := check_refused(oldest, library_of(done.stdout)):
        sys.exit("\n".join(["tests/bindings/rust/refused.rs:", *wrong]))


def check_memory(source, cargo):
    """Checks with Miri the unsafe code of the crate that tests/memory.rs reaches."""
    if not installed(NIGHTLY, ["cargo", "miri"], "miri", "rust-src"):
        return print(f"skipped: {NIGHTLY} with Miri cannot be installed here, so no test runs by it", flush=True)
    step = ["miri", "test", "--quiet", "--package", "opdyno", "--features", "opdyno/ndarray", "--test", "memory"]
    done = run(source, cargo, NIGHTLY, step, MIRIFLAGS=FLAGS)
    if done.returncode:
        sys.exit(f"cargo +{NIGHTLY} {' '.join(step)} failed in {source}:\n{done.stdout}")
