"""The commands record and top, and the socket of OPDYNO_CONTROL: forms, early ends, hostile clients, forks, old sockets."""

import errno
import fcntl
import gzip
import json
import os
import pty
import re
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

from case import FAILED, HAS_TSAN, OPDYNO, USAGE, WORK, CliTest, run
from control_server import PATIENCE, Client, ControlTest, Server, eventually, listens

LONG = 3600


class ControlRecord(ControlTest, CliTest):
    def test_a_process_is_recorded_from_outside_in_each_form(self):
        server = self.server()
        text = self.record(server, "-o", "control.json.gz")
        self.assertRegex(text, r"^control\.json\.gz: \d+ spans? of cli\.control_ser \(process %d\)\n$" % server.pid)
        trace = json.loads(gzip.decompress((WORK / "control.json.gz").read_bytes()))
        names = {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"}
        self.assertLessEqual({"add_one", "request", "main"}, names)
        self.assertNotIn("[memory]", {event["name"] for event in trace["traceEvents"]})
        calls = sum(event["ph"] == "X" and event.get("cat") == "cpu_op" for event in trace["traceEvents"])
        self.assertGreater(int(text.split()[1]), calls, "runs and ranges are spans, too")
        for name, begin in (
            ("c.json", b'{"schemaVersion"'), ("c.pftrace", b"\n"), ("c.html", b"<!DOCTYPE html>"), ("c.svg", b"<svg"),
            ("c.txt", b"---"), ("c.speedscope.json", b'{"$schema":"https://www.speedscope.app'), ("c.pb.gz", b"\x1f\x8b"),
            ("C.PPROF", b"\x1f\x8b"), ("c.svg.gz", b"\x1f\x8b"), ("c.memory.json", b"[["), ("c.memory.raw.json.gz", b"\x1f\x8b"),
            ("c.memory.html", b"<!DOCTYPE html>"),
        ):
            self.record(server, "-o", name)
            self.assertTrue((WORK / name).read_bytes().startswith(begin), (name, (WORK / name).read_bytes()[:40]))
        self.record(server, "-o", "c.stacks")
        self.assertRegex((WORK / "c.stacks").read_text(), r"(?m)^request;main;add_one \d+$")
        self.assertTrue(gzip.decompress((WORK / "c.pb.gz").read_bytes()).startswith(b"2"), "compressed once")
        self.assertFalse(server.is_recorded())
        self.assertEqual("", server.end(), "the program is not disturbed")

    def test_what_is_sent_is_counted_and_comes_in_pieces(self):
        server = self.server()
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": LONG, "form": "chrome"}).line()
            for _ in range(200):
                server.command("call")
            client.send({"do": "stop"})
            sizes, content = [], b""
            while "bytes" in (line := client.line()):
                sizes.append(line["bytes"])
                content += client.file.read(sizes[-1])
            self.assertIsNone(client.line(), "nothing follows")
        self.assertGreater(len(sizes), 1)
        self.assertEqual({65536}, set(sizes[:-1]))
        self.assertTrue(0 < sizes[-1] <= 65536, sizes[-1])
        events = json.loads(content)["traceEvents"]  # each run has a "run 0", too, around all that it is of
        spans = [event for event in events if event["ph"] == "X" and not re.fullmatch(r"run \d+", event["name"])]
        calls = sum(event.get("cat") == "cpu_op" for event in spans)
        self.assertGreaterEqual(calls, 200)
        self.assertEqual({"done": {"calls": calls, "spans": len(spans), "dropped": 0}}, line)

    def test_options_name_form_memory_and_limits(self):
        server = self.server()
        self.record(server, "-o", "odd.name", "--form", "table")
        self.assertIn("add_one", (WORK / "odd.name").read_text())
        names = {event["name"] for event in json.loads(self.record(server, "--memory", "-o", "-"))["traceEvents"]}
        self.assertIn("[memory]", names)
        text = self.record(server, "--max-events", "3", "-o", "few.json", silent=False)
        self.assertRegex(text, r"\nopdyno record: \d+ calls and ranges found no room .* --max-events gives more\n$")
        self.assertGreater(json.loads((WORK / "few.json").read_text())["opdyno_dropped_calls"], 0)

    def test_what_cannot_be_recorded_is_named_before_anything_is_written(self):
        path = self.path()
        for words, message in (
            (("-o", "x.docx"), "the suffix of x.docx names no form of a trace; name it by --form: "),
            (("--form", "pdf"), "--form: 'pdf' is none of "),
            (("--seconds", "soon"), "'--seconds' takes a time"),
            (("--seconds", "25h"), "at most 24h"),
            (("--max-events", "0"), "--max-events"),
        ):
            self.assertIn(message, self.fails(USAGE, "record", path, *words))
        self.assertIn("takes a time from 10ms to 24h", self.fails(USAGE, "top", path, "--interval", "1ms"))
        for command in ("record", "top"):
            self.assertIn(f"no process listens at {path}; start it with OPDYNO_CONTROL=", self.fails(FAILED, command, path))
        self.assertIn("has at most 107 bytes", self.fails(USAGE, "record", "x" * 200))
        settings = dict(os.environ, OPDYNO_CONTROL=str(path))
        for _ in range(20):  # it may look before its own thread listens
            message = self.fails(FAILED, "record", path, env=settings)
            self.assertIn(f"no {'other ' if 'other' in message else ''}process listens at {path}", message)
            self.assertFalse(path.exists())
        self.assertFalse((WORK / "trace.json.gz").exists())

    def test_ctrl_c_ends_a_recording_and_keeps_it(self):
        server = self.server()
        for number in signal.SIGINT, signal.SIGTERM:
            self.assertIn("early.json: ", self.record(server, "-o", "early.json", number=number))
            self.assertIn("add_one", {event["name"] for event in json.loads((WORK / "early.json").read_text())["traceEvents"]})
            self.assertFalse(server.is_recorded())
            (WORK / "early.json").unlink()

    def test_a_recording_ends_after_its_time(self):
        server = self.server()
        begin = time.monotonic()
        self.assertIn("timed.json: ", self.succeeds("record", server.path, "--seconds", "300ms", "-o", "timed.json"))
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)
        self.assertIn("traceEvents", json.loads((WORK / "timed.json").read_text()))

    def test_a_recording_ends_with_its_client(self):
        server = self.server()
        client = Client(server.path).send({"do": "record", "seconds": LONG})
        self.assertEqual({"recording": {"pid": server.pid, "process": "cli.control_ser"}}, client.line())
        self.assertTrue(server.is_recorded())
        client.close()
        eventually(lambda: not server.is_recorded(), "the recording goes on without its client")
        eventually(lambda: not server.has_clients(), "a thread is left")

    def test_without_a_time_a_recording_and_an_interval_last_until_they_are_stopped(self):
        server = self.server()
        for request in ({"do": "record"}, {"do": "top"}):
            with Client(server.path) as client:
                client.send(request).line()
                client.socket.settimeout(0.3)  # for a day nothing comes; a test can wait for a part of it only
                self.assertRaises(TimeoutError, client.socket.recv, 1)
                self.assertTrue(server.is_recorded())
            eventually(lambda: not server.is_recorded(), "the recording goes on without its client")

    def test_a_client_that_only_listens_is_served(self):
        server = self.server()
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": 1, "form": "stacks"}).socket.shutdown(socket.SHUT_WR)
            client.line()
            content, last = client.trace()
        self.assertIn(b"request;main;add_one ", content)
        self.assertEqual({"calls", "spans", "dropped"}, set(last["done"]))

    def test_the_process_may_end_meanwhile(self):
        server = self.server()
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": LONG}).line()
            self.assertEqual("", server.end())
            self.assertIsNone(client.line())


class ControlTop(ControlTest, CliTest):
    def test_a_table_has_a_row_for_each_name(self):
        server = self.server()
        text = self.succeeds("top", server.path, "--interval", "1s", "--once")
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^cli\.control_ser \(process %d\): \d+\.\d\d s, 1 thread, \d+ %% " % server.pid)
        self.assertRegex(lines[1], r"^Name +Calls/s +Share +Mean +Self +Threads$")
        rows = {re.split(r"  +", line)[0]: re.split(r"  +", line)[1:] for line in lines[2:]}
        self.assertLessEqual({"add_one", "main (run)", "request (range)"}, set(rows))
        self.assertAlmostEqual(100, sum(float(row[1].split()[0]) for row in rows.values()), delta=0.1 * len(rows))
        for row in rows.values():
            self.assertGreater(float(row[0]), 0)
            self.assertRegex(row[2], r"^[\d.]+ (ns|µs|ms|s)$")
            self.assertEqual("1", row[4])
        eventually(lambda: not server.is_recorded(), "it is still recorded")

    def test_a_pipe_gets_table_after_table(self):
        server = self.server()
        with subprocess.Popen([OPDYNO, "top", server.path, "--interval", "50ms"], stdout=subprocess.PIPE, text=True) as child:
            text = "".join(child.stdout.readline() for _ in range(30))
            self.assertGreaterEqual(text.count("Calls/s"), 2)
            self.assertNotIn("\033", text)
            server.end()
            child.stdout.read()
            self.assertEqual(FAILED, child.wait(PATIENCE))

    def test_a_terminal_is_refreshed_and_no_line_is_wider(self):
        server = self.server()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 40, 0, 0))
        with subprocess.Popen([OPDYNO, "top", server.path, "--interval", "50ms"], stdout=slave, stderr=slave) as child:
            text = b""
            while text.count(b"\033[H") < 3:
                text += os.read(master, 65536)
            child.kill()
        os.close(master), os.close(slave)
        screens = text.decode().replace("\r", "").split("\033[H")
        self.assertEqual("\033[2J", screens[0])
        lines = screens[1].split("\033[K\n")
        self.assertEqual("\033[J", lines.pop())
        self.assertEqual(4, len(lines), "what fits on five lines, with the cursor below")
        for line in lines:
            self.assertLessEqual(len(line), 40, line)

    def test_spans_count_as_far_as_they_lie_in_an_interval(self):
        server = self.server()
        with Client(server.path) as client:
            client.send({"do": "top", "interval": 0.3}).line()
            client.line()
            server.command("begin")

            def intervals():
                while line := client.line():
                    yield line["interval"], {row["name"]: row for row in line["interval"]["rows"]}

            whole, ns = 0, 0
            for interval, rows in intervals():
                if "long" in rows:
                    row = rows["long"]
                    self.assertEqual(("range", 0, 0, 1), (row["kind"], row["count"], row["full_ns"], row["threads"]))
                    self.assertLessEqual(row["ns"], interval["ns"])
                    self.assertLessEqual(row["self_ns"], row["ns"])
                    whole, ns = whole + 1, ns + row["ns"]
                    if whole > 1:  # open from the begin to the end
                        self.assertGreater(row["ns"], interval["ns"] // 2)
                    if whole == 3:
                        break
            server.command("end")
            for interval, rows in intervals():
                if rows.get("long", {"count": 0})["count"]:
                    break
                ns += rows["long"]["ns"]
            self.assertEqual(1, rows["long"]["count"])
            self.assertLessEqual(rows["long"]["ns"], interval["ns"])
            self.assertAlmostEqual(rows["long"]["full_ns"], ns + rows["long"]["ns"], delta=rows["long"]["full_ns"] // 4)
            self.assertNotIn("long", next(intervals())[1])
            for name in "request", "main", "add_one":
                self.assertGreater(rows[name]["count"], 0)
            self.assertLessEqual(rows["request"]["self_ns"] + rows["main"]["ns"], rows["request"]["ns"] + 1000)

    def test_events_are_not_kept(self):
        server = self.server()
        counts = []
        with Client(server.path) as client:
            client.send({"do": "top", "interval": 0.1}).line()
            for _ in range(5):
                interval = client.line()["interval"]
                rows = interval["rows"]
                self.assertEqual({"ns", "threads", "recorded_ns", "dropped", "rows"}, set(interval))
                self.assertEqual((1, 0), (interval["threads"], interval["dropped"]))
                self.assertGreaterEqual(interval["ns"], 99_000_000)
                self.assertAlmostEqual(interval["recorded_ns"], sum(row["self_ns"] for row in rows), delta=len(rows))
                counts.append({row["name"]: row["count"] for row in rows}.get("add_one", 0))
            client.send({"do": "stop"})
            while client.line():
                pass
        self.assertFalse(server.is_recorded())
        self.assertGreater(sum(counts), 0)


class ControlHostile(ControlTest, CliTest):
    def test_what_is_no_request_is_refused_with_its_place(self):
        server = self.server()
        for request, message in (
            ("", "request: JSON at offset 0"),
            ("\0\1\2\xff", "request: JSON"),
            ("[" * 4000, "request: JSON"),
            ("[]", "a request is an object"),
            ("{}", 'a request has a member "do"'),
            ('{"do":7}', '"do" is one of "record", "top" and "stop"'),
            ('{"do":"stop"}', "nothing records for this connection"),
            ('{"do":"stop","form":"chrome"}', 'has no member "form"'),
            ('{"do":"record","form":"pdf"}', "a form is one of chrome, "),
            ('{"do":"record","gzip":1}', "true or false is expected"),
            ('{"do":"record","seconds":-1}', "seconds from 0 to 86400 are expected"),
            ('{"do":"record","seconds":1e999}', "seconds from 0"),
            ('{"do":"record","seconds":null}', "seconds from 0"),
            ('{"do":"record","max_events":0}', "a positive integer is expected"),
            ('{"do":"record","max_events":"x"}', "a positive integer is expected"),
            ('{"do":"record","interval":1}', 'this request has no member "interval"'),
            ('{"do":"top","interval":0}', "seconds from 0.01 to 86400 are expected"),
            ('{"do":"top","memory":true}', 'this request has no member "memory"'),
            ("x" * 5000, "a request has at most 4096 bytes"),
            ('{"do":"record","seconds":86400.01}', "seconds from 0 to 86400 are expected"),
            ('{"do":"top","interval":0.0099}', "seconds from 0.01 to 86400 are expected"),
            ('{"do":"top","interval":86401}', "seconds from 0.01 to 86400 are expected"),
            ('{"do":"top","seconds":1}', 'this request has no member "seconds"'),
            ('{"do":"stop","all_calls":true}', 'this request has no member "all_calls"'),
            ('{"do":"record","form":7}', "a form is one of chrome, table, stacks, speedscope, perfetto, pprof, html, flame, memory, memory_raw, memory_html"),
            ('{"do":"record","seconds":0}'.ljust(4096), "a request has at most 4096 bytes"),
        ):
            with Client(server.path) as client:
                self.assertIn(message, client.send(request).error())
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": LONG}).line()
            self.assertIn('only {"do":"stop"} may follow a request', client.send({"do": "top"}).error())
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": LONG}).line()
            self.assertIn("JSON", client.send("garbage").error())
        self.assertFalse(server.is_recorded())
        for request in (
            '{"do":"record","seconds":0}'.ljust(4095), '{"do":"record","seconds":86400}', '{"do":"record","max_events":1}',
            '{"do":"top","interval":0.01,"all_calls":true}', '{"do":"top","interval":86400}', '{"all_calls":true,"do":"record"}',
        ):  # fmt: skip
            with Client(server.path) as client:
                self.assertIn("recording", client.send(request).line(), request)
        self.assertEqual("", server.end())

    def test_a_request_may_come_byte_by_byte_and_a_part_of_one_does_no_harm(self):
        server = self.server()
        with Client(server.path) as client:
            for byte in b'{"do":"record","seconds":0}\n':
                client.socket.sendall(bytes([byte]))
            self.assertIn("recording", client.line())
            self.assertIn(b"traceEvents", client.trace()[0])
        for _ in range(5):
            with Client(server.path) as client:
                client.socket.sendall(b'{"do":"rec')
        eventually(lambda: not server.has_clients(), "a thread waits for a client that is gone")
        with Client(server.path) as client:
            client.socket.sendall(b'{"do":"rec')
            self.assertIn("no request came within 10 s", client.error())

    def test_clients_are_limited_and_later_ones_served_again(self):
        server = self.server()
        self.record(server, "-o", "before.json")
        eventually(lambda: not server.has_clients(), "a thread is left")
        before = server.files()
        clients = [Client(server.path) for _ in range(20)]
        refused = [client.error() for client in clients[8:]]
        self.assertEqual(["too many clients are connected to this process"] * 12, refused)
        for client in clients[:8]:
            self.assertIn("recording", client.send({"do": "record", "seconds": LONG, "form": "table"}).line())
        server.command("call")
        for client in clients[:8]:
            self.assertIn(b"add_one", client.send({"do": "stop"}).trace()[0])
        for client in clients:
            client.close()
        eventually(lambda: not server.has_clients() and server.files() == before, "descriptors are left")
        self.record(server, "-o", "after.json")
        self.assertEqual("", server.end())

    def test_a_client_that_does_not_read_harms_no_other(self):
        server = self.server()
        with Client(server.path) as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            client.send({"do": "top", "interval": 0.01})
            self.record(server, "-o", "meanwhile.json")
        eventually(lambda: not server.has_clients(), "its thread is left")

    def test_the_peer_must_be_of_the_same_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        server = self.server()
        self.assertEqual(0o600, stat.S_IMODE(server.path.stat().st_mode))
        connect = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nprint(s.makefile().readline())"
        command = ["python3", "-c", connect, str(server.path)]
        for directory in (WORK, WORK / "sockets"):
            directory.chmod(0o755)
        kept_out = subprocess.run(command, user=65534, group=65534, extra_groups=[], capture_output=True, text=True)
        self.assertIn("PermissionError", kept_out.stderr)
        server.path.chmod(0o666)
        refused = subprocess.run(command, user=65534, group=65534, extra_groups=[], capture_output=True, text=True)
        self.assertIn("this process belongs to another user", refused.stdout, refused.stderr)

    def test_its_threads_take_no_signals(self):
        server = self.server()
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": LONG}).line()
            for name in "opdyno-control", "opdyno-client":
                task = eventually(lambda: server.threads(name), name)[-1]  # the first one of a client may be about to end
                blocked = int(re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text())[1], 16)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM, signal.SIGUSR1, signal.SIGPROF):
                    self.assertTrue(blocked >> (number - 1) & 1, number)


class ControlPath(ControlTest, CliTest):
    def test_without_the_variable_nothing_listens(self):
        with Server("", wait=False) as server:
            self.assertEqual([], server.threads("opdyno-control"))

    def test_the_path_goes_with_the_process(self):
        server = self.server()
        self.assertTrue(stat.S_ISSOCK(server.path.stat().st_mode))
        self.assertEqual("", server.end())
        self.assertFalse(server.path.exists())

    def test_the_socket_of_a_dead_process_is_replaced(self):
        server = self.server()
        server.process.kill()
        server.process.wait()
        self.assertTrue(server.path.exists())
        self.record(self.server(), "-o", "replaced.json")

    def test_a_path_in_use_is_left_alone(self):
        server = self.server(CONTROL_SERVER_LOG="1")
        with Server(server.path, wait=False, CONTROL_SERVER_LOG="1") as other:
            eventually(lambda: not other.threads("opdyno-control"), "it still tries")
            self.assertRegex(other.end(), r"^log 2: OPDYNO_CONTROL: this process cannot be recorded from outside: .* is in use: ")
        with Client(server.path) as client:
            self.assertEqual(server.pid, client.send({"do": "record", "seconds": 0}).line()["recording"]["pid"])
        self.assertEqual("", server.end())

    def test_a_path_whose_process_has_no_room_for_clients_is_in_use(self):
        path = self.path()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(0)
            waiting = []
            self.addCleanup(lambda: [client.close() for client in waiting])
            for _ in range(100):
                waiting.append(socket.socket(socket.AF_UNIX))
                waiting[-1].setblocking(False)
                if waiting[-1].connect_ex(str(path)) == errno.EAGAIN:
                    break
            else:
                self.fail("there is always room")
            with Server(path, wait=False, CONTROL_SERVER_LOG="1") as server:
                eventually(lambda: not server.threads("opdyno-control"), "it still tries")
                self.assertIn("%s is in use: another process listens there; it is left alone" % path, server.end())
        path.unlink()

    def test_a_path_may_have_107_bytes(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            longest = folder + "/" + "s" * (107 - len(folder) - 1)
            with Server(longest) as server:
                self.assertEqual("", server.end())
            with Server(longest + "s", wait=False, CONTROL_SERVER_LOG="1") as server:
                eventually(lambda: not server.threads("opdyno-control"), "it still tries")
                self.assertIn("the path of a socket has at most 107 bytes, but %ss has 108" % longest, server.end())

    def test_a_file_is_left_alone_and_a_bad_path_is_named(self):
        (WORK / "precious").write_text("text")
        for path, message in ((WORK / "precious", "exists and is not a socket"), (WORK / "no" / "where", "No such file or directory"),
                              ("x" * 200, "has at most 107 bytes")):
            with Server(path, wait=False, CONTROL_SERVER_LOG="1") as server:
                eventually(lambda: not server.threads("opdyno-control"), "it still tries")
                self.assertIn(message, server.end())
        self.assertEqual("text", (WORK / "precious").read_text())

    def test_a_path_that_was_replaced_meanwhile_is_not_removed(self):
        server = self.server()
        server.path.unlink()
        server.path.write_text("text")
        server.end()
        self.assertEqual("text", server.path.read_text())

    @unittest.skipIf(HAS_TSAN, "ThreadSanitizer supports no threads in the child of a program that has threads: now and then it stands still")
    def test_a_child_listens_on_a_path_of_its_own(self):
        # The child has what the thread that called held at the fork, but not that thread, so it looks lost to LeakSanitizer.
        server = self.server("%p", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": LONG, "form": "table"}).line()
            word, child, state, is_recorded = server.command("fork")
            self.assertEqual(("child", "recorded", "0"), (word, state, is_recorded), "the recording is the parent's")
            path = Path(str(self.path("%p")).replace("%p", child))
            eventually(lambda: listens(path), "the child does not listen")
            with Client(path) as other:
                begin = other.send({"do": "record", "seconds": 1, "form": "table"}).line()
                self.assertEqual(int(child), begin["recording"]["pid"])
                self.assertIn(b"add_one", other.trace()[0])
            self.assertEqual(["recorded", "1"], server.command("call"))
            self.assertIn(b"add_one", client.send({"do": "stop"}).trace()[0])
        server.end()
        self.assertFalse(server.path.exists())
        eventually(lambda: not path.exists(), "the child leaves its path behind")

    def test_children_that_soon_become_another_program_leave_no_socket_behind(self):
        server = self.server("%p", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        server.command("spawn")
        left = set(server.path.parent.glob(self.path("*").name)) - {server.path}
        self.assertLess(len(left), 5)  # of five; a busy machine may be late with some

    def test_a_child_without_a_path_of_its_own_does_not_listen(self):
        server = self.server()
        with Client(server.path) as client:
            client.send({"do": "record", "seconds": LONG}).line()
            _, child, _, is_recorded = server.command("fork")
            self.assertEqual("0", is_recorded)
            tasks = Path(f"/proc/{child}/task").iterdir()
            self.assertNotIn("opdyno-control", [(task / "comm").read_text().strip() for task in tasks])
            links = [os.readlink(f"/proc/{child}/fd/{fd}") for fd in os.listdir(f"/proc/{child}/fd")]
            self.assertEqual([], [link for link in links if link.startswith("socket:")])
        with Client(server.path) as client:
            self.assertEqual(server.pid, client.send({"do": "record", "seconds": 0}).line()["recording"]["pid"])
        server.process.kill()
        server.process.wait()
        self.assertFalse(listens(server.path))
