"""The packed forms of traces, read back as their formats say: Perfetto's packets and pprof's profile."""

import gzip
import json
import re
from collections import Counter

from case import WORK, CliTest
from protobuf import Message
from trace_cases import record

STATE_CLEARED, NEEDS_STATE = 1, 2
BEGIN, END = 1, 2


class TraceForms(CliTest):
    def recovered(self, name, ranges, *forms):
        """What the recording is in Chrome's form, and the bytes of the others."""
        record(name, ranges)
        files = []
        for form in ("json",) + forms:
            self.succeeds("trace", "recover", name, "-o", "packed." + form)
            files.append((WORK / ("packed." + form)).read_bytes())
        events = [event for event in json.loads(files[0])["traceEvents"] if event["ph"] == "X"]
        return sorted(events, key=lambda event: (event["ts"], -event["dur"], event["name"] == "answer")), *files[1:]

    def test_perfettos_packets_have_the_spans_at_their_times(self):
        events, data = self.recovered("perfetto.events", 50, "pftrace")
        packets = Message(data).messages(1)
        self.assertTrue(all(10 in packet for packet in packets), "each packet belongs to a sequence")
        tracks = {track.number(1): track for track in (packet.message(60) for packet in packets if 60 in packet)}
        processes = [track for track in tracks.values() if 3 in track]
        threads = [track for track in tracks.values() if 4 in track]
        self.assertEqual(["cli.recorder"], [track.message(3).text(6) for track in processes])
        pid = processes[0].message(3).number(1)
        self.assertEqual([(pid, pid)], [(track.message(4).number(1), track.message(4).number(2)) for track in threads])
        self.assertEqual({event["pid"] for event in events}, {pid})
        for track in threads:
            self.assertIn(track.number(5), tracks, "a thread's track lies in its process's")

        names, now, default, spans, open_spans = {}, {}, {}, [], []
        for packet in packets:
            sequence = packet.number(10)
            if packet.number(13) & STATE_CLEARED:
                names[sequence] = {}
                default[sequence] = packet.message(59).message(11).number(11)
                (now[sequence],) = [c.number(2) for c in packet.message(6).messages(1) if c.number(1) == 64]
                self.assertEqual(64, packet.message(59).number(58), "times count on that sequence's clock")
            for text in packet.message(12).messages(2):
                names[sequence][text.number(1)] = text.text(2)
            if 11 not in packet:
                continue
            self.assertEqual(NEEDS_STATE, packet.number(13))
            now[sequence] += packet.number(8)
            event = packet.message(11)
            self.assertIn(event.number(11, default[sequence]), tracks)
            if event.number(9) == BEGIN:
                open_spans.append((names[sequence][event.number(10)], now[sequence]))
            else:
                self.assertEqual(END, event.number(9))
                name, begin = open_spans.pop()
                spans.append((begin, name, now[sequence] - begin))
        self.assertEqual([], open_spans)
        spans.sort(key=lambda span: (span[0], -span[2], span[1] == "answer"))
        self.assertEqual(["request", "answer"] * 50, [name for _, name, _ in spans])
        first = min(event["ts"] for event in events)
        for (begin, name, length), event in zip(spans, events):
            self.assertEqual(event["name"], name)
            self.assertAlmostEqual(event["ts"] - first, (begin - spans[0][0]) / 1e3, delta=0.002)
            self.assertAlmostEqual(event["dur"], length / 1e3, delta=0.002)

    def test_a_profile_for_pprof_has_calls_and_own_time_of_each_stack(self):
        events, data = self.recovered("pprof.events", 50, "pb.gz")
        profile = Message(gzip.decompress(data))
        texts = profile.texts(6)
        self.assertEqual("", texts[0])
        self.assertEqual(len(texts), len(set(texts)))
        self.assertEqual([("calls", "count"), ("time", "nanoseconds")],
                         [(texts[kind.number(1)], texts[kind.number(2)]) for kind in profile.messages(1)])
        functions = {function.number(1): texts[function.number(2)] for function in profile.messages(5)}
        places = {place.number(1): functions[place.message(4).number(1)] for place in profile.messages(4)}
        self.assertNotIn(0, places, "0 is no number of a location")
        samples = {tuple(places[one] for one in sample.numbers(1)): sample.numbers(2) for sample in profile.messages(2)}
        self.assertEqual({("request",), ("answer", "request")}, set(samples), "from the innermost on")
        total = Counter()
        for event in events:
            total[event["name"]] += event["dur"] * 1e3
        self.assertEqual([50, 50], [samples["request",][0], samples["answer", "request"][0]])
        self.assertAlmostEqual(total["answer"], samples["answer", "request"][1], delta=100)
        self.assertAlmostEqual(total["request"] - total["answer"], samples["request",][1], delta=100)
        last = max(event["ts"] + event["dur"] for event in events)
        self.assertAlmostEqual(last - events[0]["ts"], profile.number(10) / 1e3, delta=0.002)

    def test_stacks_have_own_time_of_each_stack(self):
        record("folded.events", 50)
        stacks = self.succeeds("trace", "recover", "folded.events", "-o", "-", "--form", "stacks")
        self.assertEqual(["request", "request;answer"],
                         sorted(re.sub(r" \d+$", "", line) for line in stacks.splitlines()))
