#!/usr/bin/env python3
"""Tests of the opdyno program from outside: every command, option, exit code and message that its help promises.

    cli_test.py PROGRAM [unittest arguments]
"""

import csv
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import npy
import programs

HERE = Path(__file__).resolve().parent
OPDYNO = None  # path of the program, from the command line
OK, MISMATCH, USAGE, REFUSED, FAILED = range(5)


def setUpModule():
    global WORK
    WORK = Path(tempfile.mkdtemp(prefix="opdyno-cli-"))
    os.environ["OPDYNO_CACHE_DIR"] = str(WORK / "cache")
    shutil.copy(HERE / "kernels.c", WORK)
    for name, text in vars(programs).items():
        if name.isupper() and isinstance(text, str) and ".executable" in text:
            (WORK / (name.lower() + ".opdasm")).write_text(text)
    (WORK / "x.npy").write_bytes(npy.dump([4], [1, 2, 3, 4]))
    npy.save(WORK / "two.npz", x=([4], [5, 6, 7, 8]), weight=([4], [10, 20, 30, 40]))


def tearDownModule():
    shutil.rmtree(WORK)


def run(*words, stdin=None, **settings):
    """Runs the program in the work folder; gives what subprocess.run gives, with text output."""
    return subprocess.run([OPDYNO, *words], cwd=WORK, input=stdin, capture_output=True, text=True, timeout=120,
                          **settings)


class CliTest(unittest.TestCase):
    def check(self, code, *words, **settings):
        result = run(*words, **settings)
        self.assertEqual(code, result.returncode, "%s\n%s%s" % (words, result.stdout, result.stderr))
        if code == OK:
            self.assertEqual("", result.stderr)
        return result

    def succeeds(self, *words, **settings):
        return self.check(OK, *words, **settings).stdout

    def fails(self, code, *words, **settings):
        result = self.check(code, *words, **settings)
        self.assertTrue(result.stderr.startswith("opdyno"), result.stderr)
        self.assertTrue(result.stderr.endswith("\n"))
        return result.stderr

    def kernel(self, *words, command="run", expect=OK):
        return self.check(expect, command, *words, "--import", "kernels.c")

    def numbers(self, *words):
        """The elements of the only output."""
        outputs = json.loads(self.kernel(*words, "--json").stdout)["outputs"]
        self.assertEqual(["out"], list(outputs))
        return outputs["out"]["data"]


class Help(CliTest):
    def test_without_words_the_help_goes_to_stderr(self):
        result = self.check(USAGE)
        self.assertEqual("", result.stdout)
        self.assertIn("Usage: opdyno COMMAND", result.stderr)

    def test_help_lists_every_command_and_the_exit_codes(self):
        for words in (["help"], ["--help"], ["-h"]):
            text = self.succeeds(*words)
            for command in ("info", "inspect", "run", "bench", "profile", "as", "dis"):
                self.assertRegex(text, r"(?m)^  %s\b" % command)
            self.assertIn("Exit codes: 0 ok, 1", text)

    def test_help_of_a_command_shows_its_options_by_both_ways(self):
        for command, option in (("run", "--expect"), ("bench", "--number"), ("profile", "--chrome"), ("info", "--json"),
                                ("inspect", "--import"), ("as", "--help"), ("dis", "--output")):
            text = self.succeeds("help", command)
            self.assertIn("Usage: opdyno " + command, text)
            self.assertIn(option, text)
            self.assertEqual(text, self.succeeds(command, "--help"))

    def test_help_fits_into_120_columns(self):
        for words in (["help"], ["help", "run"], ["help", "profile"]):
            for line in self.succeeds(*words).splitlines():
                self.assertLessEqual(len(line), 120, line)

    def test_version_tells_features(self):
        text = self.succeeds("--version")
        self.assertRegex(text, r"^opdyno \d+\.\d+\.\d+\n")
        self.assertIn("features: cpu", text)
        self.assertIn("not built in:", text)

    def test_unknown_commands_and_options_name_the_near_miss(self):
        self.assertIn("there is no command 'rnu'. Did you mean 'run'?", self.fails(USAGE, "rnu"))
        self.assertIn("there is no command 'profil'. Did you mean 'profile'?", self.fails(USAGE, "help", "profil"))
        self.assertIn("unknown option '--versoin'. Did you mean '--version'?", self.fails(USAGE, "--versoin"))
        self.assertIn("unknown option '--exepct'. Did you mean '--expect'?", self.fails(USAGE, "run", "m", "--exepct", "f"))
        message = self.fails(USAGE, "run", "m", "-z")
        self.assertIn("unknown option '-z'", message)
        self.assertIn("Try 'opdyno help run'", message)

    def test_options_are_checked_for_their_values(self):
        self.assertIn("takes no value", self.fails(USAGE, "info", "--json=yes"))
        self.assertIn("needs a value: --seed N", self.fails(USAGE, "run", "m", "--seed"))
        self.assertIn("given twice", self.fails(USAGE, "run", "m", "--seed", "1", "--seed=2"))
        self.assertIn("expected MOD [FN] after 'run', found nothing", self.fails(USAGE, "run"))
        self.assertIn("expected no words after 'info', found a b", self.fails(USAGE, "info", "a", "b"))
        self.assertIn("exclude each other", self.fails(USAGE, "run", "m", "--json", "--csv"))
        self.assertIn("exclude each other", self.fails(USAGE, "bench", "m", "--json", "--csv"))
        self.assertIn("exclude each other", self.fails(USAGE, "profile", "m", "--sort", "--no-sort"))
        self.assertIn("needs --expect", self.fails(USAGE, "run", "m", "--rtol", "1"))


class Info(CliTest):
    def test_text_names_the_cpu_and_the_releases(self):
        text = self.succeeds("info")
        self.assertIn("cpu:0", text)
        self.assertRegex(text, r"loads artefacts of TVM .*0\.27")
        self.assertRegex(text, r"threads: \d+")

    def test_json_is_one_document(self):
        info = json.loads(self.succeeds("info", "--json", "--functions"))
        self.assertEqual("cpu:0", info["devices"][0]["device"])
        self.assertTrue(info["build"]["features"]["cpu"])
        self.assertIsInstance(info["functions"], list)


class Inspect(CliTest):
    def test_text_shows_functions_imports_and_needs(self):
        text = self.succeeds("inspect", "symbolic.opdasm", "--import", "kernels.c")
        self.assertTrue(text.startswith("relax.VMExecutable\n"), text)
        self.assertIn("main(x: float32[n])", text)
        self.assertRegex(text, r"(?m)^  imports:\n    \w+")
        self.assertRegex(text, r"(?m)^  needs: add_one\n  builtins: .*make_tuple")

    def test_json_has_the_program_and_the_tree(self):
        module = json.loads(self.succeeds("inspect", "with_weight.opdasm", "--import", "kernels.c", "--json"))
        self.assertEqual("relax.VMExecutable", module["kind"])
        self.assertEqual(["x", "weight"], [param["name"] for param in module["program"]["functions"][0]["params"]])
        self.assertIn("add_one", module["imports"][0]["functions"])

    def test_c_sources_are_modules_of_kernels(self):
        self.assertIn("add_one", self.succeeds("inspect", "kernels.c"))

    def test_what_cannot_be_loaded_is_refused(self):
        (WORK / "short.vmexec").write_bytes(b"\x1e\x15\x14B/\xde%\xd2\x04")
        (WORK / "broken.c").write_text("int broken(void) { return nothing_like_this; }\n")
        self.assertIn("absent.so", self.fails(REFUSED, "inspect", "absent.so"))
        self.assertIn("absent.opdasm", self.fails(REFUSED, "inspect", "absent.opdasm"))
        self.assertIn("short.vmexec", self.fails(REFUSED, "inspect", "short.vmexec"))
        self.assertIn("nothing_like_this", self.fails(REFUSED, "inspect", "broken.c"))
        self.assertIn("absent.c", self.fails(REFUSED, "inspect", "add_one.opdasm", "--import", "absent.c"))
        self.assertIn("--copy' takes always", self.fails(USAGE, "inspect", "kernels.c", "--copy", "maybe"))


class Assembly(CliTest):
    def test_as_and_dis_round_trip(self):
        self.assertEqual("", self.succeeds("as", "symbolic.opdasm", "symbolic.vmexec"))
        text = self.succeeds("dis", "symbolic.vmexec")
        self.assertIn(".func main(x)", text)
        self.succeeds("dis", "symbolic.vmexec", "-o", "again.opdasm")
        self.assertEqual(text, (WORK / "again.opdasm").read_text())
        self.succeeds("as", "again.opdasm", "again.vmexec")
        self.assertEqual((WORK / "symbolic.vmexec").read_bytes(), (WORK / "again.vmexec").read_bytes())
        self.assertEqual(text, self.succeeds("dis", "again.opdasm"))

    def test_standard_streams_stand_for_files(self):
        binary = subprocess.run([OPDYNO, "as", "-", "-"], input=programs.ADD_ONE.encode(), capture_output=True, check=True).stdout
        text = subprocess.run([OPDYNO, "dis", "-"], input=binary, capture_output=True, check=True).stdout.decode()
        self.assertIn("call add_one(", text)

    def test_a_mistake_in_the_text_is_refused_with_its_place(self):
        self.assertRegex(self.fails(REFUSED, "as", "bad_text.opdasm", "bad.vmexec"), r"bad_text\.opdasm: .*line 3.*\n")
        self.assertFalse((WORK / "bad.vmexec").exists())
        self.assertIn("line 3", self.fails(REFUSED, "run", "bad_text.opdasm"))
        self.assertIn("no VM program", self.fails(REFUSED, "dis", "kernels.c"))

    def test_files_that_cannot_be_read_or_written_are_errors(self):
        self.assertIn("cannot open absent.opdasm: No such file", self.fails(FAILED, "as", "absent.opdasm", "out.vmexec"))
        self.assertIn("cannot write", self.fails(FAILED, "as", "add_one.opdasm", "absent/out.vmexec"))
        self.assertIn("No space left", self.fails(FAILED, "as", "add_one.opdasm", "/dev/full"))


class Run(CliTest):
    def test_a_program_is_called_with_given_numbers(self):
        self.assertEqual([2, 3, 4.5, 5], self.numbers("add_one.opdasm", "-i", "4xf32=1,2,3.5,4"))

    def test_the_text_shows_type_and_elements(self):
        text = self.kernel("add_one.opdasm", "-i", "4xf32=1,2,3.5,400").stdout
        self.assertEqual("out: float32[4]\n[  2   3 4.5 401]\n", text)

    def test_all_kinds_of_module_run(self):
        self.succeeds("as", "add_one.opdasm", "add_one.vmexec")
        self.assertEqual([1] * 4, self.numbers("add_one.vmexec", "-i", "4xf32=0"))
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "kernels.so", "kernels.c"], cwd=WORK, check=True)
        out = self.succeeds("run", "add_one.vmexec", "-i", "4xf32=0", "--import", "kernels.so", "--csv")
        self.assertEqual("output,index,value\nout,0,1\nout,1,1\nout,2,1\nout,3,1\n", out)
        self.assertIn("[1 1]", self.succeeds("run", "kernels.so", "add_one", "-i", "2xf32=0", "-i", "2xf32"))

    def test_c_flags_reach_the_compiler(self):
        (WORK / "flag.c").write_text("#ifndef WANTED\n#error not wanted\n#endif\n" + (WORK / "kernels.c").read_text())
        self.assertIn("not wanted", self.fails(REFUSED, "inspect", "flag.c"))
        self.succeeds("inspect", "flag.c", "--c-flags", "-O1 -DWANTED")

    def test_libraries_may_be_used_in_place(self):
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "in_place.so", "kernels.c"], cwd=WORK, check=True)
        for policy in ("always", "when-shared", "never"):
            self.succeeds("run", "add_one.opdasm", "-i", "4xf32=0", "--import", "./in_place.so", "--copy", policy)

    def test_main_or_the_only_function_is_chosen(self):
        message = self.kernel("two_functions.opdasm", expect=USAGE).stderr
        self.assertIn("no function main; name one of its functions after it: first, second", message)
        self.assertEqual(4, len(self.numbers("two_functions.opdasm", "second")))
        message = self.kernel("two_functions.opdasm", "secnod", expect=USAGE).stderr
        self.assertIn("no function 'secnod'. Did you mean 'second'?", message)

    def test_missing_kernels_are_named(self):
        self.assertIn("nobody_has_this", self.fails(REFUSED, "run", "needs_missing.opdasm"))

    def test_errors_of_a_kernel_end_with_4(self):
        self.assertIn("fails: it always does", self.kernel("fails.opdasm", expect=FAILED).stderr)

    def test_arguments_that_do_not_fit_are_told_with_their_parameter(self):
        message = self.kernel("add_one.opdasm", "-i", "5xf32", expect=FAILED).stderr
        self.assertIn("x must be float32[4]", message)


class Inputs(CliTest):
    def echo(self, spec, *words):
        return self.numbers("identity.opdasm", "-i", spec, *words)

    def test_fills(self):
        self.assertEqual([0] * 4, self.echo("4xf32=0"))
        self.assertEqual([1.5] * 4, self.echo("2x2xf32=1.5"))
        self.assertEqual([-2, 1e3], self.echo("2xf32=-2,1e3"))
        self.assertEqual([0, 1, 2, 3, 4, 5], self.echo("2x3xf32=range"))
        self.assertEqual([1, 2, 3, 4], self.echo("4xf32=@x.npy"))
        self.assertEqual([1, 2, 3, 4], self.echo("@x.npy"))
        self.assertEqual([5, 6, 7, 8], self.echo("4xf32=@two.npz:x"))
        self.assertEqual([10, 20, 30, 40], self.echo("@two.npz:weight"))
        self.assertEqual([2.5], self.echo("0dxf32=2.5"))
        self.assertEqual([7, 7], self.echo("nxf32=7", "--dim", "n=2"))
        self.assertEqual([3] * 4, self.echo("x:4xfloat32=3"))

    def test_a_file_may_have_a_colon_in_its_name(self):
        (WORK / "a:b.npy").write_bytes(npy.dump([2], [8, 9]))
        self.assertEqual([8, 9], self.echo("@a:b.npy"))

    def test_random_numbers_depend_on_the_seed_alone(self):
        def random(*words):
            return self.numbers("with_weight.opdasm", "-i", "weight:4xf32=0", *words)

        # SplitMix64 as published, one stream per parameter; computed here a second time.
        def splitmix(seed, stream, count):
            mask = 2**64 - 1
            state = seed

            def step():
                nonlocal state
                state = (state + 0x9E3779B97F4A7C15) & mask
                z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & mask
                z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
                return z ^ z >> 31

            state = step() ^ (stream * 0xD1342543DE82EF95 & mask)
            return [struct.unpack("f", struct.pack("f", (step() >> 11) * 2.0**-53))[0] for _ in range(count)]

        for got, wanted in zip(random("--seed", "7"), splitmix(7, 0, 4)):
            self.assertAlmostEqual(wanted, got, places=6)
        self.assertEqual(random(), random("--seed", "0"))
        self.assertNotEqual(random(), random("--seed", "1"))

    def test_random_ranges(self):
        numbers = self.echo("1000xf32=rand(-3,-2)")
        self.assertTrue(all(-3 <= number <= -2 for number in numbers))
        self.assertGreater(max(numbers) - min(numbers), 0.9)
        self.assertEqual([4, 4], self.echo("2xf32=rand(4,4)"))

    def test_integers_halves_and_booleans_are_shown_as_they_are(self):
        def show(spec):
            return self.succeeds("run", "identity.opdasm", "-i", spec)

        self.assertEqual("out: int8[3]\n[-128    0  127]\n", show("3xi8=-128,0,127"))
        self.assertEqual("out: uint64[1]\n[9223372036854775807]\n", show("1xu64=9223372036854775807"))
        self.assertEqual("out: bool[2]\n[false  true]\n", show("2xbool=0,1"))
        self.assertEqual("out: float16[4]\n[  0.0999756       65504         inf 5.96046e-08]\n",
                         show("4xf16=0.1,65504,65520,6e-8"))
        self.assertEqual("out: bfloat16[2]\n[1.00781 3.14062]\n", show("2xbf16=1.0078125,3.14"))
        self.assertEqual("out: float64[2, 2]\n[[0.5   1]\n [  2 nan]]\n", show("2x2xf64=0.5,1,2,nan"))
        self.assertEqual("out: 7\n", show("i64=7"))
        self.assertEqual("out: true\n", show("bool=true"))
        self.assertIn("0.5", show("f64=0.5"))
        self.assertIn("hello", show("str=hello"))
        self.assertIn("2, 3", show("shape(2,3)"))
        self.assertIn("None", show("none"))
        self.assertEqual("out: float32[0, 2]\n[]\n", show("0x2xf32"))
        self.assertEqual("out: float32[]\n1.5\n", show("0dxf32=1.5"))
        self.assertEqual("out_0: int32[2]\n[5 5]\nout_1: 3\n", show("tuple(2xi32=5;i64=3)"))

    def test_large_tensors_lose_their_middle(self):
        text = self.succeeds("run", "identity.opdasm", "-i", "50x40xi32=range")
        self.assertEqual("[[   0    1    2 ...   37   38   39]\n", text[text.index("[["):].splitlines(True)[0])
        self.assertIn("\n ...\n", text)
        self.assertNotIn(" 3 ", text)
        self.assertIn(" 3 ", self.succeeds("run", "identity.opdasm", "-i", "50x40xi32=range", "--full"))
        self.assertNotIn("data", json.loads(self.succeeds("run", "identity.opdasm", "-i", "50x40xi32", "--json"))["outputs"]["out"])
        full = json.loads(self.succeeds("run", "identity.opdasm", "-i", "50x40xi32=range", "--json", "--full"))
        self.assertEqual(list(range(2000)), full["outputs"]["out"]["data"])

    def test_parameters_are_bound_by_name(self):
        self.assertEqual([15, 26, 37, 48], self.numbers("with_weight.opdasm", "--params", "two.npz"))
        self.assertEqual([10, 20, 30, 40], self.numbers("with_weight.opdasm", "--params", "two.npz", "-i", "x:4xf32=0"))
        npy.save(WORK / "weight.npz", weight=([4], [10, 20, 30, 40]))
        self.assertEqual([11, 21, 31, 41], self.numbers("with_weight.opdasm", "--params", "weight.npz", "-i", "4xf32=1"))
        npy.save(WORK / "other.npz", bias=([4], [1, 2, 3, 4]))
        self.assertIn("has no tensor with the name of a parameter of main (x, weight)",
                      self.kernel("with_weight.opdasm", "--params", "other.npz", expect=USAGE).stderr)

    def test_open_sizes_come_from_dim_or_from_other_inputs(self):
        message = self.kernel("symbolic.opdasm", expect=USAGE).stderr
        self.assertIn("parameter x of main has the shape [n]; pass the size of n, as in --dim n=4", message)
        text = self.kernel("symbolic.opdasm", "--dim", "n=3").stdout
        self.assertIn("out_0: float32[3]", text)
        self.assertIn("out_1_0: 3\n", text)
        self.assertIn("no size is called 'm' here.",
                      self.kernel("symbolic.opdasm", "--dim", "n=3", "--dim", "m=4", expect=USAGE).stderr)

    def test_shapes_and_sizes_are_guessed_too(self):
        text = self.succeeds("run", "shapes.opdasm", "--dim", "n0=2", "--dim", "n1=5")
        self.assertRegex(text, r"out_0: .*2, 5")
        self.assertIn("out_1: 2\n", text)
        self.assertIn("out_1: 3\n", self.succeeds("run", "shapes.opdasm", "-i", "shape(3,4)"))

    def test_what_cannot_be_guessed_is_asked_for(self):
        message = self.kernel("unchecked.opdasm", expect=USAGE).stderr
        self.assertIn("parameter x of main", message)
        self.assertIn("-i x:2x3xf32", message)

    def test_mistakes_name_the_input(self):
        def mistake(spec, *words):
            message = self.kernel("unchecked.opdasm", "-i", spec, *words, expect=USAGE).stderr
            self.assertIn(spec, message)
            return message

        self.assertIn("is no type", mistake("4xg32"))
        self.assertIn("is no type", mistake("4y8xf32"))
        self.assertIn("is no type", mistake("-4xf32"))
        self.assertIn("write 0dxf32", mistake("f32=1"))
        self.assertIn("is no number", mistake("4xf32=one"))
        self.assertIn("2 numbers are given for 4 elements", mistake("4xf32=1,2"))
        self.assertIn("300 does not fit", mistake("4xi8=300"))
        self.assertIn("0.5 does not fit", mistake("4xi8=0.5"))
        self.assertIn("300 does not fit", mistake("4xu8=rand(0,300)"))
        self.assertIn("no integer lies between", mistake("4xu8=rand(0.25,0.75)"))
        self.assertIn("the lower first", mistake("4xf32=rand(2,1)"))
        self.assertIn("i64=7", mistake("i64=seven"))
        self.assertIn("f64=0.5", mistake("f64"))
        self.assertIn("bool=true", mistake("bool=maybe"))
        self.assertIn("shape(2,3)", mistake("shape(2,n)"))
        self.assertIn("file name must follow", mistake("@"))
        self.assertIn("--dim n=4", mistake("nxf32"))
        self.assertIn("holds float32[4], not float32[5]", mistake("5xf32=@x.npy"))
        self.assertIn("holds float32[4], not int32[4]", mistake("4xi32=@x.npy"))
        self.assertIn("holds 2 tensors; name one as @two.npz:KEY (x, weight)", mistake("@two.npz"))
        self.assertIn("wieght", mistake("@two.npz:wieght"))
        self.assertIn("has no parameter 'y'. ", mistake("y:4xf32"))
        self.assertIn("no parameter left", mistake("4xf32=2", "-i", "4xf32=2"))
        message = self.kernel("unchecked.opdasm", "-i", "x:4xf32=2", "-i", "x:4xf32", expect=USAGE).stderr
        self.assertIn("parameter x of main is given twice", message)
        message = self.kernel("unchecked.opdasm", "--dim", "n=x", expect=USAGE).stderr
        self.assertIn("'--dim' takes a name and a size as n=4, not 'n=x'", message)

    def test_files_that_cannot_be_read_end_with_4(self):
        self.assertIn("absent.npy", self.kernel("unchecked.opdasm", "-i", "@absent.npy", expect=FAILED).stderr)
        (WORK / "short.npy").write_bytes(npy.dump([4], [1, 2, 3, 4])[:-3])
        self.assertIn("short.npy", self.kernel("unchecked.opdasm", "-i", "@short.npy", expect=FAILED).stderr)


class Plain(CliTest):
    """Kernels outside a program."""

    def test_the_last_tensor_is_the_result(self):
        text = self.succeeds("run", "kernels.c", "add_one", "-i", "2xf32=1,2", "-i", "2xf32=0")
        self.assertEqual("out: float32[2]\n[2 3]\n", text)

    def test_results_can_be_chosen(self):
        words = ["run", "kernels.c", "two", "-i", "2xf32=1,2", "-i", "2xf32", "-i", "2xf32"]
        self.assertEqual("out: float32[2]\n[-1 -2]\n", self.succeeds(*words))
        self.assertEqual("out: float32[2]\n[2 4]\n", self.succeeds(*words, "--out-arg", "1"))
        self.assertEqual("out_0: float32[2]\n[2 4]\nout_1: float32[2]\n[-1 -2]\n",
                         self.succeeds(*words, "--out-arg", "1", "--out-arg", "-1"))
        self.assertIn("not '3'", self.fails(USAGE, *words, "--out-arg", "3"))

    def test_a_returned_value_is_the_result(self):
        self.assertEqual("out: 42\n", self.succeeds("run", "kernels.c", "sum_of", "-i", "i64=40", "-i", "f64=2.5"))

    def test_kernels_of_a_program_can_be_called_alone(self):
        text = self.kernel("add_one.opdasm", "add", "-i", "2xf32=1", "-i", "2xf32=2", "-i", "2xf32").stdout
        self.assertIn("[3 3]", text)

    def test_misuse_is_told(self):
        message = self.fails(USAGE, "run", "kernels.c")
        self.assertIn("no function main; name one of its functions after it: ", message)
        self.assertIn("add_one", self.fails(USAGE, "run", "kernels.c", "add_noe"))
        self.assertIn("have no names; leave out 'x:'", self.fails(USAGE, "run", "kernels.c", "add_one", "-i", "x:2xf32"))
        self.assertIn("is for plain functions", self.kernel("add_one.opdasm", "--out-arg", "0", expect=USAGE).stderr)
        self.assertIn("is a plain function", self.fails(USAGE, "profile", "kernels.c", "add_one", "-i", "2xf32", "-i", "2xf32"))
        self.assertIn("it always does", self.fails(FAILED, "run", "kernels.c", "fails"))


class Results(CliTest):
    def test_nested_results_are_saved_by_their_path(self):
        text = self.kernel("symbolic.opdasm", "-i", "3xf32=1,2,3", "-o", "nested.npz").stdout
        self.assertEqual("out_0: float32[3]\nout_1_0: 3\nout_1_1: float32[3]\n", text)
        saved = npy.load(WORK / "nested.npz")
        self.assertEqual({"out_0": ("<f4", (3,), [2, 3, 4]), "out_1_0": ("<i8", (), [3]), "out_1_1": ("<f4", (3,), [2, 3, 4])}, saved)

    def test_what_was_saved_is_what_is_expected(self):
        words = ["symbolic.opdasm", "-i", "3xf32=1,2,3"]
        self.kernel(*words, "-o", "nested.npz")
        text = self.kernel(*words, "--expect", "nested.npz").stdout
        self.assertIn("out_1_1: as expected (largest difference 0)", text)
        result = self.kernel("symbolic.opdasm", "-i", "3xf32=1,2,4", "--expect", "nested.npz", expect=MISMATCH)
        self.assertIn("out_0: 1 of 3 elements differ, worst at [2]: got 5, expected 4, off by 1", result.stderr)
        report = json.loads(self.kernel("symbolic.opdasm", "-i", "3xf32=1,2,4", "--expect", "nested.npz", "--json", expect=MISMATCH).stdout)
        self.assertEqual({"out_0": False, "out_1_0": True, "out_1_1": False}, {name: one["ok"] for name, one in report["comparisons"].items()})

    def test_tolerances(self):
        words = ["add_one.opdasm", "-i", "4xf32=0,1,2,3", "--expect", "near.npz"]
        npy.save(WORK / "near.npz", out=([4], [1, 2, 3, 4.001]))
        self.assertIn("worst at [3]", self.kernel(*words, expect=MISMATCH).stderr)
        self.kernel(*words, "--rtol", "1e-3", "--atol", "0")
        self.kernel(*words, "--atol", "0.01", "--rtol", "0")
        self.kernel(*words, "--atol", "0.0009", "--rtol", "0", expect=MISMATCH)
        self.assertIn("'--rtol' takes a number", self.kernel(*words, "--rtol", "x", expect=USAGE).stderr)

    def test_integers_are_exact_unless_a_tolerance_is_given(self):
        words = ["run", "identity.opdasm", "-i", "2xi64=1000000000,5", "--expect", "ints.npz"]
        npy.save(WORK / "ints.npz", out=([2], [1000000001, 5], "<i8"))
        self.assertIn("1 of 2", self.fails(MISMATCH, *words))
        self.succeeds(*words, "--atol", "1")

    def test_nan_and_infinities(self):
        words = ["add_one.opdasm", "-i", "4xf32=nan,inf,-inf,0", "--expect", "special.npz"]
        npy.save(WORK / "special.npz", out=([4], [float("nan"), float("inf"), float("-inf"), 1]))
        self.assertIn("1 of 4 elements differ, worst at [0]: got nan, expected nan", self.kernel(*words, expect=MISMATCH).stderr)
        self.kernel(*words, "--equal-nan")
        npy.save(WORK / "special.npz", out=([4], [0, float("-inf"), 0, 1]))
        self.assertIn("3 of 4", self.kernel(*words, "--equal-nan", expect=MISMATCH).stderr)

    def test_a_prefix_selects_keys(self):
        words = ["add_one.opdasm", "-i", "4xf32=0"]
        npy.save(WORK / "calls.npz", main__out=([4], [1, 1, 1, 1]), main__in_0=([4], [0] * 4), other__out=([4], [9] * 4))
        self.kernel(*words, "--expect", "calls.npz:main")
        self.assertIn("4 of 4", self.kernel(*words, "--expect", "calls.npz:other", expect=MISMATCH).stderr)
        self.assertIn("has no tensor absent/out", self.kernel(*words, "--expect", "calls.npz:absent", expect=FAILED).stderr)
        self.assertIn("missing.npz", self.kernel(*words, "--expect", "missing.npz", expect=FAILED).stderr)

    def test_what_does_not_fit_as_a_whole_is_told(self):
        words = ["add_one.opdasm", "-i", "4xf32=0", "--expect", "shape.npz"]
        npy.save(WORK / "shape.npz", out=([2, 2], [1, 1, 1, 1]))
        self.assertIn("got float32[4], expected float32[2, 2]", self.kernel(*words, expect=MISMATCH).stderr)
        npy.save(WORK / "shape.npz", out=([4], [1, 1, 1, 1], "<i4"))
        self.assertIn("got float32[4], expected int32[4]", self.kernel(*words, expect=MISMATCH).stderr)
        npy.save(WORK / "shape.npz", out_0=([4], [1, 1, 1, 1]))
        message = self.kernel(*words, expect=MISMATCH).stderr
        self.assertIn("out: is not in shape.npz", message)
        self.assertIn("out_0: is in shape.npz, but the function does not return it", message)

    def test_bfloat16_survives_a_file_that_does_not_know_it(self):
        words = ["run", "identity.opdasm", "-i", "2xbf16=1.5,3.14"]
        self.succeeds(*words, "-o", "bf16.npz")
        self.assertIn("as expected", self.succeeds(*words, "--expect", "bf16.npz"))
        self.assertIn("as expected", self.succeeds("run", "identity.opdasm", "-i", "2xbf16=@bf16.npz:out", "--expect", "bf16.npz"))
        self.assertIn("worst at [1]: got 2, expected 3.140625, off by 1.141",
                      self.fails(MISMATCH, "run", "identity.opdasm", "-i", "2xbf16=1.5,2", "--expect", "bf16.npz"))

    def test_broken_pipes_and_full_disks_are_errors(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([OPDYNO, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((FAILED, "opdyno: cannot write to standard output: No space left on device\n"), (result.returncode, result.stderr))
        reading, writing = os.pipe()
        os.close(reading)
        result = subprocess.run([OPDYNO, "info"], stdout=writing, stderr=subprocess.PIPE, text=True)
        os.close(writing)
        self.assertEqual(FAILED, result.returncode)
        self.assertIn("Broken pipe", result.stderr)
        self.assertIn("absent", self.kernel("add_one.opdasm", "-o", "absent/out.npz", expect=FAILED).stderr)


class Settings(CliTest):
    def test_devices(self):
        self.kernel("add_one.opdasm", "--device", "cpu:0")
        self.assertIn("'--device'", self.kernel("add_one.opdasm", "--device", "gpux", expect=USAGE).stderr)
        self.kernel("add_one.opdasm", "--device", "cuda:7", expect=FAILED)

    def test_memory_limit(self):
        self.kernel("add_one.opdasm", "--memory-limit", "1M")
        self.kernel("add_one.opdasm", "--memory-limit", "64", expect=FAILED)
        self.assertIn("takes a size as", self.kernel("add_one.opdasm", "--memory-limit", "much", expect=USAGE).stderr)

    def test_threads_and_allocators(self):
        self.kernel("add_one.opdasm", "--threads", "2", "--allocator", "naive")
        self.assertIn("from 1 to 1024", self.kernel("add_one.opdasm", "--threads", "0", expect=USAGE).stderr)
        self.assertIn("takes pooled or naive", self.kernel("add_one.opdasm", "--allocator", "arena", expect=USAGE).stderr)

    def test_a_deadline_ends_a_loop_of_operators(self):
        begin = time.monotonic()
        message = self.kernel("loops.opdasm", "--timeout", "300ms", expect=FAILED).stderr
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("deadline", message.lower())

    def test_a_kernel_that_hangs_is_named_when_the_process_ends(self):
        for command in ("run", "bench", "profile"):
            message = self.kernel("hangs.opdasm", "--timeout", "300ms", command=command, expect=FAILED).stderr
            self.assertIn("operator 'hangs' was still running 0.3 s after the start", message)
        message = self.fails(FAILED, "run", "kernels.c", "hangs", "--timeout", "0.3s")
        self.assertIn("function 'hangs' was still running", message)
        self.assertIn("takes a time as", self.kernel("hangs.opdasm", "--timeout", "soon", expect=USAGE).stderr)

    def test_long_calls_show_progress_on_a_terminal_only(self):
        leader, follower = pty.openpty()
        process = subprocess.Popen([OPDYNO, "run", "sleeps.opdasm", "--import", "kernels.c"], cwd=WORK, stdout=subprocess.PIPE, stderr=follower)
        process.communicate(timeout=60)
        os.close(follower)
        shown = os.read(leader, 4096).decode()
        os.close(leader)
        self.assertEqual(OK, process.returncode)
        self.assertRegex(shown, r"running main: sleeps, 2\.\d s")


class Bench(CliTest):
    def test_the_text_has_all_statistics(self):
        text = self.kernel("add_one.opdasm", "--repeat", "3", "--min-repeat-ms", "1", command="bench").stdout
        self.assertRegex(text, r"^main: 3 repeats of \d+ calls?\n")
        for name in ("min", "median", "mean", "max", "std"):
            self.assertRegex(text, r"(?m)^  %s +[\d.]+ (ns|us|ms|s)$" % name)

    def test_json_has_the_results_of_each_repeat(self):
        report = json.loads(self.kernel("add_one.opdasm", "--repeat", "4", "--number", "5", "--min-repeat-ms", "0", "--json", command="bench").stdout)
        self.assertEqual((4, 5, 4), (report["repeat"], report["number"], len(report["results_us"])))
        self.assertLessEqual(report["min_us"], report["median_us"])
        self.assertLessEqual(report["median_us"], report["max_us"])
        self.assertAlmostEqual(sum(report["results_us"]) / 4, report["mean_us"])

    def test_csv_has_one_row(self):
        text = self.kernel("add_one.opdasm", "--repeat", "2", "--min-repeat-ms", "0", "--csv", "--timeout", "1m", command="bench").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(("main", "2"), (rows[0]["function"], rows[0]["repeat"]))
        self.assertEqual(1, len(rows))

    def test_plain_functions_and_wrong_numbers(self):
        self.succeeds("bench", "kernels.c", "add_one", "-i", "2xf32", "-i", "2xf32", "--repeat", "1", "--min-repeat-ms", "0")
        self.assertIn("'--repeat' takes an integer from 1", self.kernel("add_one.opdasm", "--repeat", "0", command="bench", expect=USAGE).stderr)
        self.assertIn("always does", self.kernel("fails.opdasm", command="bench", expect=FAILED).stderr)


class Profile(CliTest):
    def profile(self, *words, program="symbolic.opdasm", expect=OK):
        return self.kernel(program, *words, "--dim", "n=4", command="profile", expect=expect).stdout

    def test_the_table_has_tvms_columns(self):
        text = self.profile()
        self.assertRegex(text.splitlines()[0], r"^Name +Duration \(us\) +Percent +Device +Count +Argument Shapes *$")
        self.assertRegex(text, r"(?m)^add_one .*float32\[4\], float32\[4\]")
        self.assertRegex(text, r"(?m)^Sum ")
        self.assertRegex(text, r"(?m)^Total ")

    def test_rows_can_keep_their_order(self):
        def names(*words):
            return [line.split()[0] for line in self.profile(*words).splitlines()[1:] if line and not line.startswith("-")]

        ordered = names("--no-sort", "--no-aggregate", "--no-sums")
        self.assertLess(ordered.index("vm.builtin.check_tensor_info"), ordered.index("add_one"))
        self.assertNotIn("Sum", ordered)
        self.assertIn("Sum", names("--sort"))

    def test_reports_are_written(self):
        self.profile("-o", "report.json", "--csv", "report.csv", "--chrome", "trace.json", "--repeat", "2", "--warmup", "0")
        report = json.loads((WORK / "report.json").read_text())
        names = [call["Name"]["string"] for call in report["calls"]]
        self.assertEqual(2, names.count("add_one"))
        rows = list(csv.DictReader(io.StringIO((WORK / "report.csv").read_text())))
        self.assertEqual(names, [row["Name"] for row in rows])
        trace = json.loads((WORK / "trace.json").read_text())
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        self.assertEqual(2, sum(event.get("name") == "add_one" for event in events))

    def test_reports_can_be_printed(self):
        self.assertEqual({"calls", "device_metrics", "configuration"}, set(json.loads(self.profile("--json"))))
        self.assertIn("Duration (us)", self.profile("--csv", "-").splitlines()[0])
        self.assertIn("cannot write absent/x.json", self.kernel("add_one.opdasm", "-o", "absent/x.json", command="profile", expect=FAILED).stderr)


class TvmArtefacts(CliTest):
    """Libraries that TVM made, against TVM's own answers; the inputs come from the same files."""

    def libraries(self, name):
        found = sorted(Path(os.environ["OPDYNO_INTEROP_DATA"]).glob("*/%s.so" % name))
        self.assertTrue(found)
        return found

    def compare(self, library, call, *inputs):
        recorded = library.with_suffix(".npz")
        words = [word for key in inputs for word in ("-i", "@%s:%s/%s" % (recorded, call, key))]
        text = self.succeeds("run", str(library), call.split("@")[0], *words, "--expect", "%s:%s" % (recorded, call))
        self.assertIn("as expected", text)

    def test_results_are_tvms(self):
        for library in self.libraries("mlp"):
            self.compare(library, "with_constants", "in_0")
            self.compare(library, "with_arguments", *("in_%d" % i for i in range(5)))
        for library in self.libraries("dynamic"):
            self.compare(library, "affine@n5", "in_0", "in_1", "in_2")
        for library in self.libraries("tuples"):
            self.compare(library, "nested", "in_0", "in_1")
        for library in self.libraries("control"):
            self.compare(library, "fibonacci", "in_0:tensor")

    def test_programs_run_on_guessed_inputs(self):
        for library in self.libraries("dynamic"):
            text = self.succeeds("run", str(library), "affine", "--dim", "n=3")
            self.assertIn("out: float32[3, 4]", text)
            text = self.succeeds("profile", str(library), "affine", "--dim", "n=3")
            self.assertRegex(text, r"(?m)^matmul ")

    def test_embedded_programs_can_be_read_and_written(self):
        for library in self.libraries("mlp"):
            (WORK / "mlp.opdasm").write_text(self.succeeds("dis", str(library)))
            self.succeeds("as", "mlp.opdasm", "mlp.vmexec")
            self.assertEqual((WORK / "mlp.opdasm").read_text(), self.succeeds("dis", "mlp.vmexec"))
            recorded = library.with_suffix(".npz")
            self.succeeds("run", "mlp.vmexec", "with_constants", "--import", str(library), "-i", "@%s:with_constants/in_0" % recorded,
                          "--expect", "%s:with_constants" % recorded)

    def test_a_truncated_library_is_refused(self):
        library = self.libraries("mlp")[0].read_bytes()
        for size in (3, 100, len(library) // 2, len(library) - 1):
            (WORK / "short.so").write_bytes(library[:size])
            self.assertIn("short.so", self.fails(REFUSED, "run", "short.so", "with_constants"))


if __name__ == "__main__":
    OPDYNO = os.path.abspath(sys.argv.pop(1))
    os.environ.pop("OPDYNO_NUM_THREADS", None)
    unittest.main(verbosity=2)
