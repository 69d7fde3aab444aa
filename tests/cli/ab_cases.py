"""The command ab. Programs differ by so much that no machine is too noisy to see it, or are given too few turns."""

import json
import os
import subprocess

import programs
from case import *

CALL = "  call spin(%x, %t)\n"
QUICK = programs.ADD_ONE.replace("  call add_one(%x, %t)\n", CALL)
SLOW = QUICK.replace(CALL, 10 * CALL)
SPIN = """int __tvm_ffi_NAME(void *self, void *args, int count, void *result) {
  for (int i = 0; i < COUNT; ++i) __asm__ volatile("");
  return 0;
}
"""


class Ab(CliTest):
    @classmethod
    def setUpClass(cls):
        assert SLOW != QUICK != programs.ADD_ONE
        (WORK / "spin.c").write_text(SPIN.replace("NAME", "spin").replace("COUNT", "100000"))
        (WORK / "quick.opdasm").write_text(QUICK)
        (WORK / "slow.opdasm").write_text(SLOW)

    def ab(self, *words, expect=OK):
        return self.check(expect, "ab", *words, "--import", "spin.c")

    def test_a_slower_program_is_told_in_one_sentence_and_fails_above_the_limit(self):
        answer = self.ab("quick.opdasm", "slow.opdasm", "--fail-above", "50%", expect=MISMATCH)
        self.assertRegex(answer.stdout, r"^B is \d+\.\d % (± |to )\d+\.\d % slower; .*spin \+\d+ %")
        self.assertRegex(answer.stdout, r"\n\(\d+ turns of \d+ calls? each, \d+\.\d s\)\n$")
        self.assertNotIn("nothing got slower", answer.stdout)
        self.assertIn("opdyno ab: (total) is slower by +", answer.stderr)

    def test_a_faster_program_passes_with_a_table(self):
        text = self.ab("slow.opdasm", "quick.opdasm", "main", "-i", "4xf32=1", "--fail-above", "3%", "--as", "table").stdout
        self.assertRegex(text, r"^B is \d+\.\d % (± |to )\d+\.\d % faster; ")
        self.assertRegex(text, r"\nspin .* improvement ")
        self.assertRegex(text, r"not called equally often; .*\n +10 -> 1  spin ")

    def test_the_result_is_a_report_of_pairs(self):
        report = json.loads(self.ab("quick.opdasm", "slow.opdasm", "--as", "json").stdout)
        self.assertEqual({"string": "regression"}, report["configuration"]["Verdict"])
        self.assertEqual({"count": 1}, report["configuration"]["Paired"])
        self.assertGreaterEqual(report["configuration"]["Runs before"]["count"], 10)
        self.assertLess(report["configuration"]["Level"]["ratio"], 0.05)  # it allows for further looks
        self.assertEqual("total", report["calls"][0]["Kind"]["string"])

    def test_three_turns_tell_nothing(self):
        text = self.ab("quick.opdasm", "quick.opdasm", "--runs", "3", "--fail-above", "1%").stdout
        self.assertTrue(text.startswith("too few runs to tell which is faster"), text)
        self.assertIn("(3 turns of ", text)

    def test_each_form_has_the_same_rows(self):
        words = ("quick.opdasm", "quick.opdasm", "--runs", "2", "--as")
        effort = r"too few runs to tell which is faster; \d+ operators? undecided\n\(2 turns of \d+ calls? each, \d+\.\d s\)\n"
        self.assertRegex(self.ab(*words, "sentence").stdout, "^" + effort + "$")
        table, markdown = self.ab(*words, "table").stdout, self.ab(*words, "markdown").stdout
        self.assertRegex(table, "^" + effort + r"\nOperator +Before \(us\) ")
        self.assertRegex(markdown, "^" + effort + r"\n\| Operator \| Before \(us\) \|")
        self.assertRegex(self.ab(*words, "csv").stdout, r"^[^\n]*\bVerdict\b[^\n]*\n")
        self.assertEqual({"count": 2}, json.loads(self.ab(*words, "json").stdout)["configuration"]["Runs after"])

    def test_operators_are_told_apart_by_their_shapes_and_devices(self):
        report = json.loads(self.ab("quick.opdasm", "quick.opdasm", "--runs", "2", "--as", "json").stdout)
        spin = next(call for call in report["calls"] if call["Name"]["string"] == "spin")
        self.assertEqual("float32[4], float32[4]", spin["Argument Shapes"]["string"])
        self.assertEqual("cpu0", spin["Device"]["string"])
        names = [call["Name"]["string"] for call in report["calls"]]
        self.assertEqual(1, names.count("(dispatch)"))
        self.assertNotIn("(profiler)", names, "what measuring took is no part of the program")

    def test_plain_functions_can_be_compared(self):
        for name, count in (("few.c", "1000"), ("many.c", "100000")):
            (WORK / name).write_text(SPIN.replace("NAME", "turn").replace("COUNT", count))
        text = self.succeeds("ab", "few.c", "many.c", "turn")
        self.assertRegex(text, r"^B is \d+\.\d % (± |to ).* slower")

    def test_a_turn_has_one_call_if_that_takes_longer_than_it(self):
        dozes = "#include <unistd.h>\nint __tvm_ffi_doze(void *a, void *b, int c, void *d) { return usleep(4000); }\n"
        (WORK / "dozes.c").write_text(dozes)
        text = self.succeeds("ab", "dozes.c", "dozes.c", "doze", "--runs", "1")
        self.assertRegex(text, r"^too few runs to tell which is faster(; .*)?\n\(1 turn of 1 call each, \d+\.\d s\)\n$")
        report = json.loads(self.succeeds("ab", "dozes.c", "dozes.c", "doze", "--runs", "2", "--as", "json"))
        self.assertEqual(({"count": 2}, {"count": 2}), tuple(report["configuration"]["Runs " + when] for when in ("before", "after")))
        for row in report["calls"]:
            self.assertEqual("doze", row["Name"]["string"])
            self.assertGreaterEqual(row["Before (us)"]["microseconds"], 4000)
            self.assertGreaterEqual(row["After (us)"]["microseconds"], 4000)

    def test_looks_beyond_the_last_turn_are_not_paid_for(self):
        dozes = "#include <unistd.h>\nint __tvm_ffi_doze(void *a, void *b, int c, void *d) { return usleep(30000); }\n"
        (WORK / "dozes30.c").write_text(dozes)  # so that ten turns take more than the second before which no look is
        for runs, looks in (9, 1), (10, 1), (11, 2):
            report = json.loads(self.succeeds("ab", "dozes30.c", "dozes30.c", "doze", "--runs", str(runs), "--min-effect", "0", "--as", "json"))
            configuration = report["configuration"]
            if configuration["Runs after"]["count"] == runs:  # unless what came by chance was clear before
                self.assertAlmostEqual(0.05 / 2**looks, configuration["Level"]["ratio"])

    def test_each_program_is_measured_in_several_processes_at_different_addresses(self):
        tells = """#include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int __tvm_ffi_tell(void *a, void *b, int c, void *d) {
          static void *heap;
          int stack = 0;
          if (heap) return 0;
          heap = malloc(20000);
          FILE *file = fopen(getenv("OPDYNO_TEST_LIVES"), "a");
          fprintf(file, "%d %p %p\\n", getpid(), heap, (void *)&stack);
          return fclose(file);
        }
        """
        (WORK / "tells.c").write_text(tells)
        for name in "tells_a.so", "tells_b.so":  # libraries, which are loaded at once
            subprocess.run([COMPILER, "-shared", "-fPIC", "tells.c", "-o", name], cwd=WORK, check=True)
        lives = WORK / "lives"
        lives.unlink(missing_ok=True)
        self.succeeds("ab", "tells_a.so", "tells_b.so", "tell", "--budget", "2s", env=os.environ | {"OPDYNO_TEST_LIVES": str(lives)})
        processes, *places = zip(*(line.split() for line in lives.read_text().splitlines()))
        self.assertGreaterEqual(len(processes), 4)
        self.assertEqual(len(processes), len(set(processes)))
        self.assertGreater(len(set(zip(*places))), len(processes) // 2, places)

    def test_what_fails_names_the_program(self):
        self.assertIn("A (absent.so): ", self.ab("absent.so", "quick.opdasm", expect=REFUSED).stderr)
        self.assertIn("B (absent.so): ", self.ab("quick.opdasm", "absent.so", expect=REFUSED).stderr)
        self.assertIn("no function 'other'", self.ab("quick.opdasm", "quick.opdasm", "other", expect=USAGE).stderr)
        (WORK / "dies.c").write_text("#include <stdlib.h>\nint __tvm_ffi_die(void *a, void *b, int c, void *d) { abort(); }\n")
        self.assertIn("A (dies.c): its process ended by signal 6", self.fails(FAILED, "ab", "dies.c", "dies.c", "die"))
        (WORK / "leaves.c").write_text("#include <unistd.h>\nint __tvm_ffi_leave(void *a, void *b, int c, void *d) { _exit(7); }\n")
        self.assertEqual(
            "opdyno ab: A (leaves.c): its process ended with exit code 7\n", self.fails(FAILED, "ab", "leaves.c", "leaves.c", "leave"))
        (WORK / "leaves.c").write_text("""#include <unistd.h>
            int __tvm_ffi_leave(void *a, void *b, int c, void *d) { static int calls; if (calls++ > 5000) _exit(100); return 0; }""")
        self.assertEqual(
            "opdyno ab: A (leaves.c): its process ended with exit code 100\n", self.fails(FAILED, "ab", "leaves.c", "leaves.c", "leave"))
        self.assertIn("option '--runs' takes an integer from 1 to 1000000, not '0'", self.fails(USAGE, "ab", "a", "b", "--runs", "0"))
        self.assertIn("takes sentence, table", self.fails(USAGE, "ab", "a", "b", "--as", "html"))
        self.assertIn("write 5%", self.fails(USAGE, "ab", "a", "b", "--fail-above", "5"))
