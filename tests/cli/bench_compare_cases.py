"""The command bench against an earlier result: what changed, where it is told, and which bases are refused."""

import csv
import io
import json
import shutil

from case import FAILED, OK, USAGE, WORK, CliTest

# The share of a time that each of 20 repeats adds to it, in another order than their size: a base must not drift.
SCATTER = [7 * i % 20 * 1e-9 for i in range(20)]


class BenchCompare(CliTest):
    def sweep(self, *words, expect=OK):
        fast = ("--repeat", "6", "--number", "2", "--min-repeat-ms", "0", "--warmup", "1")
        return self.kernel("symbolic.opdasm", *fast, *words, command="bench", expect=expect)

    def test_a_benchmark_is_compared_with_an_earlier_one(self):
        def compare(base, *words, expect=OK):
            (WORK / "base.json").write_text(json.dumps(base))
            return self.kernel("add_one.opdasm", "--min-repeat-ms", "0", "--repeat", "20", "--compare", "base.json",
                               *words, command="bench", expect=expect)

        hour, picosecond = [[us * (1 + more) for more in SCATTER] for us in (3.6e9, 1e-6)]
        text = compare({"results_us": hour}, "--fail-above", "3%").stdout
        self.assertRegex(text, r"(?m)^call .* improvement +20 \+ 20$")
        answer = compare({"results_us": picosecond}, "--fail-above", "3%", expect=1)
        self.assertIn("opdyno bench: call is slower by", answer.stderr)
        self.assertIn("lacks results_us", compare({}, expect=FAILED).stderr)
        for option in ("--fail-above", "--min-effect"):
            self.assertIn(option + " needs --compare", self.fails(USAGE, "bench", "m", option, "3%"))

    def test_a_base_that_was_measured_in_another_way_is_refused(self):
        def bench(*words, function="add_one", size="2", dim=None, expect=OK, module="kernels.c"):
            shape = ("-i", "nxf32", "-i", "nxf32", "--dim", "n=" + dim) if dim else ("-i", size + "xf32") * 2
            return self.check(expect, "bench", module, function, *shape, "--repeat", "6", "--min-repeat-ms", "0",
                              "--warmup", "1", *words)

        def make_base(*words, **settings):
            (WORK / "base.json").write_text(bench("--threads", "2", "--json", *words, **settings).stdout)

        def refusal(*words, **settings):
            return bench("--compare", "base.json", "--threads", "2", *words, expect=USAGE, **settings).stderr

        make_base()
        base = json.loads((WORK / "base.json").read_text())
        self.assertEqual((["float32[2]"] * 2, 2), (base["arguments"], base["threads"]))
        bench("--compare", "base.json", "--threads", "2")
        bench("--compare", "base.json", "--threads", "2", dim="2")  # the same sizes, said in another way
        (WORK / "build").mkdir()
        shutil.copy(WORK / "kernels.c", WORK / "build" / "changed.c")
        bench("--compare", "base.json", "--threads", "2", module="build/changed.c")  # builds are what is compared
        message = "base.json was measured with other arguments: float32[2], float32[2], not float32[4], float32[4]\n"
        self.assertIn(message, refusal(size="4"))
        self.assertIn(message, refusal(dim="4"))
        self.assertIn("measured the function add_one, not fails", refusal(function="fails"))
        self.assertIn("with 2 threads of parallel kernels, not 1; compare it with --threads 2",
                      bench("--compare", "base.json", "--threads", "1", expect=USAGE).stderr)
        self.assertIn("warm caches; compare it without --flush-cache", self.fails(
            USAGE, "bench", "m", "--compare", "base.json", "--flush-cache=1M"))
        (WORK / "base.json").write_text(json.dumps({**base, "flushed_bytes": 2 << 20}))
        self.assertIn("compare it with --flush-cache=2097152", self.fails(
            USAGE, "bench", "m", "--compare", "base.json", "--flush-cache=1M"))
        (WORK / "base.json").write_text(json.dumps({**base, "clock": "device"}))
        self.assertIn("base.json was measured by the device's clock, not by the host's", refusal())
        older = {name: base[name] for name in base if name not in ("arguments", "threads", "clock")}
        (WORK / "base.json").write_text(json.dumps(older))
        bench("--compare", "base.json", "--threads", "1", size="4")
        rows = json.loads(self.sweep("--sweep", "n=1,8", "--json").stdout)
        self.assertEqual([["float32[1]"], ["float32[8]"]], [row["arguments"] for row in rows["rows"]])
        rows["rows"][1]["arguments"] = ["float16[8]"]
        (WORK / "base.json").write_text(json.dumps(rows))
        self.assertIn("with other arguments at n=8: float16[8], not float32[8]",
                      self.sweep("--sweep", "n=1,8", "--compare", "base.json", expect=USAGE).stderr)

    def test_a_base_of_nonsense_is_refused(self):
        for member, wrong, message in (
            ("concurrency", 0, "concurrency is not a whole number from 1 to 9007199254740992"),
            ("flushed_bytes", -1, "flushed_bytes is not a whole number from 0 to 9007199254740992"),
            ("flushed_bytes", 2**53 + 2, "flushed_bytes is not a whole number from 0 to 9007199254740992"),
            ("clock", 3, "clock is not text"),
            ("concurrency", -3, "concurrency is not a whole number from 1"),
            ("concurrency", "2", "concurrency is not a whole number from 1"),
            ("threads", 1.5, "threads is not a whole number from 1"),
            ("flushed_bytes", 1e300, "flushed_bytes is not a whole number from 0"),
            ("function", 7, "function is not text"),
            ("arguments", "x", "arguments holds something else than texts"),
            ("arguments", ["x", 1], "arguments holds something else than texts"),
        ):
            (WORK / "base.json").write_text(json.dumps({"results_us": [1.0], member: wrong}))
            self.assertIn("base.json: " + message, self.fails(FAILED, "bench", "m", "--compare", "base.json"))
        for settings in {"flushed_bytes": 0}, {"threads": 1}, {"arguments": ["float32[4]"]}, {"function": "main"}, {}:
            (WORK / "base.json").write_text(json.dumps({"results_us": [1.0], **settings}))
            self.kernel("add_one.opdasm", "--repeat", "2", "--min-repeat-ms", "0", "--warmup", "1", "--threads", "1", "--compare",
                        "base.json", command="bench")
        (WORK / "base.json").write_text(json.dumps({"results_us": [1.0], "arguments": []}))
        message = self.kernel("add_one.opdasm", "--compare", "base.json", command="bench", expect=USAGE).stderr
        self.assertIn("base.json was measured with other arguments: no arguments, not float32[4]\n", message)
        (WORK / "base.json").write_text(json.dumps({"results_us": [1.0], "threads": 2**53}))
        message = self.kernel("add_one.opdasm", "--threads", "1", "--compare", "base.json", command="bench", expect=USAGE).stderr
        self.assertIn("was measured with 9007199254740992 threads of parallel kernels, not 1; compare it with --threads", message)
        (WORK / "base.json").write_text(json.dumps({"results_us": [1e300 * (1 + i / 10) for i in range(6)]}))
        text = self.kernel("add_one.opdasm", "--repeat", "6", "--min-repeat-ms", "0", "--warmup", "1", "--compare",
                           "base.json", command="bench").stdout
        self.assertRegex(text, r"(?m)^call +1\.25e\+300 ")
        (WORK / "base.json").write_text(json.dumps({"function": "a\x1b[2J\nb", "results_us": [1.0]}))
        message = self.kernel("add_one.opdasm", "--compare", "base.json", command="bench", expect=USAGE).stderr
        self.assertIn("measured the function a [2J b, not main", message)

    def test_json_and_csv_have_the_comparison(self):
        fast = ("--number", "2", "--min-repeat-ms", "0", "--warmup", "1", "--repeat", "20", "--compare", "base.json")
        picosecond = [1e-6 * (1 + more) for more in SCATTER]
        rows = [{"sizes": {"n": n}, "results_us": picosecond} for n in (1, 8)]
        words = ("--fail-above", "3%", "--sweep", "n=1,8")
        (WORK / "base.json").write_text(json.dumps({"rows": rows}))
        printed, columns = [], []  # there is none where repeats drift, which they do not always
        for _attempt in range(20):
            if printed and columns:
                break
            answer = self.kernel("symbolic.opdasm", *fast, *words, "--json", command="bench", expect=1)
            self.assertIn("n=8: call is slower by", answer.stderr)
            for row in json.loads(answer.stdout)["rows"]:
                self.assertEqual("regression", row["compare"]["verdict"])
                self.assertGreater(row["compare"]["change"], 1)
                printed += [row["compare"]["interval"]] if "interval" in row["compare"] else []
            answer = self.kernel("symbolic.opdasm", *fast, *words, "--csv", command="bench", expect=1)
            for row in csv.DictReader(io.StringIO(answer.stdout)):
                self.assertEqual("regression", row["verdict"])
                self.assertGreater(float(row["change"]), 1)
                columns += [(float(row["change_low"]), float(row["change_high"]))] if row["change_low"] else []
        self.assertTrue(printed and columns)
        for low, high in printed + columns:
            self.assertLessEqual(low, high)
        (WORK / "base.json").write_text(json.dumps({"results_us": [1.0]}))
        words = ("--dim", "n=1", "--json")
        report = json.loads(self.kernel("symbolic.opdasm", *fast, *words, command="bench").stdout)
        self.assertEqual("undecided", report["compare"]["verdict"])  # of one run there is no interval
        self.assertNotIn("interval", report["compare"])
        self.assertNotIn("compare", json.loads(self.sweep("--dim", "n=1", "--json").stdout))

    def test_a_sweep_is_compared_row_by_row(self):
        def base(microseconds, **settings):
            results = {n: [us * (1 + more) for more in SCATTER] for n, us in microseconds.items()}
            rows = [{"sizes": {"n": n}, "results_us": results[n]} for n in results]
            (WORK / "base.json").write_text(json.dumps({"rows": rows, **settings}))

        hour, picosecond = 3.6e9, 1e-6
        fast = ("--number", "2", "--min-repeat-ms", "0", "--warmup", "1", "--repeat", "20", "--compare", "base.json",
                "--fail-above", "3%")

        def compare(*words, expect):
            return self.kernel("symbolic.opdasm", *fast, *words, command="bench", expect=expect)

        base({1: hour, 8: picosecond})
        answer = compare("--sweep", "n=1,8", expect=1)
        self.assertRegex(answer.stdout, r"(?m)^n=1:\n.*\ncall .* improvement +20 \+ 20$")
        self.assertRegex(answer.stdout, r"(?m)^n=8:\n.*\ncall .* regression +20 \+ 20$")
        self.assertIn("opdyno bench, n=8: call is slower by", answer.stderr)
        self.assertNotIn("n=1:", answer.stderr)
        compare("--sweep", "n=1", expect=OK)
        base({0: hour})
        compare("--sweep", "n=0", expect=OK)
        base({-1: hour})
        self.assertIn("something else than sizes", compare("--sweep", "n=1", expect=FAILED).stderr)
        base({1: hour, 8: picosecond})
        self.assertIn("has no row for n=2", compare("--sweep", "n=1,2", expect=USAGE).stderr)
        self.assertIn("compare it with the same --sweep", compare("--dim", "n=1", expect=USAGE).stderr)
        base({1: hour}, concurrency=4)
        self.assertIn("compare it with --concurrency 4", compare("--sweep", "n=1", expect=USAGE).stderr)
        base({1: hour}, concurrency=3)
        message = compare("--sweep", "n=1", "--concurrency", "3", expect=FAILED).stderr
        self.assertIn("results_us has 20 results of 3 threads", message)
        base({1: hour}, concurrency=2)
        two = compare("--sweep", "n=1", "--concurrency", "2", expect=OK).stdout
        self.assertRegex(two, r"(?m)^call .* improvement +10 \+ 20$")  # a repeat each
        times = [us for more in SCATTER[:10] for us in (picosecond, 2 * hour * (1 + more))]  # of two threads by turns
        rows = [{"sizes": {"n": 1}, "results_us": times}]
        (WORK / "base.json").write_text(json.dumps({"rows": rows, "concurrency": 2}))
        two = compare("--sweep", "n=1", "--concurrency", "2", expect=OK).stdout
        self.assertRegex(two, r"(?m)^call .* improvement +10 \+ 20$")
        base({1: hour}, flushed_bytes=4096)
        self.assertIn("compare it with --flush-cache", compare("--sweep", "n=1", expect=USAGE).stderr)
        (WORK / "base.json").write_text(json.dumps({"results_us": [1.0]}))
        self.assertIn("compare it without --sweep", compare("--sweep", "n=1", expect=USAGE).stderr)
        for rows, message in (
            ([{"sizes": {"n": "1"}, "results_us": [1]}], "sizes holds something else than sizes"),
            ([{"sizes": {"n": 1}}], "lacks results_us"),
            ([{"sizes": {"n": 1}, "results_us": ["1"]}], "results_us holds something else than numbers"),
        ):
            (WORK / "base.json").write_text(json.dumps({"rows": rows}))
            self.assertIn(message, compare("--sweep", "n=1", expect=FAILED).stderr)
