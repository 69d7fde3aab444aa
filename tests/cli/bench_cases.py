"""The command bench: what is measured, how it is told, and what it refuses."""

import csv
import io
import json
import shutil

from case import FAILED, OK, USAGE, WORK, CliTest, run

# The share of a time that each of 20 repeats adds to it, in another order than their size: a base must not drift.
SCATTER = [7 * i % 20 * 1e-9 for i in range(20)]


class Bench(CliTest):
    def test_the_text_has_all_statistics(self):
        text = self.kernel("add_one.opdasm", "--repeat", "3", "--min-repeat-ms", "1", command="bench").stdout
        self.assertRegex(text, r"^main: 3 repeats of \d+ calls?\n  warm-up: \d+ calls, (until|not)")
        self.assertRegex(text, r"(?m)^  calls/s +\d+$")
        for name in ("min", "median", "mean", "max", "std"):
            self.assertRegex(text, r"(?m)^  %s +[\d.]+ (ns|us|ms|s)$" % name)

    def test_json_has_the_results_of_each_repeat(self):
        report = json.loads(
            self.kernel(
                "add_one.opdasm", "--repeat", "4", "--number", "5", "--min-repeat-ms", "0", "--json", command="bench"
            ).stdout
        )
        self.assertEqual((4, 5, 4), (report["repeat"], report["number"], len(report["results_us"])))
        self.assertLessEqual(report["min_us"], report["median_us"])
        self.assertLessEqual(report["median_us"], report["max_us"])
        self.assertAlmostEqual(sum(report["results_us"]) / 4, report["mean_us"])

    def test_the_machine_and_the_noise_are_told(self):
        words = ("add_one.opdasm", "--min-repeat-ms", "0", "--repeat")
        report = json.loads(self.kernel(*words, "8", "--json", command="bench").stdout)
        self.assertEqual({"governor", "turbo", "quota", "steal", "load"}, set(report["quality"]))
        self.assertTrue(all(report["quality"].values()))  # at least "unknown"
        if "median_low_us" in report:  # repeats that drift have no interval
            self.assertLessEqual(report["median_low_us"], report["median_us"])
            self.assertLessEqual(report["median_us"], report["median_high_us"])
        self.assertIn(report["noisy"], (True, False))
        self.assertLessEqual(report["p95_us"], report["p99_us"])
        text = self.kernel(*words, "8", command="bench").stdout
        self.assertRegex(text, r"(?m)^  outliers: \d+, autocorrelation: [\d.]+$")
        self.assertRegex(text, r"(?m)^  machine: governor .*, turbo .*, quota .*, steal .*, load ")
        self.assertIn("Too few repeats to say", self.kernel(*words, "2", command="bench").stdout)

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
        older = {name: base[name] for name in base if name not in ("arguments", "threads")}
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
            ("concurrency", 0, "concurrency is no whole number from 1"),
            ("concurrency", -3, "concurrency is no whole number from 1"),
            ("concurrency", "2", "concurrency is no whole number from 1"),
            ("threads", 1.5, "threads is no whole number from 1"),
            ("flushed_bytes", 1e300, "flushed_bytes is no whole number from 0"),
            ("function", 7, "function is no text"),
            ("arguments", "x", "arguments holds something else than texts"),
            ("arguments", ["x", 1], "arguments holds something else than texts"),
        ):
            (WORK / "base.json").write_text(json.dumps({"results_us": [1.0], member: wrong}))
            self.assertIn("base.json: " + message, self.fails(FAILED, "bench", "m", "--compare", "base.json"))
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
        answer = self.kernel("symbolic.opdasm", *fast, *words, "--json", command="bench", expect=1)
        self.assertIn("n=8: call is slower by", answer.stderr)
        for row in json.loads(answer.stdout)["rows"]:
            self.assertEqual({"verdict", "change", "interval"}, set(row["compare"]))
            self.assertEqual("regression", row["compare"]["verdict"])
            self.assertLess(row["compare"]["interval"][0], row["compare"]["interval"][1])
            self.assertGreater(row["compare"]["change"], 1)
        answer = self.kernel("symbolic.opdasm", *fast, *words, "--csv", command="bench", expect=1)
        for row in csv.DictReader(io.StringIO(answer.stdout)):
            self.assertEqual("regression", row["verdict"])
            self.assertLess(float(row["change_low"]), float(row["change_high"]))
        (WORK / "base.json").write_text(json.dumps({"results_us": [1.0]}))
        words = ("--dim", "n=1", "--json")
        report = json.loads(self.kernel("symbolic.opdasm", *fast, *words, command="bench").stdout)
        self.assertEqual("undecided", report["compare"]["verdict"])  # of one run there is no interval
        self.assertNotIn("interval", report["compare"])
        self.assertNotIn("compare", json.loads(self.sweep("--dim", "n=1", "--json").stdout))

    def test_the_warm_up_is_bounded_and_told(self):
        words = ("--repeat", "1", "--number", "2", "--min-repeat-ms", "0", "--warmup")
        text = self.kernel("add_one.opdasm", *words, "7", command="bench").stdout
        self.assertIn("\n  warm-up: 7 calls\n", text)
        report = json.loads(self.kernel("add_one.opdasm", *words, "0", "--json", command="bench").stdout)
        self.assertEqual((0, 2, False), (report["warmup_calls"], report["number"], "steady" in report))
        # A call takes 2 ms and so outlasts the millisecond: there is one before the search and one within it.
        words = ("--repeat", "1", "--min-repeat-ms", "0", "--warmup", "steady:1ms")
        text = self.kernel("naps.opdasm", *words, command="bench").stdout
        self.assertIn("\n  warm-up: 2 calls, not steady after 0.001 s (!): later calls", text)
        for wrong in ("-1", "often", "steady:", "steady:soon"):
            message = self.fails(USAGE, "bench", "m", "--warmup", wrong)
            self.assertIn("'--warmup' takes a number of calls, steady or steady:TIME", message)

    def test_threads_call_at_once(self):
        words = ("--repeat", "4", "--number", "3", "--min-repeat-ms", "0", "--warmup", "1", "--concurrency", "3")
        report = json.loads(self.kernel("add_one.opdasm", *words, "--json", command="bench").stdout)
        self.assertEqual((3, 3, 12), (report["concurrency"], report["warmup_calls"], len(report["results_us"])))
        # No repeat is shorter than its slowest thread, and each makes 9 calls.
        slowest = [max(report["results_us"][3 * i : 3 * i + 3]) * 3e-6 for i in range(4)]
        self.assertLessEqual(report["calls_per_second"], 36 / sum(slowest) * (1 + 1e-9))
        self.assertGreater(report["calls_per_second"], 0)
        text = self.kernel("add_one.opdasm", *words, command="bench").stdout
        self.assertIn("4 repeats of 3 calls by each of 3 threads", text)
        self.assertIn("always does", self.kernel("fails.opdasm", *words, command="bench", expect=FAILED).stderr)
        plain = self.fails(USAGE, "bench", "kernels.c", "add_one", "-i", "2xf32", "-i", "2xf32", "--concurrency", "2")
        self.assertIn("--concurrency is for VM programs", plain)

    def test_a_deadline_ends_all_threads(self):
        words = ("--timeout", "300ms", "--concurrency", "3")
        self.assertIn("deadline", self.kernel("loops.opdasm", *words, command="bench", expect=FAILED).stderr)
        message = self.kernel("hangs.opdasm", *words, command="bench", expect=FAILED).stderr
        self.assertIn("operator 'hangs' was still running 0.3 s after the start", message)

    def test_cold_calls_are_measured_one_by_one(self):
        words = ("add_one.opdasm", "--repeat", "3", "--warmup", "1")
        report = json.loads(self.kernel(*words, "--flush-cache=1M", "--json", command="bench").stdout)
        self.assertEqual((1 << 20, 1, 3), (report["flushed_bytes"], report["number"], len(report["results_us"])))
        text = self.kernel(*words, "--flush-cache=1536K", command="bench").stdout
        self.assertIn("before each call 1.5 MiB were copied", text)
        default = run("bench", "add_one.opdasm", "--repeat=1", "--import", "kernels.c", "--flush-cache", "--json")
        if default.returncode == OK:
            self.assertGreaterEqual(json.loads(default.stdout)["flushed_bytes"], 1 << 18)  # no last-level cache is smaller
        else:  # not told by the system, or larger than the memory
            self.assertRegex(default.stderr, "does not tell how large|are available; give less")
        for wrong, message in (
            (("--number", "2"), "--number and --min-repeat-ms do not go with it"),
            (("--min-repeat-ms", "5"), "--number and --min-repeat-ms do not go with it"),
            (("--concurrency", "2"), "exclude each other"),
        ):
            self.assertIn(message, self.fails(USAGE, "bench", "m", "--flush-cache=1M", *wrong))
        self.assertIn("takes a size as", self.fails(USAGE, "bench", "m", "--flush-cache=much"))
        self.assertIn("are available; give less", self.fails(USAGE, "bench", "m", "--flush-cache=1000000G"))

    def sweep(self, *words, expect=OK):
        fast = ("--repeat", "6", "--number", "2", "--min-repeat-ms", "0", "--warmup", "1")
        return self.kernel("symbolic.opdasm", *fast, *words, command="bench", expect=expect)

    def test_a_sweep_has_a_row_for_each_size(self):
        report = json.loads(self.sweep("--sweep", "n=3,1:8:x2,10:20:5", "--json").stdout)
        self.assertEqual([{"n": n} for n in (3, 1, 2, 4, 8, 10, 15, 20)], [row["sizes"] for row in report["rows"]])
        for row in report["rows"]:
            self.assertEqual((6, 2, 1), (len(row["results_us"]), row["number"], row["warmup_calls"]))
            self.assertLessEqual(row["min_us"], row["median_us"])
        rows = list(csv.DictReader(io.StringIO(self.sweep("--sweep", "n=1,8", "--csv").stdout)))
        self.assertEqual([("main", "1"), ("main", "8")], [(row["function"], row["n"]) for row in rows])
        text = self.sweep("--sweep", "n=1,8").stdout
        self.assertRegex(text, r"(?m)^ +n +median +95 % interval +p99 +calls/s$")
        for size in (1, 8):
            self.assertRegex(text, r"(?m)^ +%d +[\d.]+ [num]?s +" % size)

    def test_a_sweep_reaches_the_inputs_shapes(self):
        words = ("bench", "kernels.c", "add_one", "-i", "nxf32", "-i", "nxmxf32", "--repeat", "1", "--min-repeat-ms", "0")
        report = json.loads(
            self.succeeds(*words, "--warmup", "1", "--sweep", "n=1,2", "--sweep", "m=3,4", "--json"))
        self.assertEqual([{"n": n, "m": m} for n in (1, 2) for m in (3, 4)], [row["sizes"] for row in report["rows"]])
        # Only if the size arrives there can it be refused.
        self.assertIn("9223372036854775807", self.sweep("--sweep", "n=9223372036854775807", expect=FAILED).stderr)

    def test_sweeps_that_make_no_sense_are_refused(self):
        for wrong in ("n", "=3", "n=", "n=-1", "n=4:1", "n=1:8:x1", "n=0:8:x2", "n=1:8:0", "n=1:2:3:4", "n=1,,2"):
            self.assertIn("takes a name and sizes as", self.fails(USAGE, "bench", "m", "--sweep", wrong), wrong)
        self.assertIn("names a size twice", self.fails(USAGE, "bench", "m", "--sweep", "n=1:4,2"))
        self.assertIn("more than 1000 sizes", self.fails(USAGE, "bench", "m", "--sweep", "n=1:1001"))
        self.assertIn(
            "more than 1000 combinations", self.fails(USAGE, "bench", "m", "--sweep", "n=1:40", "--sweep", "m=1:40"))
        self.assertIn("given twice for n", self.fails(USAGE, "bench", "m", "--sweep", "n=1", "--sweep", "n=2"))
        message = self.sweep("--sweep", "k=1", "--dim", "n=1", expect=USAGE).stderr
        self.assertIn("option '--sweep': no size is called 'k'", message)
        self.assertIn("by --dim and --sweep", self.sweep("--sweep", "n=1", "--dim", "n=1", expect=USAGE).stderr)
        message = "option '--sweep' says n=8, but parameter x of main is given an argument with n=4"
        self.assertIn(message, self.sweep("--sweep", "n=8", "-i", "4xf32", expect=USAGE).stderr)

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

    def test_csv_has_one_row(self):
        text = self.kernel(
            "add_one.opdasm", "--repeat", "2", "--min-repeat-ms", "0", "--csv", "--timeout", "1m", command="bench"
        ).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(("main", "2"), (rows[0]["function"], rows[0]["repeat"]))
        self.assertEqual(1, len(rows))

    def test_plain_functions_and_wrong_numbers(self):
        self.succeeds(
            "bench", "kernels.c", "add_one", "-i", "2xf32", "-i", "2xf32", "--repeat", "1", "--min-repeat-ms", "0"
        )
        self.assertIn(
            "'--repeat' takes an integer from 1",
            self.kernel("add_one.opdasm", "--repeat", "0", command="bench", expect=USAGE).stderr,
        )
        self.assertIn("always does", self.kernel("fails.opdasm", command="bench", expect=FAILED).stderr)
