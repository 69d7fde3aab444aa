"""The command bench: what is measured, how it is told, and what it refuses."""

import csv
import io
import json
import os
from pathlib import Path

from case import FAILED, OK, USAGE, WORK, CliTest, compile_kernels, run


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

    def test_the_times_of_other_machines_are_told_if_the_kernel_counts_them(self):
        words = ("add_one.opdasm", "--min-repeat-ms", "100", "--repeat", "3", "--json")  # in which the kernel's ticks rise
        quality = json.loads(self.kernel(*words, command="bench").stdout)["quality"]
        fields = Path("/proc/stat").read_text().split("\n")[0].split()
        self.assertRegex(quality["steal"], r"^\d+\.\d %$" if len(fields) > 8 else "unknown")
        self.assertRegex(quality["load"], r"^\d+\.\d\d on %d processors$" % len(os.sched_getaffinity(0)))

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
        how = {"command": "bench", "expect": FAILED, "library": compile_kernels("kernels.so")}
        self.assertIn("deadline", self.kernel("loops.opdasm", *words, **how).stderr)
        message = self.kernel("hangs.opdasm", *words, **how).stderr
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
            self.assertRegex(default.stderr, "does not report the size|are available; give less")
        for wrong, message in (
            (("--number", "2"), "--number and --min-repeat-ms do not go with it"),
            (("--min-repeat-ms", "5"), "--number and --min-repeat-ms do not go with it"),
            (("--concurrency", "2"), "exclude each other"),
        ):
            self.assertIn(message, self.fails(USAGE, "bench", "m", "--flush-cache=1M", *wrong))
        self.assertIn("takes a size as", self.fails(USAGE, "bench", "m", "--flush-cache=much"))
        self.assertIn("are available; give less", self.fails(USAGE, "bench", "m", "--flush-cache=1000000G"))

    def test_the_machines_files_tell_its_state_and_its_cache(self):
        root = WORK / "bench_machine"
        cpu = "sys/devices/system/cpu/"
        for path, content in {
            cpu + "intel_pstate/no_turbo": "0\n", cpu + "cpu0/cpufreq/scaling_governor": "powersave\n",
            cpu + "cpu0/cache/index0/level": "1\n", cpu + "cpu0/cache/index0/size": "48K\n",
            cpu + "cpu0/cache/index3/level": "3\n", cpu + "cpu0/cache/index3/size": "3M\n",
            "sys/fs/cgroup/cpu.max": "50000 100000\n", "proc/loadavg": "0.25 1.00 1.00 1/2 3\n",
        }.items():  # fmt: skip
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
        count = len(os.sched_getaffinity(0))
        words = ("bench", "add_one.opdasm", "--import", "kernels.c", "--repeat", "2", "--warmup", "1", "--flush-cache")
        environment = dict(os.environ, OPDYNO_SYSTEM_ROOT=str(root))
        report = json.loads(self.succeeds(*words, "--json", env=environment))
        self.assertEqual(3 << 20, report["flushed_bytes"])
        self.assertEqual(
            {"governor": "powersave", "turbo": "on", "quota": "0.5 processors", "steal": "unknown", "load": "0.25 on %d processors" % count},
            report["quality"])
        text = self.succeeds(*words, env=environment)
        self.assertIn("\n  cold: before each call 3 MiB were copied\n", text)
        self.assertIn("\n  machine: governor powersave (!), turbo on (!), quota 0.5 processors (!), steal unknown, load 0.25 on %d processors\n" % count, text)

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

    def test_csv_has_one_row(self):
        text = self.kernel(
            "add_one.opdasm", "--repeat", "2", "--min-repeat-ms", "0", "--csv", "--timeout", "1m", command="bench"
        ).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(("main", "2"), (rows[0]["function"], rows[0]["repeat"]))
        self.assertEqual(1, len(rows))
        (WORK / "comma.opdasm").write_text('.func "a, \\"b\\""(x) {\n  ret %x\n}\n')
        words = ("bench", "comma.opdasm", 'a, "b"', "-i", "i64=1", "--repeat", "1", "--min-repeat-ms", "0", "--csv")
        (row,) = csv.DictReader(io.StringIO(self.succeeds(*words)))
        self.assertEqual('a, "b"', row["function"])

    def test_plain_functions_and_wrong_numbers(self):
        self.succeeds(
            "bench", "kernels.c", "add_one", "-i", "2xf32", "-i", "2xf32", "--repeat", "1", "--min-repeat-ms", "0"
        )
        self.assertIn(
            "'--repeat' takes an integer from 1",
            self.kernel("add_one.opdasm", "--repeat", "0", command="bench", expect=USAGE).stderr,
        )
        self.assertIn(
            "'--concurrency' takes an integer from 1 to 1024, not '1025'",
            self.kernel("add_one.opdasm", "--concurrency", "1025", command="bench", expect=USAGE).stderr,
        )
        self.assertIn("always does", self.kernel("fails.opdasm", command="bench", expect=FAILED).stderr)
