"""Tests of opdyno.telemetry's options and results. tests/capi/telemetry*_test.cc test the counts and the sent data."""

import base64
import http.server
import json
import os
import threading
import urllib.request

import numpy as np
import opdyno
import pytest
from opdyno import telemetry

PROGRAM = ".func main(x) {\n  ret %x\n}\n"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def vm():
    return opdyno.VirtualMachine(opdyno.Executable.assemble(PROGRAM).to_module(), opdyno.cpu())


@pytest.fixture
def collector():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.requests.append((self.path, dict(self.headers), json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_metrics_of_a_with_statement(vm):
    with telemetry.start(prometheus="127.0.0.1:0") as running:
        for _ in range(3):
            vm["main"](opdyno.tensor(np.zeros(4, "float32")))
        running.set_value("my_jobs", 2.5, labels={"queue": "a"})
        running.set_value("my_bytes", 7, counter=True, help="Bytes.")
        with urllib.request.urlopen(f"http://{running.address}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        for line in 'opdyno_calls_total{program="",function="main"} 3', 'my_jobs{queue="a"} 2.5', "my_bytes_total 7":
            assert line in text.splitlines()
        assert running.text(open_metrics=True).endswith("# EOF\n")
        assert running.stats().scrape_count == 1
    with pytest.raises(ValueError, match="was stopped"):
        running.text()


def test_spans_lie_within_that_of_the_request(vm, collector):
    url = f"http://127.0.0.1:{collector.server_port}"
    with telemetry.start(otlp=url, service_name="a test", resource_attributes={"team": "a,b"}, otlp_headers={"key": "a b"}) as running:
        with telemetry.parent(PARENT):
            vm["main"](opdyno.tensor(np.zeros(4, "float32")))
        running.flush(60)
        assert running.stats().spans_sent_count == 1
    _, headers, body = next(request for request in collector.requests if request[0] == "/v1/traces")
    assert headers["key"] == "a b"
    (resource,) = body["resourceSpans"]
    attributes = {one["key"]: one["value"].get("stringValue") for one in resource["resource"]["attributes"]}
    assert (attributes["service.name"], attributes["team"]) == ("a test", "a,b")
    (span,) = resource["scopeSpans"][0]["spans"]
    assert (span["traceId"], span["parentSpanId"]) == (PARENT[3:35], PARENT[36:52])


def with_base64_ids(message):
    """Converts identifiers to base64 for protobuf's JSON, because OTLP's JSON has hexadecimal digits."""
    if isinstance(message, list):
        return [with_base64_ids(one) for one in message]
    if not isinstance(message, dict):
        return message
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(value)).decode() if key in ids else with_base64_ids(value)
        for key, value in message.items()
    }


def test_what_is_sent_are_messages_of_opentelemetry(vm, collector, monkeypatch):
    """The parser refuses unknown fields, wrong types and wrong enums.

    tools/test installs opentelemetry-proto into a separate folder, because Ray takes a part of OpenTelemetry for the
    whole.
    """
    if folder := os.environ.get("OPDYNO_TEST_OPENTELEMETRY"):
        monkeypatch.syspath_prepend(folder)
    json_format = pytest.importorskip("google.protobuf.json_format")
    traces = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2").ExportTraceServiceRequest
    metrics = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2").ExportMetricsServiceRequest
    with telemetry.start(otlp=f"http://127.0.0.1:{collector.server_port}", service_name="a test", per_operator=True) as running:
        with telemetry.parent(PARENT):
            vm["main"](opdyno.tensor(np.zeros(4, "float32")))
        with pytest.raises(TypeError):
            vm["main"]()
        running.set_value("my_jobs", 2.5, labels={"queue": "a"})
        running.set_value("my_bytes", 7, counter=True)
        running.add_span("a request", 5, 7, traceparent=PARENT, parent_span="00f067aa0ba902b7", error="no luck", span_kind=2, attributes={"user": "x"})
        running.add_span("not kept", 5, 7, traceparent=PARENT[:-1] + "0")
        running.flush(60)
    sent = {"/v1/traces": [], "/v1/metrics": []}
    for path, headers, body in collector.requests:
        assert headers["Content-Type"] == "application/json"
        message = traces() if path == "/v1/traces" else metrics()
        sent[path].append(json_format.ParseDict(with_base64_ids(body), message))
    spans = [
        span
        for message in sent["/v1/traces"]
        for resource in message.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    child = next(span for span in spans if span.parent_span_id and span.name == "main")
    assert (child.trace_id.hex(), child.parent_span_id.hex()) == (PARENT[3:35], PARENT[36:52])
    own = next(span for span in spans if span.name == "a request")
    assert (own.trace_id.hex(), own.span_id.hex(), own.parent_span_id.hex()) == (PARENT[3:35], PARENT[36:52], "00f067aa0ba902b7")
    assert (own.start_time_unix_nano, own.end_time_unix_nano, own.kind) == (5, 7, own.SPAN_KIND_SERVER)
    assert [(one.key, one.value.string_value) for one in own.attributes] == [("user", "x")]
    assert (own.status.code, own.status.message) == (own.status.STATUS_CODE_ERROR, "no luck")
    assert not any(span.name == "not kept" for span in spans)
    assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 and span.name for span in spans)
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    found = {
        metric.name: metric
        for message in sent["/v1/metrics"]
        for resource in message.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert found["my_jobs"].gauge.data_points[0].as_double == 2.5
    bytes_sum = next(metric for name, metric in found.items() if name.startswith("my_bytes")).sum
    assert bytes_sum.is_monotonic and bytes_sum.data_points[0].as_double + bytes_sum.data_points[0].as_int == 7
    durations = next(metric for metric in found.values() if metric.WhichOneof("data") == "histogram").histogram
    point = durations.data_points[0]
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1 and sum(point.bucket_counts) == point.count


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="traceparent"):
        telemetry.set_parent("nonsense")
    with telemetry.start() as running, pytest.raises(ValueError, match="span_kind must be from 1 to 5, but is 6"):
        running.add_span("a", 5, 7, traceparent=PARENT, span_kind=6)
    with pytest.raises(opdyno.Error, match="without TLS"):
        telemetry.start(otlp="https://collector")
    with pytest.raises(ValueError, match="interval_ns"):
        telemetry.start(interval=0)
