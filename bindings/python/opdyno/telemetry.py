"""Telemetry of a program that runs for months: metrics for Prometheus, metrics and spans for OpenTelemetry.

    with opdyno.telemetry.start(prometheus="127.0.0.1:9464", otlp="http://127.0.0.1:4318", service_name="translator"):
        with opdyno.telemetry.parent(request.headers.get("traceparent")):
            y = vm["main"](x)

docs/telemetry.md lists the metrics. While no telemetry runs, calls have no extra cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from urllib.parse import quote

from . import _native
from ._results import TelemetryStats
from ._time import nanoseconds


def _pairs(pairs: Mapping[str, str] | None) -> str | None:
    return None if pairs is None else ",".join(f"{key}={quote(value, safe='')}" for key, value in pairs.items())


class Telemetry:
    """Telemetry of this process, made by `start`. It runs until `stop` or the end of the with statement. Any thread may
    use it."""

    def __init__(self, handle: _native.Handle) -> None:
        self._handle: _native.Handle | None = handle

    def __enter__(self) -> Telemetry:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _running(self) -> _native.Handle:
        if self._handle is None:
            raise ValueError("the telemetry was stopped")
        return self._handle

    def stop(self) -> None:
        """Sends all pending data, which takes at most a second, and ends the telemetry."""
        self._handle = None

    @property
    def address(self) -> str:
        """The address at which Prometheus finds the metrics, such as "127.0.0.1:9464"; "" if there is none."""
        return _native.opd_telemetry_address(self._running())

    def text(self, *, open_metrics: bool = False) -> str:
        """Returns the metrics as text, for programs with a server of their own."""
        form = _native.OPD_TELEMETRY_OPEN_METRICS if open_metrics else _native.OPD_TELEMETRY_PROMETHEUS
        return _native.opd_telemetry_to_text(self._running(), form)

    def set_value(self, name: str, value: float, *, help: str = "", counter: bool = False, labels: Mapping[str, str] | None = None) -> None:
        """Sets one of the program's own metrics. In texts, the name of a `counter` ends in "_total"."""
        given = {
            "kind": _native.OPD_TELEMETRY_COUNTER if counter else _native.OPD_TELEMETRY_GAUGE,
            "name": name,
            "help": help,
            "label_names": list(labels or ()),
            "label_values": list((labels or {}).values()),
            "value": value,
        }
        _native.opd_telemetry_set_value(self._running(), given)

    def add_span(
        self,
        name: str,
        begin_ns: int,
        end_ns: int,
        *,
        traceparent: str,
        parent_span: str | None = None,
        error: str | None = None,
        span_kind: int = 1,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Adds a span of the program that has ended. Its begin and end are times of `time.time_ns()`.

        `traceparent`: the span's own W3C traceparent, which is passed on to callees. `parent_span`: the span id of its
        parent, 16 digits. `error`: the message, if the span failed. `span_kind`: 1 internal, 2 server, 3 client, 4
        producer, 5 consumer. If there is no collector, or the trace is not kept, nothing is sent.
        """
        given = {
            "kind": _native.OPD_TELEMETRY_SPAN,
            "name": name,
            "label_names": list(attributes or ()),
            "label_values": list((attributes or {}).values()),
            "traceparent": traceparent,
            "parent_span": parent_span,
            "error": error,
            "begin_ns": begin_ns,
            "end_ns": end_ns,
            "span_kind": span_kind,
        }
        _native.opd_telemetry_set_value(self._running(), {key: value for key, value in given.items() if value is not None})

    def flush(self, timeout: float = 10) -> None:
        """Sends all pending data to the collector and waits until the collector has accepted it, but at most `timeout`
        seconds."""
        _native.opd_telemetry_flush(self._running(), nanoseconds("timeout", timeout))

    def stats(self) -> TelemetryStats:
        """Returns the counts of sent and dropped data so far."""
        return _native.opd_telemetry_get_stats(self._running())


def start(
    *,
    prometheus: str | None = None,
    otlp: str | None = None,
    service_name: str | None = None,
    resource_attributes: Mapping[str, str] | None = None,
    otlp_headers: Mapping[str, str] | None = None,
    interval: float = 10,
    per_operator: bool = False,
    spans: bool = True,
    process_metrics: bool = True,
    max_queue: int = 2048,
    max_series: int = 1000,
    max_bytes: int = 64 << 20,
) -> Telemetry:
    """Starts telemetry: the measurements, the server for Prometheus, and transmissions to the collector.

    `prometheus`: "HOST:PORT" for Prometheus; port 0 selects a free port. `otlp`: a collector, such as
    "http://127.0.0.1:4318". `interval`: seconds between two transmissions of metrics. The other parameters are those of
    opd_telemetry_options. If a parameter is None, OpenTelemetry's environment variables set it.
    """
    options = {
        "prometheus_address": prometheus,
        "otlp_endpoint": otlp,
        "service_name": service_name,
        "resource_attributes": _pairs(resource_attributes),
        "otlp_headers": _pairs(otlp_headers),
        "interval_ns": nanoseconds("interval", interval),
        "per_operator": per_operator,
        "spans": spans,
        "process_metrics": process_metrics,
        "max_queue": max_queue,
        "max_series": max_series,
        "max_bytes": max_bytes,
    }
    return Telemetry(_native.opd_telemetry_start({key: value for key, value in options.items() if value is not None}))


def set_parent(traceparent: str | None) -> None:
    """Sets the request for which the calling thread works, by the request's header `traceparent`; None: no request."""
    _native.opd_telemetry_set_parent(traceparent)


@contextmanager
def parent(traceparent: str | None) -> Iterator[None]:
    """Sets the request during a with statement, like `set_parent`."""
    set_parent(traceparent)
    try:
        yield
    finally:
        set_parent(None)


__all__ = ["Telemetry", "TelemetryStats", "parent", "set_parent", "start"]

TelemetryStats.__module__ = __name__
