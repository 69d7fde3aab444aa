"""Runs the program `opdyno` for `python -m opdyno …`."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(__file__), "bin", "opdyno")
    if not os.path.exists(program):
        sys.exit("opdyno: this build of the package has no command line program")
    os.execv(program, ["opdyno", *sys.argv[1:]])


if __name__ == "__main__":
    main()
