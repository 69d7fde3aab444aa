"""Programs of every release of the ABI against today's library: what ran must run, what cannot must be refused.

Each directory beside this file that has an `include/` is a release: its headers as they were. Programs of ABI 0 use only
functions that ABI 1 still has, since no library of ABI 0 was released: they are compiled with its headers and linked with
today's library. A program that is linked with libopdyno.so.0 itself must be refused by the loader.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ["OPDYNO_BUILD"])
LIBRARY = pathlib.Path(os.environ["OPDYNO_LIBRARY"]).resolve()
SANITIZERS = os.environ["OPDYNO_FLAGS"].split()
STUB = "OPDYNO_0 { global: opd_*; local: *; };\n"


class Client:
    """A program, compiled with the headers of a release."""

    def __init__(self, release, source, library, directory, *flags):
        self.path = pathlib.Path(directory) / f"client_{release}"
        # DLPack's header is the standard's and lies in the build directory, after those of the release.
        includes = [f"-I{HERE / release / 'include'}", f"-I{BUILD / 'include'}"]
        subprocess.run([os.environ["CC"], "-std=c99", "-Wall", "-Werror", "-fstack-protector-all", "-g", *SANITIZERS, *flags, *includes, HERE / source,
                        "-o", self.path, library], check=True)

    def run(self, libraries):
        return subprocess.run([self.path], capture_output=True, text=True, env=os.environ | {"LD_LIBRARY_PATH": str(libraries)})


def old_library(directory):
    """A libopdyno.so.0 to link with: the names that client_0.c calls, and nothing behind them."""
    names = sorted(set(re.findall(r"\bopd_\w+(?=\()", (HERE / "client_0.c").read_text())))
    source = "".join(f"void {name}(void) {{}}\n" for name in names)
    (directory / "old.map").write_text(STUB)
    path = directory / "libopdyno.so.0"
    subprocess.run([os.environ["CC"], "-x", "c", "-w", "-shared", "-fPIC", "-Wl,-soname,libopdyno.so.0",
                    f"-Wl,--version-script={directory / 'old.map'}", "-", "-o", path], input=source, text=True, check=True)
    return path


class Releases(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.directory = pathlib.Path(made.name)

    def expect_ok(self, release, source, *flags):
        done = Client(release, source, LIBRARY, self.directory, *flags).run(LIBRARY.parent)
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)

    def test_a_program_with_the_structs_of_68b2720_runs(self):
        self.expect_ok("68b2720", "client_0.c")

    def test_a_program_with_the_structs_of_a06b38c_runs(self):
        self.expect_ok("a06b38c", "client_0.c", "-DHAS_CONCURRENCY")

    def test_a_program_of_abi_1_0_runs(self):
        self.expect_ok("1.0", "client_1.c")

    @unittest.skipIf(SANITIZERS, "the loader's answer is the same, but sanitizers come first")
    def test_a_program_that_is_linked_with_abi_0_is_refused_by_the_loader(self):
        client = Client("a06b38c", "client_0.c", old_library(self.directory), self.directory, "-DHAS_CONCURRENCY")
        today, elsewhere = self.directory / "today", self.directory / "elsewhere"
        today.mkdir()
        (today / "libopdyno.so.1").symlink_to(LIBRARY)
        absent = client.run(today)
        self.assertNotEqual(absent.returncode, 0)
        self.assertIn("libopdyno.so.0: cannot open shared object file", absent.stderr)
        elsewhere.mkdir()
        (elsewhere / "libopdyno.so.0").symlink_to(LIBRARY)  # as somebody may try
        renamed = client.run(elsewhere)
        self.assertNotEqual(renamed.returncode, 0)
        self.assertIn("version `OPDYNO_0' not found", renamed.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
