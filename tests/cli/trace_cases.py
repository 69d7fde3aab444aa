"""The command trace: files of recordings, of processes that ended and of such that were killed."""

import gzip
import json
import os
import re
import subprocess

from case import FAILED, REFUSED, USAGE, WORK, CliTest

RECORDER = os.environ.get("OPDYNO_RECORDER", "")


def record(name, ranges, end="stop"):
    subprocess.run([RECORDER, WORK / name, str(ranges), end], check=end == "stop")


class TraceFiles(CliTest):
    def test_a_table_has_the_times_by_name(self):
        record("table.events", 3)
        table = self.succeeds("trace", "table", "table.events")
        self.assertRegex(table, r"(?m)^ +answer .* 3 *$")
        self.assertTrue(table.endswith("table.events: 6 spans\n"))

    def test_a_terminal_has_a_summary_and_a_pipe_the_whole_table(self):
        record("screen.events", 3)
        shown = self.on_terminal("trace", "table", "screen.events", NO_COLOR="1").splitlines()
        self.assertRegex(shown[0], r"^Operator +Time +Share +Calls ")
        self.assertEqual({"answer", "request"}, {line.split()[0] for line in shown[1:3]})
        self.assertRegex(shown[-2], r"^(answer|request) takes \d+ % of the time$")
        self.assertEqual("screen.events: 6 spans", shown[-1])
        whole = self.succeeds("trace", "table", "screen.events")
        self.assertEqual(whole, self.on_terminal("trace", "table", "screen.events", "--wide"))
        self.assertIn("Self CPU time total: ", whole)
        self.assertTrue(self.succeeds("trace", "table", "screen.events", "--top", "5").startswith("Operator  "))

    def test_a_table_of_nothing_has_a_header_and_a_sentence(self):
        record("nothing.events", 0)
        for words in ((), ("--wide",), ("--top", "3"), ("--sort", "total")):
            lines = self.succeeds("trace", "table", "nothing.events", *words).splitlines()
            self.assertRegex(lines[0], r"^Operator +Time +Share +Calls")
            self.assertEqual(["No program, operator or range ran while this was recorded.", "nothing.events: 0 spans"], lines[1:])

    def test_the_table_is_sorted_by_what_is_asked_for(self):
        record("sorted.events", 3)
        for key in ("self", "total", "mean", "calls"):
            whole = re.findall(r"(?m)^ +(request|answer) ", self.succeeds("trace", "table", "sorted.events", "--sort", key))
            short = self.succeeds("trace", "table", "sorted.events", "--sort", key, "--top", "2").splitlines()[1:3]
            self.assertEqual(whole, [line.split()[0] for line in short], key)
            self.assertTrue(key in ("self", "calls") or whole[0] == "request", key)  # which contains the answer
        for words, said in (
            (("table", "sorted.events", "--sort", "name"), "--sort"),
            (("table", "sorted.events", "--top", "1", "--wide"), "exclude each other"),
            (("view", "sorted.events", "--top", "1"), "trace view has no --top; table has"),
            (("recover", "sorted.events", "--sort", "self"), "trace recover has no --sort; table has"),
        ):
            self.assertIn(said, self.fails(USAGE, "trace", *words))

    def test_what_a_killed_process_left_is_recovered_in_any_form(self):
        record("killed.events", 2000, "kill")
        self.assertEqual("killed.events.json.gz: 4001 spans\n", self.succeeds("trace", "recover", "killed.events"))
        events = json.loads(gzip.decompress((WORK / "killed.events.json.gz").read_bytes()))["traceEvents"]
        self.assertEqual(4001, sum(event["ph"] == "X" for event in events))
        self.assertEqual(1, sum(event["name"] == "fatal request" for event in events))
        self.succeeds("trace", "recover", "killed.events", "-o", "killed.folded")
        self.assertIn("request;answer ", (WORK / "killed.folded").read_text())
        self.assertIn("request;answer ", self.succeeds("trace", "recover", "killed.events", "-o", "-", "--form", "stacks"))
        record("killed.events", 1)
        self.assertEqual("old.json: 4001 spans\n", self.succeeds("trace", "recover", "killed.events.crashed", "-o", "old.json"))

    def test_damage_is_told(self):
        record("damaged.events", 3000)
        content = bytearray((WORK / "damaged.events").read_bytes())
        content[(1 << 16) + 5000] ^= 1
        (WORK / "damaged.events").write_bytes(content)
        text = self.succeeds("trace", "table", "damaged.events")
        found = re.search(r"^damaged.events: (\d+) spans; (\d+) more found no room, were overwritten or are damaged\n", text)
        self.assertEqual(6000, int(found[1]) + int(found[2]))

    def test_the_page_goes_to_a_file(self):
        record("view.events", 3)
        self.assertEqual("", self.succeeds("trace", "view", "view.events", "-o", "view.html"))
        page = (WORK / "view.html").read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertEqual("view.events.html: 6 spans\n", self.succeeds("trace", "view", "view.events"))
        self.assertEqual(page, (WORK / "view.events.html").read_text())

    def test_several_processes_become_one_trace(self):
        for name in ("rank0.events", "rank1.events"):
            record(name, 3)
        words = ("trace", "merge", "rank0.events", "rank1.events", "--label", "rank 0", "--label", "rank 1")
        self.assertEqual("ranks.json: 12 spans\n", self.succeeds(*words, "-o", "ranks.json"))
        trace = json.loads((WORK / "ranks.json").read_text())
        self.assertEqual(["rank 0", "rank 1"], [process["label"] for process in trace["opdyno_processes"]])
        stacks = self.succeeds(*words, "-o", "-", "--form", "stacks")
        self.assertEqual({"rank_0;request;answer", "rank_1;request;answer"}, set(re.findall(r"rank_\d;request;answer", stacks)))

    def test_two_recordings_are_compared(self):
        record("before.events", 40)
        record("after.events", 40)
        names = json.loads(self.succeeds("diff", "before.events", "after.events", "--as", "json"))["calls"]
        self.assertEqual({"(total)", "request", "answer"}, {row["Name"]["string"] for row in names})
        paths = self.succeeds(
            "diff", "before.events", "after.events", "--by", "path", "--flame", "changes.svg", "--as", "csv")
        self.assertIn("request;answer", paths)
        picture = (WORK / "changes.svg").read_text()
        self.assertTrue(picture.startswith("<svg") and "answer" in picture, picture[:100])

    def test_what_a_comparison_needs_is_told(self):
        record("one.events", 4)
        (WORK / "run.json").write_text('{"calls": []}')
        self.assertIn("takes name or path, not 'stack'", self.fails(USAGE, "diff", "one.events", "one.events", "--by", "stack"))
        for option in (("--by", "path"), ("--flame", "x.svg")):
            self.assertIn("run.json is none", self.fails(USAGE, "diff", "one.events", "run.json", *option))
            self.assertIn("cannot open no.events: No such", self.fails(REFUSED, "diff", "one.events", "no.events", *option))
        self.assertIn("one.events", self.fails(USAGE, "diff", "one.events", "one.events", "--flame", "one.events"))
        several = self.fails(USAGE, "diff", "one.events,one.events", "one.events", "--flame", "x.svg")
        self.assertIn("one recording on each side, not one.events,one.events", several)

    def test_wrong_words_and_files_are_refused(self):
        record("whole.events", 1)
        record("other.events", 1)
        self.assertIn("takes view, recover, table or merge, not 'show'", self.fails(USAGE, "trace", "show", "whole.events"))
        self.assertIn("merge takes several", self.fails(USAGE, "trace", "table", "whole.events", "whole.events"))
        self.assertIn("no --label", self.fails(USAGE, "trace", "view", "whole.events", "--label", "a"))
        self.assertIn("needs --output", self.fails(USAGE, "trace", "merge", "whole.events"))
        twice = self.fails(USAGE, "trace", "merge", "whole.events", "whole.events", "-o", "x.json")
        self.assertIn("0 and 1 are of one recording", twice)
        merge = ("trace", "merge", "whole.events", "other.events", "-o")
        self.assertIn("whole.events", self.fails(USAGE, *merge, "whole.events"))
        self.assertIn("2 files, but 1 --label", self.fails(USAGE, *merge, "x.json", "--label", "a"))
        self.assertIn("label", self.fails(USAGE, *merge, "x.json", "--label", "a", "--label", "a"))
        self.assertIn("no --output", self.fails(USAGE, "trace", "table", "whole.events", "-o", "x.txt"))
        self.assertIn("whole.events", self.fails(USAGE, "trace", "recover", "whole.events", "-o", "whole.events"))
        self.assertIn("none.events", self.fails(REFUSED, "trace", "table", "none.events"))
        (WORK / "text.events").write_text("text")
        self.assertIn("is not a recording", self.fails(REFUSED, "trace", "table", "text.events"))
        self.assertIn("/none/x.json", self.fails(FAILED, "trace", "recover", "whole.events", "-o", "/none/x.json"))
