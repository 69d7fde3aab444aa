"""Programs of every release of the ABI against today's library: what ran must run.

Each directory beside this file that has an `include/` is a release: its headers as they were. struct_sizes_test.cc tests
structs of older headers, which are shorter.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ["OPDYNO_BUILD"])
LIBRARY = pathlib.Path(os.environ["OPDYNO_LIBRARY"]).resolve()
SANITIZERS = os.environ["OPDYNO_FLAGS"].split()


class Releases(unittest.TestCase):
    def expect_ok(self, release, source):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory) / "client"
            # DLPack's header is the standard's and lies in the build directory, after those of the release.
            includes = [f"-I{HERE / release / 'include'}", f"-I{BUILD / 'include'}"]
            subprocess.run([os.environ["CC"], "-std=c99", "-Wall", "-Werror", "-g", *SANITIZERS, *includes, HERE / source, "-o", program, LIBRARY],
                           check=True)
            done = subprocess.run([program], capture_output=True, text=True, env=os.environ | {"LD_LIBRARY_PATH": str(LIBRARY.parent)})
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)

    def test_a_program_of_abi_1_0_runs(self):
        self.expect_ok("1.0", "client_1.c")


if __name__ == "__main__":
    unittest.main(verbosity=2)
