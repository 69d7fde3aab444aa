"""The command run: modules, functions, inputs, and settings that bench and profile share."""

import json
import os
import pty
import struct
import subprocess
import time

import npy
from case import COMPILER, FAILED, OK, OPDYNO, REFUSED, USAGE, WORK, CliTest, compile_kernels
from input_cases import reals


class Run(CliTest):
    def test_a_program_is_called_with_given_numbers(self):
        self.assertEqual([2, 3, 4.5, 5], self.numbers("add_one.opdasm", "-i", "4xf32=1,2,3.5,4"))

    def test_sources_are_compiled_anew_if_the_compiler_tells_another_version(self):
        """What compiles may change behind a script of the same content, as ccache and the wrappers of distributions."""
        compiler, version, log = WORK / "versioned.sh", WORK / "version", WORK / "compiled"
        compiler.write_text(
            '#!/bin/sh\ncase " $* " in *" --version "*) cat "%s"; exit;; *" -c "*|*" -shared "*) echo >> "%s";; esac\nexec %s "$@"\n'
            % (version, log, COMPILER)
        )
        compiler.chmod(0o755)
        environment = dict(os.environ, CC=str(compiler), OPDYNO_CACHE_DIR=str(WORK / "versioned_cache"))

        def compilations(told):
            log.write_text("")
            version.write_text(told)
            self.succeeds("run", "add_one.opdasm", "-i", "4xf32=1", "--import", "kernels.c", env=environment)
            return len(log.read_text())

        self.assertGreater(compilations("cc 1"), 0)
        self.assertEqual(0, compilations("cc 1"))
        self.assertGreater(compilations("cc 2"), 0)
        self.assertEqual(0, compilations("cc 1"), "that of the first version is still kept")

    def test_the_text_shows_type_and_elements(self):
        text = self.kernel("add_one.opdasm", "-i", "4xf32=1,2,3.5,400").stdout
        self.assertEqual("out: float32[4]\n[  2   3 4.5 401]\n", text)

    def test_all_kinds_of_module_run(self):
        self.succeeds("as", "add_one.opdasm", "add_one.vmexec")
        self.assertEqual([1] * 4, self.numbers("add_one.vmexec", "-i", "4xf32=0"))
        compile_kernels("kernels.so")
        out = self.succeeds("run", "add_one.vmexec", "-i", "4xf32=0", "--import", "kernels.so", "--csv")
        self.assertEqual("output,index,value\nout,0,1\nout,1,1\nout,2,1\nout,3,1\n", out)
        self.assertIn("[1 1]", self.succeeds("run", "kernels.so", "add_one", "-i", "2xf32=0", "-i", "2xf32"))

    def test_a_library_of_plain_c_says_how_its_functions_are_called(self):
        (WORK / "plain.c").write_text("double twice(double x) { return 2 * x; }\n")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "plain.so", "plain.c"], cwd=WORK, check=True)
        for words in (["run", "plain.so"], ["run", "plain.so", "twice"], ["bench", "plain.so"], ["run", "plain.c"]):
            message = self.fails(USAGE, *words)
            self.assertIn("no symbol of it starts with __tvm_ffi_", message)
            self.assertIn("called by its signature", message)
            self.assertIn("native_function", message)

    def test_c_flags_reach_the_compiler(self):
        (WORK / "flag.c").write_text("#ifndef WANTED\n#error not wanted\n#endif\n" + (WORK / "kernels.c").read_text())
        self.assertIn("not wanted", self.fails(REFUSED, "inspect", "flag.c", "--load"))
        self.succeeds("inspect", "flag.c", "--load", "--c-flags", "-O1 -DWANTED")

    def test_libraries_may_be_used_in_place(self):
        compile_kernels("in_place.so")
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
        message = self.kernel("fails.opdasm", expect=FAILED).stderr
        self.assertEqual(1, message.count("it always does"), message)  # its cause says nothing new
        self.assertNotIn("caused by", message)

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

        for got, wanted in zip(random("--seed", "7"), reals(7, 0, 4)):
            self.assertAlmostEqual(wanted, got, places=6)
        self.assertEqual(random(), random("--seed", "0"))
        self.assertNotEqual(random(), random("--seed", "1"))

    def test_random_ranges(self):
        numbers = self.echo("1000xf32=rand(-3,-2)")
        self.assertTrue(all(-3 <= number <= -2 for number in numbers))
        self.assertGreater(max(numbers) - min(numbers), 0.9)
        self.assertEqual([4, 4], self.echo("2xf32=rand(4,4)"))
        self.assertEqual([4, 4], self.echo("2xi32=rand(4,4)"))

    def test_integers_halves_and_booleans_are_shown_as_they_are(self):
        def show(spec):
            return self.succeeds("run", "identity.opdasm", "-i", spec)

        self.assertEqual("out: int8[3]\n[-128    0  127]\n", show("3xi8=-128,0,127"))
        self.assertEqual("out: uint64[1]\n[9223372036854775807]\n", show("1xu64=9223372036854775807"))
        self.assertEqual("out: bool[2]\n[false  true]\n", show("2xbool=0,1"))
        self.assertEqual(
            "out: float16[4]\n[  0.0999756       65504         inf 5.96046e-08]\n", show("4xf16=0.1,65504,65520,6e-8")
        )
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

    def test_shapes_tuples_and_texts_may_be_empty(self):
        def show(spec):
            return self.succeeds("run", "identity.opdasm", "-i", spec)

        self.assertEqual("out: []\n", show("shape()"))
        self.assertEqual("", show("tuple()"))
        self.assertEqual('out: ""\n', show("str"))

    def test_elements_of_a_format_without_numbers_here_are_passed_on_as_they_are(self):
        header = json.dumps({"x": {"dtype": "F8_E5M2", "shape": [4], "data_offsets": [0, 4]}}).encode()
        path = WORK / "bytes.safetensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + bytes([0x3C, 0x40, 0, 0x7C]))
        file = "@bytes.safetensors"
        self.assertEqual("out: float8_e5m2[4]\n", self.succeeds("run", "identity.opdasm", "-i", file))
        self.succeeds("run", "identity.opdasm", "-i", file, "-o", "bytes.npz")
        self.assertEqual([0x3C, 0x40, 0, 0x7C], npy.load(WORK / "bytes.npz")["out"][2])
        shown = json.loads(self.succeeds("run", "identity.opdasm", "-i", file, "--json"))["outputs"]["out"]
        self.assertEqual({"dtype": "float8_e5m2", "shape": [4]}, shown)
        wanted = "elements of dtype float8_e5m2 cannot be read or made here"
        self.assertIn("out: " + wanted, self.fails(FAILED, "run", "identity.opdasm", "-i", file, "--csv"))
        for fill in ("", "=1", "=range", "=rand(0,1)"):
            message = self.fails(FAILED, "run", "identity.opdasm", "-i", "4xfloat8_e5m2" + fill)
            self.assertIn("input '4xfloat8_e5m2%s': %s" % (fill, wanted), message)

    def test_tuples_that_nest_deeper_than_programs_take_are_refused(self):
        for depth in (17, 18_000):
            text = "tuple(" * depth + "i64=1" + ")" * depth
            self.assertIn("nested more than 16 deep", self.fails(USAGE, "run", "identity.opdasm", "-i", text))
        self.succeeds("run", "identity.opdasm", "-i", "tuple(" * 16 + "i64=1" + ")" * 16)

    def test_only_tensors_of_more_than_1000_elements_lose_their_middle(self):
        def rows(spec):
            return self.succeeds("run", "identity.opdasm", "-i", spec).splitlines()[1:]

        self.assertEqual("[%s]" % " ".join("%3d" % i for i in range(1000)), rows("1000xi32=range")[0])
        self.assertEqual(["[   0    1    2 ...  998  999 1000]"], rows("1001xi32=range"))
        self.assertEqual(25, len(rows("25x40xi32=range")))
        long = rows("7x200xi32=range")  # 7 rows are one too many, 6 are not
        self.assertEqual(7, len(long))
        self.assertEqual(" ...", long[3])
        self.assertEqual(6, len(rows("6x200xi32=range")))
        self.assertRegex(rows("6x200xi32=range")[0], r"^\[\[ +0 +1 +2 \.\.\. +197 +198 +199\]$")

    def test_large_tensors_lose_their_middle(self):
        text = self.succeeds("run", "identity.opdasm", "-i", "50x40xi32=range")
        self.assertEqual("[[   0    1    2 ...   37   38   39]\n", text[text.index("[[") :].splitlines(True)[0])
        self.assertIn("\n ...\n", text)
        self.assertNotIn(" 3 ", text)
        self.assertIn(" 3 ", self.succeeds("run", "identity.opdasm", "-i", "50x40xi32=range", "--full"))
        self.assertNotIn(
            "data", json.loads(self.succeeds("run", "identity.opdasm", "-i", "50x40xi32", "--json"))["outputs"]["out"]
        )
        full = json.loads(self.succeeds("run", "identity.opdasm", "-i", "50x40xi32=range", "--json", "--full"))
        self.assertEqual(list(range(2000)), full["outputs"]["out"]["data"])

    def test_parameters_are_bound_by_name(self):
        self.assertEqual([15, 26, 37, 48], self.numbers("with_weight.opdasm", "--params", "two.npz"))
        self.assertEqual([10, 20, 30, 40], self.numbers("with_weight.opdasm", "--params", "two.npz", "-i", "x:4xf32=0"))
        npy.save(WORK / "weight.npz", weight=([4], [10, 20, 30, 40]))
        self.assertEqual(
            [11, 21, 31, 41], self.numbers("with_weight.opdasm", "--params", "weight.npz", "-i", "4xf32=1")
        )
        npy.save(WORK / "other.npz", bias=([4], [1, 2, 3, 4]))
        self.assertIn(
            "has no tensor with the name of a parameter of main (x, weight)",
            self.kernel("with_weight.opdasm", "--params", "other.npz", expect=USAGE).stderr,
        )

    def test_open_sizes_come_from_dim_or_from_other_inputs(self):
        message = self.kernel("symbolic.opdasm", expect=USAGE).stderr
        self.assertIn("parameter x of main has the shape [n]; pass the size of n, as in --dim n=4", message)
        text = self.kernel("symbolic.opdasm", "--dim", "n=3").stdout
        self.assertIn("out_0: float32[3]", text)
        self.assertIn("out_1_0: 3\n", text)
        self.assertIn(
            "no size is called 'm' here.",
            self.kernel("symbolic.opdasm", "--dim", "n=3", "--dim", "m=4", expect=USAGE).stderr,
        )

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

        self.assertIn("is not a type", mistake("4xg32"))
        self.assertIn("is not a type", mistake("4y8xf32"))
        self.assertIn("is not a type", mistake("-4xf32"))
        self.assertIn("write 0dxf32", mistake("f32=1"))
        self.assertIn("is not a number", mistake("4xf32=one"))
        self.assertIn("2 numbers are given for 4 elements", mistake("4xf32=1,2"))
        self.assertIn("300 does not fit", mistake("4xi8=300"))
        self.assertIn("0.5 does not fit", mistake("4xi8=0.5"))
        self.assertIn("300 does not fit", mistake("4xu8=rand(0,300)"))
        self.assertIn("no integer lies between", mistake("4xu8=rand(0.25,0.75)"))
        self.assertIn("the lower first", mistake("4xf32=rand(2,1)"))
        for spec in ("4xf32=rand(1)", "4xf32=rand(0,1,2)", "4xf32=rand(a,1)", "4xf32=rand(0,b)"):
            self.assertIn("rand takes two numbers", mistake(spec))
        for spec in ("4xf32=rand(0,1", "4xf32=rand0,1)", "4xf32=rand(0,1)x", "4xf32=ranges"):
            self.assertIn("is not a number", mistake(spec))
        for spec in ("shape(2,3", "shape2,3)", "shape(2,3)x", "tuple(i64=1", "tuplei64=1)"):
            self.assertIn("is not a type", mistake(spec))
        self.assertIn("the items of a tuple have no names", mistake("tuple(a:i64=1)"))
        self.assertIn("i64=7", mistake("i64=1.5"))
        self.assertIn("i64=7", mistake("i64"))
        self.assertIn("bool=true", mistake("bool"))
        self.assertIn("is not a type", mistake("none=1"))
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
        self.assertEqual(
            "out_0: float32[2]\n[2 4]\nout_1: float32[2]\n[-1 -2]\n",
            self.succeeds(*words, "--out-arg", "1", "--out-arg", "-1"),
        )
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
        self.assertIn(
            "have no names; leave out 'x:'", self.fails(USAGE, "run", "kernels.c", "add_one", "-i", "x:2xf32")
        )
        self.assertIn("is for plain functions", self.kernel("add_one.opdasm", "--out-arg", "0", expect=USAGE).stderr)
        self.assertIn(
            "is a plain function", self.fails(USAGE, "profile", "kernels.c", "add_one", "-i", "2xf32", "-i", "2xf32")
        )
        self.assertIn("it always does", self.fails(FAILED, "run", "kernels.c", "fails"))


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
        self.assertIn(
            "takes pooled or naive", self.kernel("add_one.opdasm", "--allocator", "arena", expect=USAGE).stderr
        )

    def test_a_deadline_ends_a_loop_of_operators(self):
        library = compile_kernels("kernels.so")
        begin = time.monotonic()
        message = self.kernel("loops.opdasm", "--timeout", "300ms", expect=FAILED, library=library).stderr
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("deadline", message.lower())

    def test_a_kernel_that_hangs_is_named_when_the_process_ends(self):
        library = compile_kernels("kernels.so")
        for command in ("run", "bench", "profile"):
            how = {"command": command, "expect": FAILED, "library": library}
            message = self.kernel("hangs.opdasm", "--timeout", "300ms", **how).stderr
            self.assertIn("operator 'hangs' was still running 0.3 s after the start", message)
        message = self.fails(FAILED, "run", library, "hangs", "--timeout", "0.3s")
        self.assertIn("function 'hangs' was still running", message)
        self.assertIn("takes a time as", self.kernel("hangs.opdasm", "--timeout", "soon", expect=USAGE).stderr)

    def test_long_calls_show_progress_on_a_terminal_only(self):
        try:
            leader, follower = pty.openpty()
        except OSError as error:
            self.skipTest(f"this system has no pseudo terminals: {error}")
        process = subprocess.Popen(
            [OPDYNO, "run", "sleeps.opdasm", "--import", "kernels.c"], cwd=WORK, stdout=subprocess.PIPE, stderr=follower
        )
        process.communicate(timeout=60)
        os.close(follower)
        shown = os.read(leader, 4096).decode()
        os.close(leader)
        self.assertEqual(OK, process.returncode)
        self.assertRegex(shown, r"running main: sleeps, \d+\.\d s")
