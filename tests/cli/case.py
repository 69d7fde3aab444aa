"""What all tests of the program share: the files they work on, and ways to run it and to look at what came out."""

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

import npy
import programs

HERE = Path(__file__).resolve().parent
OK, MISMATCH, USAGE, REFUSED, FAILED = range(5)

OPDYNO = os.environ["OPDYNO_PROGRAM"]
COMPILER = os.environ.get("CC", "cc")
WORK = Path(tempfile.mkdtemp(prefix="opdyno-cli-"))
HAS_ASAN, HAS_TSAN = (name in Path(OPDYNO).read_bytes() for name in (b"__asan_init", b"__tsan_init"))


def make_files():
    """Fills the work directory."""
    os.environ["OPDYNO_CACHE_DIR"] = str(WORK / "cache")
    os.environ.pop("OPDYNO_NUM_THREADS", None)
    shutil.copy(HERE / "kernels.c", WORK)
    for name, text in vars(programs).items():
        if name.isupper() and isinstance(text, str) and ".executable" in text:
            (WORK / (name.lower() + ".opdasm")).write_text(text)
    (WORK / "x.npy").write_bytes(npy.dump([4], [1, 2, 3, 4]))
    npy.save(WORK / "two.npz", x=([4], [5, 6, 7, 8]), weight=([4], [10, 20, 30, 40]))


def compile_kernels(name):
    """For tests with a deadline, too, which would cover the compiler."""
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", name, "kernels.c"], cwd=WORK, check=True)
    return name


def run(*words, stdin=None, **settings):
    """Runs the program in the work directory; gives what subprocess.run gives, with text output."""
    return subprocess.run(
        [OPDYNO, *words], cwd=WORK, input=stdin, capture_output=True, text=True, timeout=120, **settings
    )


class CliTest(unittest.TestCase):
    def check(self, code, *words, silent=True, **settings):
        result = run(*words, **settings)
        self.assertEqual(code, result.returncode, "%s\n%s%s" % (words, result.stdout, result.stderr))
        if code == OK and silent:
            self.assertEqual("", result.stderr)
        return result

    def on_terminal(self, *words, rows=40, columns=80, code=OK, **environment):
        """What the program writes to a terminal of so many rows and columns."""
        main, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        settings = dict(os.environ, TERM="xterm", **environment)
        if "NO_COLOR" not in environment:
            settings.pop("NO_COLOR", None)
        child = subprocess.Popen([OPDYNO, *words], cwd=WORK, stdout=follower, stderr=follower, env=settings)
        os.close(follower)
        text = b""
        try:
            while block := os.read(main, 65536):
                text += block
        except OSError:  # how Linux says that the other side was closed
            pass
        os.close(main)
        self.assertEqual(code, child.wait(), text)
        return text.decode().replace("\r\n", "\n")

    def succeeds(self, *words, **settings):
        return self.check(OK, *words, **settings).stdout

    def fails(self, code, *words, **settings):
        result = self.check(code, *words, **settings)
        self.assertTrue(result.stderr.startswith("opdyno"), result.stderr)
        self.assertTrue(result.stderr.endswith("\n"))
        return result.stderr

    def kernel(self, *words, command="run", expect=OK, library="kernels.c"):
        return self.check(expect, command, *words, "--import", library)

    def numbers(self, *words):
        """The elements of the only output."""
        outputs = json.loads(self.kernel(*words, "--json").stdout)["outputs"]
        self.assertEqual(["out"], list(outputs))
        return outputs["out"]["data"]
