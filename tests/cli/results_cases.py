"""What run does with results: saving, comparing, and real artifacts against the numbers of TVM."""

import json
import os
import signal
import subprocess
from pathlib import Path

import npy
import programs
from case import FAILED, MISMATCH, OK, OPDYNO, REFUSED, USAGE, WORK, CliTest


class Results(CliTest):
    def test_nested_results_are_saved_by_their_path(self):
        text = self.kernel("symbolic.opdasm", "-i", "3xf32=1,2,3", "-o", "nested.npz").stdout
        self.assertEqual("out_0: float32[3]\nout_1_0: 3\nout_1_1: float32[3]\n", text)
        saved = npy.load(WORK / "nested.npz")
        self.assertEqual(
            {"out_0": ("<f4", (3,), [2, 3, 4]), "out_1_0": ("<i8", (), [3]), "out_1_1": ("<f4", (3,), [2, 3, 4])}, saved
        )

    def test_what_was_saved_is_what_is_expected(self):
        words = ["symbolic.opdasm", "-i", "3xf32=1,2,3"]
        self.kernel(*words, "-o", "nested.npz")
        text = self.kernel(*words, "--expect", "nested.npz").stdout
        self.assertIn("out_1_1: as expected (largest difference 0)", text)
        result = self.kernel("symbolic.opdasm", "-i", "3xf32=1,2,4", "--expect", "nested.npz", expect=MISMATCH)
        self.assertIn("out_0: 1 of 3 elements differ, worst at [2]: got 5, expected 4, off by 1", result.stderr)
        report = json.loads(
            self.kernel(
                "symbolic.opdasm", "-i", "3xf32=1,2,4", "--expect", "nested.npz", "--json", expect=MISMATCH
            ).stdout
        )
        self.assertEqual(
            {"out_0": False, "out_1_0": True, "out_1_1": False},
            {name: one["ok"] for name, one in report["comparisons"].items()},
        )

    def test_json_has_the_values_of_every_kind(self):
        (WORK / "kinds.opdasm").write_text(
            """.executable "0.14"
.func main(x) {
  %r = call vm.builtin.make_tuple(f64(1.5), shape(2, 3), dtype(int8), "a \\"text\\"", i64(-3), shape(), %x, %x)
  ret %r
}
.func nothing(x) {
  ret %void
}
"""
        )
        run = ["run", "kinds.opdasm"]
        answer = json.loads(self.succeeds(*run, "-i", "2xi16=-5,7", "--json"))
        tensor = {"dtype": "int16", "shape": [2], "data": [-5, 7]}
        values = [1.5, [2, 3], "int8", 'a "text"', -3, []]
        expected = {"out_%d" % i: {"value": value} for i, value in enumerate(values)}
        self.assertEqual(
            {"function": "main", "outputs": {**expected, "out_6": tensor, "out_7": tensor}},
            answer,
        )
        lines = self.succeeds(*run, "-i", "2xi16=-5,7").splitlines()
        self.assertEqual(["out_0: 1.5", "out_1: [2, 3]", "out_2: int8", 'out_3: "a \\"text\\""', "out_4: -3"], lines[:5])
        answer = json.loads(self.succeeds(*run, "nothing", "-i", "1xf32", "--json"))
        self.assertEqual({"out": {"value": None}}, answer["outputs"])

    def test_elements_of_every_dtype_are_read_and_shown(self):
        def elements(dtype, numbers):
            words = ["run", "identity.opdasm", "-i", "%dx%s=%s" % (len(numbers.split(",")), dtype, numbers), "--json"]
            return json.loads(self.succeeds(*words))["outputs"]["out"]["data"]

        for bits in (8, 16, 32, 64):
            low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
            self.assertEqual([low, -1, 0, high], elements("i%d" % bits, "%d,-1,0,%d" % (low, high)))
            self.assertEqual([0, 1, 2**bits - 1], elements("u%d" % bits, "0,1,%d" % (2**bits - 1)))
            for dtype, numbers in ("i", (low - 1, high + 1)), ("u", (-1, 2**bits)):
                for number in numbers:
                    words = ["run", "identity.opdasm", "-i", "1x%s%d=%d" % (dtype, bits, number)]
                    self.fails(USAGE, *words)
        for dtype in ("f16", "f32", "f64", "bf16"):
            self.assertEqual([1.5, -0.25, 0, "inf", "-inf", "nan"], elements(dtype, "1.5,-0.25,0,inf,-inf,nan"))
        self.assertEqual([True, False, True], elements("bool", "1,0,1"))
        self.assertEqual([65504], elements("f16", "65504"))
        self.assertEqual([3.3895314e38], elements("bf16", "3.3895313892515355e38"))

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
        self.assertIn(
            "1 of 4 elements differ, worst at [0]: got nan, expected nan", self.kernel(*words, expect=MISMATCH).stderr
        )
        self.kernel(*words, "--equal-nan")
        npy.save(WORK / "special.npz", out=([4], [0, float("-inf"), 0, 1]))
        self.assertIn("3 of 4", self.kernel(*words, "--equal-nan", expect=MISMATCH).stderr)

    def test_a_prefix_selects_keys(self):
        words = ["add_one.opdasm", "-i", "4xf32=0"]
        npy.save(
            WORK / "calls.npz", main__out=([4], [1, 1, 1, 1]), main__in_0=([4], [0] * 4), other__out=([4], [9] * 4)
        )
        self.kernel(*words, "--expect", "calls.npz:main")
        self.assertIn("4 of 4", self.kernel(*words, "--expect", "calls.npz:other", expect=MISMATCH).stderr)
        self.assertIn(
            "has no tensor absent/out", self.kernel(*words, "--expect", "calls.npz:absent", expect=FAILED).stderr
        )
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

    def test_what_no_file_can_hold_is_named_and_not_compared(self):
        (WORK / "mixed.opdasm").write_text(programs.program(programs.function(
            "main", "x", '%all = call vm.builtin.make_tuple(%x, "text", 7, 8)', "ret %all")))
        words = ["mixed.opdasm", "-i", "2xf32=1,2"]
        self.assertIn("mixed.npz lacks out_1: a file holds only tensors", self.check(OK, "run", *words, "-o", "mixed.npz", silent=False).stderr)
        self.assertEqual({"out_0", "out_2", "out_3"}, set(npy.load(WORK / "mixed.npz")))
        self.assertIn("out_1: not compared", self.succeeds("run", *words, "--expect", "mixed.npz"))
        npy.save(WORK / "less.npz", out_0=([2], [1, 2]), out_2=([], [7], "<i8"))
        self.assertIn("out_3: is not in less.npz", self.fails(MISMATCH, "run", *words, "--expect", "less.npz"))
        outputs = json.loads(self.succeeds("run", *words, "--json"))["outputs"]
        self.assertEqual(["text", 7], [outputs["out_%d" % i]["value"] for i in (1, 2)])
        (WORK / "text.opdasm").write_text(programs.program(programs.function("main", "x", '%all = call vm.builtin.make_tuple("text")', "ret %all")))
        self.assertIn("nothing to write to text.npz", self.fails(FAILED, "run", "text.opdasm", "-i", "none", "-o", "text.npz"))
        self.assertFalse((WORK / "text.npz").exists())

    def test_tuples_are_told_apart_to_a_depth_of_16(self):
        for depth, name in (16, "out" + "_0" * 16), (17, None):
            lines = ["%t0 = call vm.builtin.make_tuple(%x)"]
            lines += ["%%t%d = call vm.builtin.make_tuple(%%t%d)" % (i, i - 1) for i in range(1, depth)]
            (WORK / "deep.opdasm").write_text(programs.program(programs.function("main", "x", *lines, "ret %%t%d" % (depth - 1))))
            text = self.succeeds("run", "deep.opdasm", "-i", "2xf32=1,2")
            self.assertTrue(text.startswith((name or "out" + "_0" * 16) + ":"), text)
            self.assertEqual(bool(name), "float32[2]\n" in text, text)

    def test_the_place_of_results_is_checked(self):
        words = ["run", "identity.opdasm", "-i", "2xf32=1,2"]
        self.assertIn("--json and --csv print", self.fails(USAGE, *words, "-o", "-"))
        self.assertFalse((WORK / "-").exists())
        self.assertIn("no format of results has the suffix .json, so y.json is written as .params",
                      self.check(OK, *words, "-o", "y.json", silent=False).stderr)
        self.assertIn("as expected", self.succeeds(*words, "--expect", "y.json"))

    def test_dtypes_fit_only_where_they_hold_the_same_numbers(self):
        for given, stored, fits in (
            ("2xbf16=1.5,2", "<f4", True),
            ("2xbf16=1.5,2", "<f8", True),
            ("2xbf16=1.5,2", "<f2", False),
            ("2xf32=1.5,2", "<f8", False),
            ("2xi32=1,2", "<i8", False),
            ("2xi32=1,2", "<u4", False),
            ("2xbool=1,0", "|b1", True),
            ("2xu1=1,0", "|b1", True),
            ("2xbool=1,0", "|u1", False),
            ("2xi16=1,2", "<i2", True),
        ):
            numbers = [float(number) for number in given.split("=")[1].split(",")]
            npy.save(WORK / "fits.npz", out=([2], numbers if "f" in stored else [int(x) for x in numbers], stored))
            words = ["run", "identity.opdasm", "-i", given, "--expect", "fits.npz"]
            if fits:
                self.assertIn("as expected", self.succeeds(*words), (given, stored))
            else:
                self.assertRegex(self.fails(MISMATCH, *words), r"out: got \w+\[2\], expected \w+\[2\]", (given, stored))
        self.succeeds("run", "identity.opdasm", "-i", "2x3xf32x2=1,2,3,4,5,6,7,8,9,10,11,12", "-o", "fits.params")
        words = ["run", "identity.opdasm", "-i", "2x3xf32x2=1,2,3,4,5,6,7,8,9,10,11,13", "--expect", "fits.params"]
        self.assertIn("worst at [1, 2]: got 13, expected 12, off by 1", self.fails(MISMATCH, *words))
        for given in "2xbf16x2=1,2,3,4", "2xf32x2=1,2,3,4":  # vectors are no numbers
            npy.save(WORK / "fits.npz", out=([2], [1, 2]))
            words = ["run", "identity.opdasm", "-i", given, "--expect", "fits.npz"]
            self.assertIn("x2[2], expected float32[2]", self.fails(MISMATCH, *words))
        npy.save(WORK / "fits.npz", out=([3], [1, 2, 3], "<i4"))
        words = ["run", "identity.opdasm", "-i", "2xi32=1,2", "--expect", "fits.npz"]
        self.assertIn("out: got int32[2], expected int32[3]", self.fails(MISMATCH, *words))
        npy.save(WORK / "fits.npz", out=([1, 2], [1, 2], "<i4"))
        self.assertIn("out: got int32[2], expected int32[1, 2]", self.fails(MISMATCH, *words))
        npy.save(WORK / "fits.npz", out=([2], [1, 2], "<i4"), out_7=([2], [1, 2], "<i4"))
        self.assertIn("out_7: is in fits.npz, but the function does not return it", self.fails(MISMATCH, *words))
        npy.save(WORK / "fits.npz", other=([2], [1, 2], "<i4"))
        self.assertIn("fits.npz has no tensor out or out_0 to compare with", self.fails(FAILED, *words))

    def test_bfloat16_survives_a_file_that_does_not_know_it(self):
        words = ["run", "identity.opdasm", "-i", "2xbf16=1.5,3.14"]
        self.succeeds(*words, "-o", "bf16.npz")
        self.assertIn("as expected", self.succeeds(*words, "--expect", "bf16.npz"))
        self.assertIn(
            "as expected", self.succeeds("run", "identity.opdasm", "-i", "2xbf16=@bf16.npz:out", "--expect", "bf16.npz")
        )
        self.assertIn(
            "worst at [1]: got 2, expected 3.140625, off by 1.141",
            self.fails(MISMATCH, "run", "identity.opdasm", "-i", "2xbf16=1.5,2", "--expect", "bf16.npz"),
        )

    def test_a_full_disk_is_an_error_and_a_closed_pipe_ends_quietly(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([OPDYNO, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(
            (FAILED, "opdyno: cannot write to standard output: No space left on device\nTry 'opdyno explain OPD_IO'.\n"),
            (result.returncode, result.stderr),
        )
        (WORK / "piped.json").write_text('{"calls": [], "device_metrics": {}, "configuration": {}}')
        for words in (("info",), ("help",), ("report", "piped.json")):
            reading, writing = os.pipe()
            os.close(reading)
            result = subprocess.run([OPDYNO, *words], stdout=writing, stderr=subprocess.PIPE, text=True, cwd=WORK)
            os.close(writing)
            self.assertEqual((128 + signal.SIGPIPE, ""), (result.returncode, result.stderr), words)
        self.assertIn("absent", self.kernel("add_one.opdasm", "-o", "absent/out.npz", expect=FAILED).stderr)


class TvmArtifacts(CliTest):
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
            self.succeeds(
                "run",
                "mlp.vmexec",
                "with_constants",
                "--import",
                str(library),
                "-i",
                "@%s:with_constants/in_0" % recorded,
                "--expect",
                "%s:with_constants" % recorded,
            )

    def test_a_truncated_library_is_refused(self):
        library = self.libraries("mlp")[0].read_bytes()
        for size in (3, 100, len(library) // 2, len(library) - 1):
            (WORK / "short.so").write_bytes(library[:size])
            self.assertIn("short.so", self.fails(REFUSED, "run", "short.so", "with_constants"))
