#!/usr/bin/env python3
"""compare.py PROGRAM [ARGUMENT…]: whether the program prints what expected.txt says, byte by byte. It gets the scenario's models
as further arguments."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXPECTED = Path(__file__).with_name("expected.txt")
MODELS = [ROOT / "tests" / "interop" / "data" / "0.27" / "chain_100.so", ROOT / "examples" / "digits"]


def compare(command, **settings):
    """The difference in a sentence; None if there is none."""
    done = subprocess.run([*command, *MODELS], stdout=subprocess.PIPE, **settings)
    if done.returncode:
        return f"{command[0]} ended with {done.returncode}"
    if done.stdout != EXPECTED.read_bytes():
        return f"{command[0]} printed something else than {EXPECTED}:\n{done.stdout.decode(errors='replace')}"
    return None


if __name__ == "__main__":
    sys.exit(compare(sys.argv[1:]))
