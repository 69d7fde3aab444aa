"""A process with the socket of OPDYNO_CONTROL, and clients of it."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from case import OK, OPDYNO, WORK, run

SERVER = os.environ.get("OPDYNO_CONTROL_SERVER", "")
PATIENCE = 60  # seconds for what takes a moment


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
    return result


def listens(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


class Client:
    """A client that may say anything."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.settimeout(PATIENCE)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, request):
        self.socket.sendall((request if isinstance(request, str) else json.dumps(request)).encode() + b"\n")
        return self

    def line(self):
        try:
            text = self.file.readline()
        except ConnectionResetError:  # the other side closed the connection before it read all
            text = b""
        return json.loads(text) if text else None

    def trace(self):
        """The bytes of a recording that has begun, and its last line."""
        content = b""
        while "bytes" in (line := self.line()):
            content += self.file.read(line["bytes"])
        return content, line

    def error(self):
        message = self.line()["error"]
        assert self.line() is None, "the connection ends after an error"
        return message


class Server:
    """The program that is recorded, with OPDYNO_CONTROL=path."""

    def __init__(self, path, wait=True, **environment):
        settings = dict(os.environ, **environment)
        settings.pop("OPDYNO_CONTROL", None)
        settings["TSAN_OPTIONS"] = settings.get("TSAN_OPTIONS", "") + " die_after_fork=0"  # the child has threads, too
        if path:
            settings["OPDYNO_CONTROL"] = str(path)
        self.process = subprocess.Popen(
            [SERVER, "served.so"], cwd=WORK, env=settings, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.pid = self.process.pid
        self.path = Path(str(path).replace("%p", str(self.pid)))
        assert self.answer() == ["ready", str(self.pid)]
        if wait:
            eventually(lambda: listens(self.path), "nobody listens")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.end()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def answer(self):
        return self.process.stdout.readline().split()

    def command(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.answer()

    def is_recorded(self):
        return self.command("look") == ["recorded", "1"]

    def end(self):
        """Ends it in order; what it wrote meanwhile."""
        self.process.stdin.close()
        self.process.stdin = open(os.devnull)
        status = self.process.wait(PATIENCE)
        written = self.process.stdout.read() + self.process.stderr.read()
        assert status == 0, (status, written)
        return written

    def threads(self, name=None):
        found = []
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            try:
                if name in (None, (task / "comm").read_text().strip()):
                    found.append(task)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has just ended
        return found

    def has_clients(self):
        return bool(self.threads("opdyno-client"))

    def files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class ControlTest:
    @classmethod
    def setUpClass(cls):
        if not (WORK / "served.so").exists():
            done = run("export", "add_one.opdasm", "served.so", "--import", "kernels.c")
            assert done.returncode == OK, done.stderr
        (WORK / "sockets").mkdir(exist_ok=True)

    def path(self, name="s"):
        return WORK / "sockets" / f"{name}-{self._testMethodName[:40]}"

    def server(self, name="s", **environment):
        server = Server(self.path(name), **environment)
        self.addCleanup(server.__exit__)
        return server

    def start_recording(self, server, *words, number=signal.SIGINT):
        """A record command whose recording has begun, and that ends by the signal."""
        command = [OPDYNO, "record", server.path, "--seconds", "1h", *words]
        child = subprocess.Popen(command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def is_ready():
            caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{child.pid}/status").read_text())
            return int(caught[1], 16) >> (number - 1) & 1 and server.is_recorded()

        eventually(is_ready, "it never records")
        return child

    def record(self, server, *words, number=signal.SIGINT, silent=True):
        """What the command prints, after a recording that has a call."""
        with self.start_recording(server, *words, number=number) as child:
            server.command("call")
            child.send_signal(number)
            out, err = child.communicate(timeout=PATIENCE)
        self.assertEqual(OK, child.returncode, err)
        if silent:
            self.assertEqual("", err)
        return out + err
