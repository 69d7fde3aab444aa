"""OPDYNO_TELEMETRY and serve --metrics: a real Prometheus reads the metrics, and promtool their form."""

import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

from case import FAILED, HAS_ASAN, OPDYNO, WORK, CliTest, run
from control_server import ControlTest, Server, eventually
from rpc_client import Client, Refused, RemoteError, string
from rpc_server import ServerCliTest

HOME = os.environ.get("OPDYNO_PROMETHEUS_HOME", "")
PROMETHEUS, PROMTOOL = (shutil.which(name, path=os.pathsep.join((HOME, os.environ["PATH"]))) for name in ("prometheus", "promtool"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(port, path="/metrics", **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def sample(text, name):
    found = re.search("^" + re.escape(name) + " (.*)$", text, re.M)
    return float(found[1]) if found else None


class Prometheus:
    """A server that asks one address each second."""

    def __init__(self, folder, target):
        self.port = free_port()
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "opdyno", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
        }))  # fmt: skip
        self.log = open(folder / "prometheus.log", "w")
        self.process = subprocess.Popen(
            [PROMETHEUS, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
            cwd=folder, stdout=self.log, stderr=self.log,
        )  # fmt: skip

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.log.close()

    def ask(self, query):
        """The value of the query's only series; None if there is none yet."""
        try:
            answer = json.loads(get(self.port, "/api/v1/query?" + urllib.parse.urlencode({"query": query})))
        except OSError:
            return None  # it starts
        assert answer["status"] == "success", answer
        rows = answer["data"]["result"]
        assert len(rows) <= 1, rows
        return float(rows[0]["value"][1]) if rows else None


class TelemetryOfAProgram(ControlTest, CliTest):
    CALLS = 'opdyno_calls_total{program="served.so",function="main"}'

    def start(self, **environment):
        self.port = free_port()
        server = Server("", wait=False, OPDYNO_TELEMETRY=f"prometheus=127.0.0.1:{self.port},per_operator=1", **environment)
        self.addCleanup(server.__exit__)
        return server

    @unittest.skipUnless(PROMETHEUS, "prometheus is not installed")
    def test_a_real_prometheus_reads_them(self):
        self.start()
        folder = WORK / "prometheus"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        before = sample(get(self.port), self.CALLS)
        prometheus = Prometheus(folder, self.port)
        self.addCleanup(prometheus.close)
        eventually(lambda: (prometheus.ask(self.CALLS) or 0) > before, "no calls are counted")
        value, after = prometheus.ask(self.CALLS), sample(get(self.port), self.CALLS)
        self.assertLessEqual(before, value)
        self.assertLessEqual(value, after)
        self.assertEqual(1, prometheus.ask("up"))
        self.assertEqual(0, prometheus.ask('opdyno_call_errors_total{function="main"}'))
        self.assertEqual(1, prometheus.ask("opdyno_build_info"))
        eventually(lambda: (prometheus.ask('rate(opdyno_operator_seconds_total{operator="add_one"}[1m])') or 0) > 0, "no rate of operators")
        eventually(lambda: 0 < (prometheus.ask('histogram_quantile(0.5, rate(opdyno_call_duration_seconds_bucket{function="main"}[1m]))') or 0) < 10, "no quantile")
        self.assertGreater(prometheus.ask("process_resident_memory_bytes"), 1 << 20)

    @unittest.skipUnless(PROMTOOL, "promtool is not installed")
    def test_promtool_finds_nothing_to_complain_of(self):
        self.start()
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=get(self.port), capture_output=True, text=True, timeout=60)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))

    def test_the_program_is_counted_beside_a_recording_from_outside(self):
        path = self.path("socket")
        server = Server(path, OPDYNO_TELEMETRY=f"prometheus=127.0.0.1:{(port := free_port())}")
        self.addCleanup(server.__exit__)
        done = run("top", path, "--once")
        self.assertEqual(0, done.returncode)
        first = sample(get(port), self.CALLS)
        server.command("call")
        self.assertGreater(sample(get(port), self.CALLS), first)

    @unittest.skipIf(HAS_ASAN, "a forked child has the locks of AddressSanitizer's heap as they were, and the thread of the metrics allocates")
    def test_a_forked_child_leaves_them_to_its_parent(self):
        server = self.start()
        child = server.command("fork")
        self.assertEqual("child", child[0])
        self.assertIsNotNone(sample(get(self.port), self.CALLS))
        server.end()
        with self.assertRaises(OSError):
            get(self.port)


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/metrics":
            self.server.metrics.append(content)
        else:
            self.server.spans += [
                span for resource in content["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]
            ]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


class TelemetryForACollector(ServerCliTest):
    TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    PARENT = f"00-{TRACE}-{CALLER}-01"

    def serve_with_collector(self, *words):
        self.collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
        self.collector.metrics, self.collector.spans = [], []
        threading.Thread(target=self.collector.serve_forever).start()
        self.addCleanup(self.collector.server_close)
        self.addCleanup(self.collector.shutdown)
        return self.serve("--otlp", "http://127.0.0.1:%d" % self.collector.server_port, *words)

    def metrics(self):
        """Once the server has ended, which sends all."""
        (resource,) = self.collector.metrics[-1]["resourceMetrics"]
        return {one["name"]: one for scope in resource["scopeMetrics"] for one in scope["metrics"]}

    def spans(self):
        """Likewise; checked by what OTLP and W3C say of their form. By name."""
        by_name = {}
        for span in self.collector.spans:
            self.assertRegex(span["traceId"], "^(?!0+$)[0-9a-f]{32}$")
            self.assertRegex(span["spanId"], "^(?!0+$)[0-9a-f]{16}$")
            self.assertRegex(span.get("parentSpanId", "1" * 16), "^(?!0+$)[0-9a-f]{16}$")
            self.assertEqual(2, span["kind"], "SPAN_KIND_SERVER")
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
            self.assertLess(abs(time.time() - int(span["endTimeUnixNano"]) / 1e9), 3600)
            span["attributes"] = {one["key"]: one["value"]["stringValue"] for one in span["attributes"]}
            self.assertEqual({"opdyno.kind", "opdyno.session"}, {*span["attributes"]})
            by_name.setdefault(span["name"], []).append(span)
        return by_name

    def test_the_metrics_of_sessions_are_sent(self):
        port = self.serve_with_collector()
        self.client(port, "k").close()
        self.expect_message("^session 1 ends$")
        self.stop()
        metrics = self.metrics()
        points = metrics["rpc_sessions"]["sum"]["dataPoints"]
        ended = {point["attributes"][0]["value"]["stringValue"]: point["asDouble"] for point in points}
        self.assertEqual(1, ended["done"])
        self.assertEqual(0, ended["crashed"])
        self.assertEqual(0, metrics["rpc_bad_traceparents"]["sum"]["dataPoints"][0]["asDouble"])
        self.assertNotIn("metrics are at", "".join(self.messages))

    def test_spans_of_the_server_lie_within_that_of_the_client(self):
        port = self.serve_with_collector()
        words = ("run", "add_one.opdasm", "--import", "kernels.c", "--on", "127.0.0.1:%d,key=k" % port)
        self.succeeds(*words, env=dict(os.environ, TRACEPARENT=self.PARENT))
        self.expect_message("^session 1 ends$")
        self.stop()
        spans = self.spans()
        (session,) = spans["rpc session"]
        self.assertEqual((self.TRACE, self.CALLER), (session["traceId"], session["parentSpanId"]))
        self.assertEqual({"opdyno.kind": "session", "opdyno.session": "1"}, session["attributes"])
        self.assertNotIn("status", session)
        for name in ("tvm.rpc.server.upload", "tvm.rpc.server.load_module", "vm_load_executable"):
            self.assertIn(name, spans)
        calls = [span for name in spans for span in spans[name] if span is not session]
        self.assertEqual({(self.TRACE, session["spanId"])}, {(span["traceId"], span["parentSpanId"]) for span in calls})
        self.assertEqual(1 + len(calls), len({session["spanId"], *(span["spanId"] for span in calls)}))

    def test_a_process_that_crashes_amid_a_call_has_spans_that_say_so(self):
        port = self.serve_with_collector()
        client = self.client(port, "k")
        client.call("opdyno.rpc.traceparent", string(self.PARENT))
        crash = "\nKERNEL(crashes) { UNUSED; *(volatile int *)8 = 1; return 0; }\n"
        client.upload("crash.c", ((WORK / "kernels.c").read_text() + crash).encode())
        with self.assertRaises(RemoteError):
            client.call(client.kernel("crash.c", "fails"))
        with self.assertRaises((EOFError, ConnectionError, RemoteError)):
            client.call(client.kernel("crash.c", "crashes"))
        # The latter by a sanitizer.
        why = r"its process (was ended by signal 11 \(Segmentation fault\), in the operator crashes|exited with code \d+)"
        self.expect_message(f"^session 1 ends: {why}$")
        self.stop()
        spans = self.spans()
        (fails,), (crashes,), (session,) = spans["fails"], spans["crashes"], spans["rpc session"]
        for span in (fails, crashes, session):
            self.assertEqual(2, span["status"]["code"], "STATUS_CODE_ERROR")
            self.assertEqual(self.TRACE, span["traceId"])
        self.assertIn("it always does", fails["status"]["message"])
        for span in (crashes, session):
            self.assertRegex(span["status"]["message"], f"^{why}$")
        self.assertEqual(session["spanId"], crashes["parentSpanId"])
        self.assertEqual(self.CALLER, session["parentSpanId"])

    def test_a_session_that_runs_at_the_end_of_the_server_has_a_span(self):
        port = self.serve_with_collector()
        client = self.client(port, "k")
        self.assertEqual([1.0], client.read(client.floats([1]), 1))
        self.stop()
        (session,) = self.spans()["rpc session"]
        self.assertEqual({"code": 2, "message": "the server ended"}, session["status"])
        self.assertNotIn("parentSpanId", session)

    def test_what_is_no_context_is_ignored_and_counted(self):
        port = self.serve_with_collector()
        client = self.client(port, "k")
        say = client.function("opdyno.rpc.traceparent")
        for text in ("", "x" * 100000, self.PARENT.upper(), self.PARENT[:-1], self.PARENT):
            client.call(say, string(text))
        self.assertEqual([1.0], client.read(client.floats([1]), 1))
        client.close()
        self.expect_message("^session 1 ends$")
        self.stop()
        self.assertEqual(3, self.metrics()["rpc_bad_traceparents"]["sum"]["dataPoints"][0]["asDouble"])
        (session,) = self.spans()["rpc session"]
        self.assertEqual(self.TRACE, session["traceId"])

    def test_a_wrong_address_is_refused(self):
        self.assertIn("https", self.fails(FAILED, "serve", "--listen", "0", "--otlp", "https://collector"))


class TelemetryOfAServer(ServerCliTest):
    def setUp(self):
        self.start()

    def start(self, *words, **settings):
        self.port = self.serve("--metrics", "127.0.0.1:0", *words, **settings)
        pattern = r"opdyno serve: metrics are at http://127\.0\.0\.1:(\d+)/metrics"
        self.expect_message(pattern)
        (self.metrics,) = (int(found[1]) for line in self.messages if (found := re.fullmatch(pattern, line)))

    def wait_for(self, name, value):
        eventually(lambda: sample(get(self.metrics), name) == value, f"{name} is not {value}: {get(self.metrics)}")

    def test_sessions_are_counted_by_their_ends(self):
        self.wait_for("rpc_sessions_active", 0)
        first, second = Client(self.port, "k"), Client(self.port, "k")
        self.wait_for("rpc_sessions_active", 2)
        first.close()
        self.wait_for('rpc_sessions_total{outcome="done"}', 1)
        with self.assertRaises(Refused):
            Client(self.port, "wrong")
        self.wait_for('rpc_sessions_total{outcome="bad_key"}', 1)
        self.wait_for("rpc_sessions_active", 1)
        (session,) = self.sessions()
        os.kill(session, signal.SIGKILL)  # which no sanitizer handles
        self.wait_for('rpc_sessions_total{outcome="crashed"}', 1)
        self.wait_for("rpc_sessions_active", 0)
        second.close()
        with socket.create_connection(("127.0.0.1", self.port)) as foreign:
            foreign.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.wait_for('rpc_sessions_total{outcome="bad_format"}', 1)
        self.assertGreater(sample(get(self.metrics), "rpc_session_seconds_total"), 0)

    def test_a_session_cannot_reach_what_others_do(self):
        def shared_maps(process):
            return sum(" rw-s " in line for line in Path("/proc/%d/maps" % process).read_text().splitlines())

        self.client(self.port, "k")
        (first,) = self.sessions()
        self.client(self.port, "k")
        (second,) = {*self.sessions()} - {first}
        self.assertEqual(shared_maps(first), shared_maps(second))
        self.assertEqual(shared_maps(first) + 1, shared_maps(self.server.pid), "of the other session")

    def test_a_session_that_the_server_ends_is_counted_by_the_reason(self):
        self.start("--session-limit", "1s")
        self.client(self.port, "k")
        self.wait_for('rpc_sessions_total{outcome="limit"}', 1)
        self.wait_for("rpc_sessions_active", 0)

    def test_requests_and_bytes_are_counted_while_the_session_runs_and_after_it(self):
        client = Client(self.port, "k")  # its first request says the version of the protocol
        self.wait_for("rpc_requests_total", 1)
        data = client.floats([0] * 1000)  # two requests
        self.wait_for("rpc_sent_bytes_total", 20 + 28 + 20)  # with 4 bytes of a value's type, or 12 of a handle
        self.assertEqual(3, sample(get(self.metrics), "rpc_requests_total"))
        received = sample(get(self.metrics), "rpc_received_bytes_total")
        self.assertTrue(4000 < received < 4300, received)
        client.read(data, 1000)
        self.wait_for("rpc_sent_bytes_total", 68 + 8 + 4 + 4000)
        client.close()
        self.wait_for('rpc_sessions_total{outcome="done"}', 1)
        self.assertEqual(4, sample(get(self.metrics), "rpc_requests_total"))

    def test_spans_are_made_only_if_a_collector_gets_them(self):
        for protocol, is_sent in (("http/json", True), ("grpc", False)):
            endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
            self.start(env=dict(os.environ, **endpoint))
            self.assertEqual(is_sent, "rpc_spans_dropped_total" in get(self.metrics), protocol)

    def test_the_format_of_the_metrics(self):
        self.assertEqual("# EOF", get(self.metrics, Accept="application/openmetrics-text; version=1.0.0").splitlines()[-1])
