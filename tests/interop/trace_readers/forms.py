"""Reads traces in each form into spans, by the forms' own rules and with nothing of opdyno."""

import base64
import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

LANE_STEP = 10_000_000  # a track for ranges that overlap has its thread's number plus a multiple of this


@dataclass
class Span:
    thread: int
    lane: int  # 0: the thread's own track
    name: str
    begin: int  # Unix time in ns
    end: int | None  # None: open
    category: str | None = None
    dims: list | None = None
    args: dict | None = None
    parent: int | None = None

    @property
    def key(self):
        return self.begin, -(self.end if self.end is not None else 1 << 63)


def read(path):
    data = Path(path).read_bytes()
    return gzip.decompress(data) if str(path).endswith(".gz") else data


def nanoseconds(microseconds):
    """Exact, of a JSON number with at most three decimals."""
    ns = microseconds * 1000
    assert ns == int(ns), f"{microseconds} µs are no whole number of ns"
    return int(ns)


class Chrome:
    """`spans` without the second span of the same times that says which run it is: those are in `runs`."""

    def __init__(self, path):
        text = read(path).decode()
        self.document = json.loads(text, parse_float=Decimal, parse_constant=refuse)
        self.events = self.document["traceEvents"]
        self.base = self.document["baseTimeNanoseconds"]
        self.spans, self.runs, self.marks, self.thread_names = [], [], [], {}
        for event in self.events:
            if event["ph"] == "M" and event["name"] == "thread_name":
                self.thread_names[event["tid"]] = event["args"]["name"]
            if event["ph"] not in "Xi":
                continue
            lane, thread = divmod(event["tid"], LANE_STEP)
            begin = self.base + nanoseconds(event["ts"])
            if event["ph"] == "i":
                self.marks.append(Span(thread, lane, event["name"], begin, begin, event["cat"]))
                continue
            args = event["args"]
            span = Span(thread, lane, event["name"], begin, begin + nanoseconds(event["dur"]), event["cat"])
            span.args, span.dims = args, args.get("Input Dims")
            is_run = event["cat"] == "user_annotation" and "Run" in args and span.name == f"run {args['Run']}"
            (self.runs if is_run else self.spans).append(span)
        self.spans = sorted(self.spans, key=lambda span: (span.thread, *span.key))


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def by_thread(spans):
    threads = defaultdict(list)
    for span in spans:
        threads[span.thread].append(span)
    return threads


def parents(spans, begin, end):
    """Of spans of one thread, each one's parent: of those that contain it, the one that ends first.

    As places in the list, by trying all pairs. Of equal ends, that which begins last is the inner one.
    """
    found = []
    for i, span in enumerate(spans):
        around = [
            j
            for j, other in enumerate(spans)
            if i != j and begin(other) <= begin(span) and end(span) <= end(other)
            and (begin(other), -end(other), j) < (begin(span), -end(span), i)
        ]
        found.append(min(around, key=lambda j: (end(spans[j]), -begin(spans[j]), -j), default=None))
    return found


def self_times(spans):
    """Of spans of one thread: the time that no span within covers, and by how much rounding may change it."""
    above = parents(spans, lambda span: span.begin, lambda span: span.end)
    within = defaultdict(list)
    for child, parent in enumerate(above):
        if parent is not None:
            within[parent].append((spans[child].begin, spans[child].end))
    result = []
    for i, span in enumerate(spans):
        covered, last = 0, span.begin
        for begin, end in sorted(within[i]):
            covered += max(end - max(begin, last), 0)
            last = max(last, end)
        result.append((span.end - span.begin - covered, 2 + len(within[i])))
    return above, result


# Perfetto


def unknown_fields(message, where=""):
    """The path of each field that the message's definition does not know."""
    found = [f"{where}.{field.field_number}" for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for each in value if is_repeated(field) else [value]:
                found += unknown_fields(each, f"{where}.{field.name}")
    return found


def is_repeated(field):
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


class Perfetto:
    """What a trace processor would make of the packets. All that it would count as an error is an assertion here."""

    REALTIME, BOOTTIME = 1, 6
    CLEARED, NEEDED = 1, 2

    def __init__(self, path):
        self.trace = perfetto_trace_pb2.Trace()
        self.trace.ParseFromString(read(path))
        self.spans, self.marks, self.tracks, self.dropped = [], [], {}, 0
        self.sequences = {}
        self.offset = None
        for packet in self.trace.packet:
            self._add(packet)
        for state in self.sequences.values():
            for stack in state["open"].values():
                self.spans += stack

    def _add(self, packet):
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0
        state = self.sequences.get(sequence)
        self.dropped += packet.previous_packet_dropped
        if packet.sequence_flags & self.CLEARED:
            state = {"open": defaultdict(list), "texts": defaultdict(dict), "clocks": {}, "defaults": None}
            self.sequences[sequence] = state
        if packet.HasField("trace_packet_defaults"):
            assert packet.sequence_flags & self.CLEARED
            state["defaults"] = packet.trace_packet_defaults
        if packet.HasField("clock_snapshot"):
            self._add_clocks(packet.clock_snapshot, state)
        if packet.HasField("interned_data"):
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    assert entry.iid > 0 and entry.iid not in state["texts"][field.name], "a number has two texts"
                    text = entry.str.decode() if hasattr(entry, "str") else entry.name
                    state["texts"][field.name][entry.iid] = text
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in self.tracks
            assert not track.parent_uuid or track.parent_uuid in self.tracks, "a track is told after those within it"
            self.tracks[track.uuid] = track
        if packet.HasField("track_event"):
            assert packet.sequence_flags & self.NEEDED and state is not None
            self._add_event(packet, state)

    def _add_clocks(self, snapshot, state):
        times = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
        if self.REALTIME in times:
            self.offset = times[self.REALTIME] - times[self.BOOTTIME]
        for clock in snapshot.clocks:
            if clock.clock_id >= 64:  # belongs to the sequence
                assert clock.clock_id < 128
                unit = clock.unit_multiplier_ns or 1
                state["clocks"][clock.clock_id] = [clock.is_incremental, unit, times[self.BOOTTIME]]

    def _time(self, packet, state):
        clock = packet.timestamp_clock_id or state["defaults"].timestamp_clock_id
        is_incremental, unit, now = state["clocks"][clock]
        assert is_incremental, "the clock of this writer is"
        state["clocks"][clock][2] = now + packet.timestamp * unit
        return state["clocks"][clock][2] + self.offset

    def _add_event(self, packet, state):
        event, now = packet.track_event, self._time(packet, state)
        uuid = event.track_uuid if event.HasField("track_uuid") else state["defaults"].track_event_defaults.track_uuid
        track, texts, stack = self.tracks[uuid], state["texts"], state["open"][uuid]
        if event.type == event.TYPE_SLICE_END:
            span = stack.pop()  # an end without a begin is an error
            assert now >= span.begin
            span.end = now
            self.spans.append(span)
            return
        thread, lane = self.place_of(track)
        (category,) = (texts["event_categories"][iid] for iid in event.category_iids)
        span = Span(thread, lane, texts["event_names"][event.name_iid], now, None, category)
        span.args = {}
        for annotation in event.debug_annotations:
            key = texts["debug_annotation_names"][annotation.name_iid]
            is_text = annotation.HasField("string_value_iid")
            strings = texts["debug_annotation_string_values"]
            span.args[key] = strings[annotation.string_value_iid] if is_text else annotation.int_value
        if event.type == event.TYPE_INSTANT:
            span.end = now
            self.marks.append(span)
        else:
            assert event.type == event.TYPE_SLICE_BEGIN
            stack.append(span)

    @staticmethod
    def place_of(track):
        if track.HasField("thread"):
            return track.thread.tid, 0
        found = re.fullmatch(r".* (\d+), overlapping (\d+)", track.name, re.S)
        return int(found[1]), int(found[2])


# Speedscope


def speedscope(document):
    """Spans with times from the begin of the trace; the rules are those of its own importer."""
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    spans = []
    for profile in document["profiles"]:
        assert profile["type"] == "evented" and profile["unit"] == "nanoseconds"
        found = re.fullmatch(r"thread (\d+) \(.*?(?:, overlapping (\d+))?\)", profile["name"], re.S)
        thread, lane = int(found[1]), int(found[2] or 0)
        last, stack = profile["startValue"], []
        for event in profile["events"]:
            assert event["at"] >= last, "events are in the order of time"
            last = event["at"]
            if event["type"] == "O":
                stack.append(Span(thread, lane, frames[event["frame"]], last, None))
            else:
                span = stack.pop()
                assert span.name == frames[event["frame"]], "what closes is what was opened last"
                span.end = last
                spans.append(span)
        assert not stack and last <= profile["endValue"]
    return spans


# The page


def page(path):
    """The head of the trace in a page, and spans and marks with times from the begin of the trace, in the page's order."""
    (data,) = re.findall(r'id="data">([A-Za-z0-9+/]*=*)</script>', Path(path).read_text())
    line, _, packed = gzip.decompress(base64.b64decode(data, validate=True)).partition(b"\n")
    head, numbers, number, shift = json.loads(line.decode()), [], 0, 0
    for byte in packed:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number = shift = 0
    count = sum(thread["spans"] for thread in head["threads"])
    assert shift == 0 and len(numbers) == 8 * count
    columns = [numbers[i * count : (i + 1) * count] for i in range(8)]
    threads = [thread for thread in head["threads"] for _ in range(thread["spans"])]
    spans, stack, last = [], [], None
    for i, (label, begin, duration, covered, depth, lane, shapes, host) in enumerate(zip(*columns, strict=True)):
        if threads[i] is not last:
            now, stack, last = 0, [], threads[i]
        now += begin >> 1 ^ -(begin & 1)
        name, kind = head["labels"][label][:2]
        assert depth <= len(stack) and covered <= duration
        stack[depth:] = [i]
        span = Span(last["id"], lane >> 1, name, now, now + duration, kind)
        span.parent = stack[-2] if depth else None
        span.args = {
            "Open": lane & 1,
            "self": duration - covered,
            "shapes": head["shapes"][shapes - 1] if shapes else "",
            "stack": head["stacks"][host - 1] if host else "",
        }
        spans.append(span)
    return head, spans


# pprof

_PPROF = {
    "ValueType": [("type", 1, "int64"), ("unit", 2, "int64")],
    "Label": [("key", 1, "int64"), ("str", 2, "int64"), ("num", 3, "int64"), ("num_unit", 4, "int64")],
    "Sample": [("location_id", 1, "uint64*"), ("value", 2, "int64*"), ("label", 3, "Label*")],
    "Mapping": [("id", 1, "uint64"), ("memory_start", 2, "uint64"), ("memory_limit", 3, "uint64")],
    "Line": [("function_id", 1, "uint64"), ("line", 2, "int64"), ("column", 3, "int64")],
    "Location": [("id", 1, "uint64"), ("mapping_id", 2, "uint64"), ("address", 3, "uint64"), ("line", 4, "Line*")],
    "Function": [
        ("id", 1, "uint64"),
        ("name", 2, "int64"),
        ("system_name", 3, "int64"),
        ("filename", 4, "int64"),
        ("start_line", 5, "int64"),
    ],
    "Profile": [
        ("sample_type", 1, "ValueType*"),
        ("sample", 2, "Sample*"),
        ("mapping", 3, "Mapping*"),
        ("location", 4, "Location*"),
        ("function", 5, "Function*"),
        ("string_table", 6, "string*"),
        ("drop_frames", 7, "int64"),
        ("keep_frames", 8, "int64"),
        ("time_nanos", 9, "int64"),
        ("duration_nanos", 10, "int64"),
        ("period_type", 11, "ValueType"),
        ("period", 12, "int64"),
        ("comment", 13, "int64*"),
        ("default_sample_type", 14, "int64"),
    ],
}


def _pprof_class():
    """Of the messages of pprof's profile.proto, as far as they matter here."""
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for name, fields in _PPROF.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            made = message.field.add(name=field, number=number)
            plain = kind.rstrip("*")
            made.label = made.LABEL_REPEATED if kind.endswith("*") else made.LABEL_OPTIONAL
            if plain in _PPROF:
                made.type, made.type_name = made.TYPE_MESSAGE, f".pprof.{plain}"
            else:
                made.type = getattr(made, f"TYPE_{plain.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))


def pprof(path):
    profile = _pprof_class()()
    profile.ParseFromString(read(path))
    return profile
