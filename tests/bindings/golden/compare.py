#!/usr/bin/env python3
"""compare.py PROGRAM [ARGUMENT…]: checks that the program's output equals expected.txt byte by byte. The program gets
the scenario's models as further arguments."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXPECTED = Path(__file__).with_name("expected.txt")
MODELS = [ROOT / "tests" / "interop" / "data" / "0.27" / "chain_100.so", ROOT / "examples" / "digits"]


def compare(command, **settings):
    """Runs the program. Returns a sentence about the difference; None if there is none."""
    done = subprocess.run([*command, *MODELS], stdout=subprocess.PIPE, **settings)
    if done.returncode:
        return f"{command[0]} ended with {done.returncode}"
    if done.stdout != EXPECTED.read_bytes():
        return f"{command[0]} printed something else than {EXPECTED}:\n{done.stdout.decode(errors='replace')}"
    return None


if __name__ == "__main__":
    sys.exit(compare(sys.argv[1:]))
