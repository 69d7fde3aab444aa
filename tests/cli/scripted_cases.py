"""The commands top and record against a server whose answers are written here, so that their output is known."""

import json
import os
import socket
import threading

from case import FAILED, OK, USAGE, WORK, CliTest

BEGIN = {"recording": {"pid": 4711, "process": "a\x1bserver"}}


class Scripted:
    """Accepts one client, reads its request, sends the answers and closes the connection."""

    def __init__(self, path, answers):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.answers, self.request = answers, b""
        self.path = path
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        client, _ = self.listener.accept()
        with client:
            self.request = client.makefile("rb").readline()
            for answer in self.answers:
                try:
                    client.sendall(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")
                except BrokenPipeError:  # it had enough
                    return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_error):
        self.thread.join()
        self.listener.close()
        os.unlink(self.path)


class ScriptedTest:
    def served(self, *answers):
        return Scripted(WORK / "scripted", answers)

    def command(self, name, *words, answers, code=OK):
        """The result, and the request that the server got."""
        with self.served(*answers) as server:
            result = self.check(code, name, server.path, *words, silent=False)
        return result, json.loads(server.request)


def row(name, kind="call", count=0, full_ns=0, self_ns=0, threads=1):
    return {"name": name, "kind": kind, "count": count, "full_ns": full_ns, "self_ns": self_ns, "threads": threads}


class ScriptedTop(ScriptedTest, CliTest):
    # Two seconds of two threads, of which 3 s were recorded: 75 % of their time.
    INTERVAL = {
        "ns": 2_000_000_000,
        "threads": 2,
        "recorded_ns": 3_000_000_000,
        "dropped": 0,
        "rows": [
            row("conv", count=400, full_ns=400 * 1_234_560, self_ns=1_500_000_000, threads=2),
            row("main", "run", count=3, full_ns=3 * 2_500_000_000, self_ns=999_400),
            row("request", "range", self_ns=999),
            row("tick", count=199, full_ns=199 * 12_340, self_ns=30_000_000),
        ],
    }

    def test_rates_shares_and_times_have_fitting_units(self):
        result, request = self.command("top", "--once", answers=[BEGIN, {"interval": self.INTERVAL}])
        lines = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual("a server (process 4711): 2.00 s, 2 threads, 75 % of their time in what follows", result.stdout.splitlines()[0])
        self.assertEqual(
            [
                ["conv", "200", "50.0", "%", "1.23", "ms", "1.50", "s", "2"],
                ["main", "(run)", "1.5", "0.0", "%", "2.50", "s", "999.40", "µs", "1"],
                ["request", "(range)", "0", "0.0", "%", "999", "ns", "1"],
                ["tick", "99.5", "1.0", "%", "12.34", "µs", "30.00", "ms", "1"],
            ],
            lines[2:],
        )
        self.assertEqual(1, len({len(line) for line in result.stdout.splitlines()[1:]}), "columns are aligned")
        self.assertEqual({"do": "top", "interval": 1}, request)

    def test_a_process_may_be_unknown(self):
        for recording, title in ({}, " (process 0): "), ({"process": "p", "pid": "1"}, "p (process 0): "), ({"process": "p", "pid": 1}, "p (process 1): "):
            result, _ = self.command("top", "--once", answers=[{"recording": recording}, {"interval": self.INTERVAL}])
            self.assertTrue(result.stdout.startswith(title), result.stdout)

    def test_an_interval_without_anything_is_a_line_of_titles(self):
        empty = {"ns": 500_000_000, "threads": 0, "recorded_ns": 0, "dropped": 0, "rows": []}
        lost = {**empty, "threads": 1, "recorded_ns": 50_000_000, "dropped": 7, "rows": [row("f", count=1, full_ns=5)]}
        result, request = self.command(
            "top", "--interval", "250ms", answers=[BEGIN, {"interval": empty}, {"interval": lost}], code=FAILED
        )
        self.assertEqual(
            "a server (process 4711): 0.50 s, 0 threads\n"
            "Name  Calls/s  Share  Mean  Self  Threads\n"
            "\n"
            "a server (process 4711): 0.50 s, 1 thread, 10 % of their time in what follows, 7 dropped\n"
            "Name  Calls/s  Share  Mean  Self  Threads\n"
            "f           2  0.0 %  5 ns  0 ns        1\n",
            result.stdout,
        )
        self.assertEqual("opdyno top: a server (process 4711) has ended\n", result.stderr)
        self.assertEqual({"do": "top", "interval": 0.25}, request)

    def on_a_terminal(self, rows, columns, *intervals):
        with self.served(BEGIN, *({"interval": interval} for interval in intervals)) as server:
            return self.on_terminal("top", server.path, rows=rows, columns=columns, code=FAILED)

    def test_a_terminal_shows_as_many_rows_and_columns_as_fit(self):
        interval = {**self.INTERVAL, "rows": [row("a_name_that_is_long_%d" % i, count=2, full_ns=20) for i in range(30)]}
        for height, rows in (5, 2), (9, 6), (4, 21), (0, 21):  # the title, the head and the cursor have a line each
            shown = self.on_a_terminal(height, 100, interval)
            self.assertEqual(rows, shown.count("a_name_that"), (height, shown))
        # The name has at least 12 columns. Those after it take 7, 5 ("0.0 %"), 5 ("10 ns"), 4 ("0 ns") and 7, with 2 between.
        for width, last in (
            (60, "Threads"), (50, "Threads"), (49, "Self"), (41, "Self"), (40, "Mean"), (35, "Mean"), (34, "Share"),
            (28, "Share"), (27, "Calls/s"), (21, "Calls/s"),
        ):
            lines = self.on_a_terminal(9, width, interval).split("\033[K\n")
            self.assertEqual(last, lines[1].split()[-1], (width, lines[1]))
            for line in lines[1:-1]:
                self.assertLessEqual(len(line), width)
            self.assertEqual(width < 60, "…" in lines[2], "the longest name has 22 letters")
        first, second = self.on_a_terminal(24, 100, self.INTERVAL, self.INTERVAL).split("\033[J")[:2]
        self.assertTrue(first.startswith("\033[2J\033[H"))
        self.assertTrue(second.startswith("\033[H"), "what stands there is replaced, not cleared first")

    def test_the_interval_has_bounds(self):
        for words in ("--interval", "9ms"), ("--interval", "24.1h"):
            self.assertIn("'--interval' takes a time from 10ms to 24h", self.fails(USAGE, "top", "nowhere", *words))
        for interval, seconds in ("10ms", 0.01), ("24h", 86400):
            _, request = self.command("top", "--once", "--interval", interval, answers=[BEGIN, {"interval": self.INTERVAL}])
            self.assertEqual(seconds, request["interval"])

    def test_what_is_no_opdyno_is_named(self):
        path = WORK / "scripted"
        for answers, message in (
            ([b"HTTP/1.1 400 Bad Request\n"], f"what listens at {path} is not opdyno"),
            ([{"hello": 1}], f"what listens at {path} did not start a recording"),
            ([], f"what listens at {path} did not start a recording"),
            ([{"error": "no\x1bway"}], "no way"),
            ([BEGIN], "a server (process 4711) has ended"),
            ([BEGIN, {"error": "too bad"}], "too bad"),
            ([b"x" * (18 << 20)], f"what listens at {path} is not opdyno"),
        ):
            result, _ = self.command("top", answers=answers, code=FAILED)
            self.assertEqual(f"opdyno top: {message}\n", result.stderr)


class ScriptedRecord(ScriptedTest, CliTest):
    def test_the_request_has_what_the_options_say(self):
        usual = {"do": "record", "form": "chrome", "gzip": True, "memory": False, "seconds": 10, "max_events": 1 << 20}
        for words, differs in (
            ((), {}),
            (("-o", "r.json"), {"gzip": False}),
            (("-o", "R.JSON.GZ"), {}),
            (("-o", "r.svg", "--memory"), {"form": "flame", "gzip": False, "memory": True}),
            (("-o", "r.x", "--form", "stacks"), {"form": "stacks", "gzip": False}),
            (("--seconds", "500ms", "--max-events", "3"), {"seconds": 0.5, "max_events": 3}),
            (("--seconds", "24h"), {"seconds": 86400}),
            (("-o", "-"), {"gzip": False}),
        ):
            answers = [BEGIN, {"bytes": 4}, b"some", {"bytes": 6}, b" bytes", {"done": {"spans": 1, "dropped": 0}}]
            result, request = self.command("record", *words, answers=answers)
            self.assertEqual({**usual, **differs}, request, words)
            self.assertEqual("", result.stderr)
            output = words[1] if words and words[0] == "-o" else "trace.json.gz"
            if output == "-":
                self.assertEqual("some bytes", result.stdout)
            else:
                self.assertEqual(f"{output}: 1 span of a server (process 4711)\n", result.stdout)
                self.assertEqual(b"some bytes", (WORK / output).read_bytes())
                (WORK / output).unlink()

    def test_each_suffix_names_a_form(self):
        forms = {
            "speedscope": [".speedscope.json", ".speedscope"], "memory_raw": [".memory.raw.json"], "memory": [".memory.json"],
            "memory_html": [".memory.html"], "chrome": [".json"], "perfetto": [".pftrace", ".perfetto-trace"],
            "pprof": [".pb", ".pprof"], "html": [".html", ".htm"], "flame": [".svg"],
            "stacks": [".stacks", ".folded"], "table": [".txt"],
        }
        for form, suffixes in forms.items():
            for suffix in suffixes:
                for more in "", ".gz":
                    answers = [BEGIN, {"bytes": 1}, b"x", {"done": {"spans": 2, "dropped": 0}}]
                    _, request = self.command("record", "-o", "form" + suffix + more, answers=answers)
                    self.assertEqual((form, bool(more)), (request["form"], request["gzip"]), suffix)
        message = "--form: 'x' is none of %s\n" % ", ".join(forms)
        self.assertIn(message, self.fails(USAGE, "record", "nowhere", "--form", "x"))

    def test_what_found_no_room_is_told(self):
        answers = [BEGIN, {"bytes": 1}, b"x", {"done": {"spans": 5, "dropped": 3}}]
        result, _ = self.command("record", "-o", "dropped.json", answers=answers)
        self.assertEqual("dropped.json: 5 spans of a server (process 4711)\n", result.stdout)
        self.assertEqual(
            "opdyno record: 3 calls and ranges found no room in the trace and are left out; --max-events gives more\n",
            result.stderr,
        )

    def test_what_is_no_trace_is_refused_and_not_written(self):
        for answers, message in (
            ([], "the process ended before its trace was received"),
            ([{"bytes": 5}, b"less"], "the process ended before all was received"),
            ([{"bytes": 0}], "what the process sent is not a trace"),
            ([{"bytes": -1}], "what the process sent is not a trace"),
            ([{"bytes": (1 << 20) + 1}], "what the process sent is not a trace"),
            ([{"other": 1}], "what the process sent is not a trace"),
            ([{"error": "out of memory"}], "out of memory"),
        ):
            result, _ = self.command("record", "-o", "never.json", answers=[BEGIN, *answers], code=FAILED)
            self.assertEqual(f"opdyno record: {message}\n", result.stderr)
            self.assertFalse((WORK / "never.json").exists())
        answers = [BEGIN, {"bytes": 1 << 20}, b"y" * (1 << 20), {"done": {"spans": 5}}]
        self.command("record", "-o", "large.json", answers=answers)
        self.assertEqual(1 << 20, (WORK / "large.json").stat().st_size)

    def test_a_path_of_107_bytes_is_the_longest(self):
        for size, code, message in (107, FAILED, "no process listens at "), (108, USAGE, "has at most 107 bytes, but "):
            path = "x" * size
            text = self.fails(code, "record", path)
            self.assertIn(message, text)
        self.assertIn("has 108", text)
