"""Numbers: how inputs are rounded to their dtype, how elements are shown, and how results are compared."""

import json
import math
import random
import struct

import npy
import programs
from case import FAILED, MISMATCH, USAGE, WORK, CliTest


def to_float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def to_half(number):
    """Python rounds to nearest even, too, but refuses what becomes infinity: from 65520 on."""
    if math.isinf(number) or abs(number) >= 65520:
        return math.copysign(math.inf, number)
    return struct.unpack("<e", struct.pack("<e", number))[0]


def to_bfloat16(number):
    """The upper half of a float32; of two that are equally near, the even one."""
    bits = struct.unpack("<I", struct.pack("<f", number))[0]
    low, bits = bits & 0xFFFF, bits >> 16
    if low > 0x8000 or (low == 0x8000 and bits & 1):
        bits += 1
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


class Rounding(CliTest):
    def rounded(self, dtype, numbers):
        spec = "%dx%s=%s" % (len(numbers), dtype, ",".join(map(repr, numbers)))
        printed = self.succeeds("run", "identity.opdasm", "-i", spec, "--json", "--full")
        return [to_float32(float(one)) for one in json.loads(printed)["outputs"]["out"]["data"]]

    def test_all_halves_are_read(self):
        halves = [struct.unpack("<e", struct.pack("<H", bits))[0] for bits in range(1 << 16)]
        (WORK / "halves.npy").write_bytes(npy.dump([1 << 16], halves, "<f2"))
        printed = self.succeeds("run", "identity.opdasm", "-i", "@halves.npy", "--json", "--full")
        shown = [float(one) for one in json.loads(printed, parse_int=float)["outputs"]["out"]["data"]]
        for bits, (wanted, got) in enumerate(zip(halves, shown)):
            # A number is shown with the digits that a float32 needs; so it reads back as that.
            self.assertTrue(to_float32(got) == wanted or (math.isnan(got) and math.isnan(wanted)), (hex(bits), got, wanted))
            if wanted == 0:
                self.assertEqual(math.copysign(1, wanted), math.copysign(1, got))
        self.assertEqual(1 << 16, len(shown))

    def test_halves_are_rounded_to_nearest_even(self):
        source, numbers = random.Random(1), []
        for _ in range(300):
            bits = source.randrange(0x7BFF)  # any finite half and the next one
            low, high = (struct.unpack("<e", struct.pack("<H", b))[0] for b in (bits, bits + 1))
            middle = (low + high) / 2  # exact as a float32
            numbers += [low, middle, middle - (high - low) / 64, middle + (high - low) / 64, -middle]
        numbers += [65504.0, 65519.0, 65519.996, 65520.0, -65520.0, 1e30, 2.0**-24, 2.0**-25, 2.0**-25 * 1.001, 1e-30]
        numbers += [2.0**-14, 2.0**-14 * (1 - 2.0**-11), 2.0**-14 * (1 - 2.0**-12), 0.0]
        numbers = [to_float32(number) for number in numbers]
        self.assertEqual([to_half(number) for number in numbers], self.rounded("f16", numbers))

    def test_bfloat16_is_rounded_to_nearest_even(self):
        source, numbers = random.Random(2), []
        for _ in range(300):
            bits = source.randrange(0x7F7F) << 16
            numbers += [struct.unpack("<f", struct.pack("<I", bits | low))[0] for low in (0, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
        numbers += [-number for number in numbers[:50]] + [3.3895314e38, 0.0]
        self.assertEqual([to_bfloat16(number) for number in numbers], self.rounded("bf16", numbers))


class Shown(CliTest):
    def shown(self, spec, *words):
        return self.succeeds("run", "identity.opdasm", "-i", spec, *words)

    def test_dimensions_are_nested_as_numpy_does(self):
        self.assertEqual(
            "out: int32[2, 2, 3]\n"
            "[[[ 0  1  2]\n"
            "  [ 3  4  5]]\n"
            "\n"
            " [[ 6  7  8]\n"
            "  [ 9 10 11]]]\n",
            self.shown("2x2x3xi32=range"),
        )
        self.assertEqual("out: int8[1, 2, 1, 1]\n[[[[0]]\n\n  [[1]]]]\n", self.shown("1x2x1x1xi8=range"))

    def test_elements_of_several_numbers_stand_in_parentheses(self):
        self.assertEqual("out: float32x2[2]\n[ (1 2) (3 40)]\n", self.shown("2xf32x2=1,2,3,40"))
        self.assertEqual("out: complex64[2]\n[(1 -2)  (0 3)]\n", self.shown("2xcomplex64=1,-2,0,3"))
        self.assertEqual(
            [1, -2, 0, 3], json.loads(self.shown("2xcomplex64=1,-2,0,3", "--json"))["outputs"]["out"]["data"]
        )
        self.assertEqual(
            "output,index,value\nout,0,1\nout,1,-2\nout,2,0\nout,3,3\n", self.shown("2xcomplex64=1,-2,0,3", "--csv")
        )

    def test_full_shows_all_digits(self):
        self.assertEqual("out: float32[2]\n[0.333333        2]\n", self.shown("2xf32=0.33333334,2"))
        self.assertEqual("out: float32[2]\n[0.33333334          2]\n", self.shown("2xf32=0.33333334,2", "--full"))
        self.assertEqual("out: float64[1]\n[0.1234567890123]\n", self.shown("1xf64=0.1234567890123", "--full"))
        self.assertEqual("out: float64[1]\n[0.123457]\n", self.shown("1xf64=0.1234567890123"))

    def test_each_long_dimension_loses_its_own_middle(self):
        text = self.shown("8x7x18xi32=range").splitlines()
        self.assertEqual("[[[   0    1    2 ...   15   16   17]", text[1])
        self.assertEqual("  [  36   37   38 ...   51   52   53]", text[3])
        self.assertEqual("  ...", text[4])
        self.assertEqual("  [  72   73   74 ...   87   88   89]", text[5])
        self.assertEqual(" ...", text[25])  # after three blocks of seven lines
        self.assertEqual("  [ 990  991  992 ... 1005 1006 1007]]]", text[-1])

    def test_json_gives_up_to_1000_elements(self):
        def data(spec, *words):
            return json.loads(self.shown(spec, "--json", *words))["outputs"]["out"].get("data")

        self.assertEqual(list(range(1000)), data("1000xi32=range"))
        self.assertIsNone(data("1001xi32=range"))
        self.assertEqual(list(range(1001)), data("1001xi32=range", "--full"))

    def test_a_results_file_or_a_comparison_leaves_out_the_elements(self):
        self.assertEqual("out: int32[2]\n", self.shown("2xi32=range", "-o", "two_numbers.npz"))
        self.assertEqual("out: int32[2]\n[0 1]\n", self.shown("2xi32=range", "-o", "two_numbers.npz", "--full"))
        expected = "out: as expected (largest difference 0)\n"
        self.assertEqual("out: int32[2]\n" + expected, self.shown("2xi32=range", "--expect", "two_numbers.npz"))

    def test_boolean_results_are_values(self):
        answer = json.loads(self.shown("bool=true", "--json"))
        self.assertEqual({"out": {"value": True}}, answer["outputs"])
        self.assertEqual("output,index,value\nout,0,true\n", self.shown("bool=true", "--csv"))
        self.assertEqual("output,index,value\nout,0,2.5\n", self.shown("f64=2.5", "--csv"))
        self.assertEqual("output,index,value\nout,0,2\nout,1,3\n", self.shown("shape(2,3)", "--csv"))
        self.assertEqual("output,index,value\n", self.shown("str=text", "--csv"))
        self.succeeds("run", "identity.opdasm", "-i", "tuple(f64=2.5;bool=true;shape(2,3))", "-o", "values.npz")
        self.assertEqual(
            {"out_0": ("<f8", (), [2.5]), "out_1": ("|b1", (), [True]), "out_2": ("<i8", (2,), [2, 3])},
            npy.load(WORK / "values.npz"),
        )


class Compared(CliTest):
    """The rule: |got - expected| <= atol + rtol * |expected|."""

    def compare(self, given, stored, *words, shape=None, ok=False):
        """What --json says of a comparison of float64 numbers."""
        shape = shape or [len(given)]
        npy.save(WORK / "stored.npz", out=(shape, stored, "<f8"))
        spec = "%sxf64=%s" % ("x".join(map(str, shape)), ",".join(map(repr, given)))
        result = self.check(
            0 if ok else MISMATCH, "run", "identity.opdasm", "-i", spec, "--expect", "stored.npz", "--json", *words, silent=False
        )
        return json.loads(result.stdout)["comparisons"]["out"]

    def test_the_tolerance_is_a_sum(self):
        words = ("--atol", "0.5", "--rtol", "0.25")  # 0.5 + 0.25 * 4 = 1.5
        self.compare([5.5, 2.5, -5.5], [4.0, 4.0, -4.0], *words, ok=True)
        for given in 5.5000001, 2.4999999:
            self.assertEqual(1, self.compare([given], [4.0], *words)["mismatches"])
        self.compare([0.5], [0.0], *words, ok=True)
        self.compare([10.0], [8.0], "--rtol", "0.25", "--atol", "0", ok=True)  # of what is expected, not of what came
        self.compare([8.0], [10.0], "--rtol", "0.2", "--atol", "0", ok=True)
        self.assertEqual(1, self.compare([10.0], [8.0], "--rtol", "0.2", "--atol", "0")["mismatches"])

    def test_without_options_the_tolerance_is_small(self):
        self.compare([1000.009], [1000.0], ok=True)  # 1e-5 of it
        self.compare([1000.011], [1000.0])
        self.compare([0.9e-6], [0.0], ok=True)  # 1e-6
        self.compare([1.1e-6], [0.0])

    def test_the_worst_element_is_farthest_beyond_its_tolerance(self):
        found = self.compare(
            [100.0, 2.0, 5.0, 7.0, 7.0, 1040.0], [100.0, 1.0, 5.0, 7.0, 5.0, 1000.0], "--rtol", "0.1", "--atol", "0", shape=[2, 3]
        )
        self.assertEqual(
            {
                "ok": False,
                "elements": 6,
                "mismatches": 2,
                "largest_difference": 40,
                "text": "out: 2 of 6 elements differ, worst at [1, 1]: got 7, expected 5, off by 2",
            },
            found,
        )
        found = self.compare([1.0, 3.0, 3.0], [1.0, 2.0, 2.0])
        self.assertEqual("out: 2 of 3 elements differ, worst at [1]: got 3, expected 2, off by 1", found["text"])  # the first of equals
        found = self.compare([1.0, 1.5], [1.0, 1.0], "--atol", "0.75", ok=True)
        self.assertEqual(
            {"ok": True, "elements": 2, "mismatches": 0, "largest_difference": 0.5,
             "text": "out: as expected (largest difference 0.5)"}, found)

    def test_nothing_is_near_a_nan_or_an_infinity(self):
        nan, inf = math.nan, math.inf
        vast = ("--atol", "1e300", "--rtol", "1")
        for given, stored in (nan, 1.0), (1.0, nan), (inf, 1.0), (1.0, inf), (inf, -inf), (nan, inf):
            for options in vast, vast + ("--equal-nan",):
                found = self.compare([given, 1.0], [stored, 1.0], *options)
                self.assertEqual(1, found["mismatches"])
                words = tuple("%g" % number for number in (given, stored))
                self.assertEqual("out: 1 of 2 elements differ, worst at [0]: got %s, expected %s" % words, found["text"])
        self.compare([inf, -inf], [inf, -inf], ok=True)
        self.compare([nan], [nan])
        self.compare([nan], [nan], "--equal-nan", ok=True)

    def test_a_file_of_one_array_is_the_only_result(self):
        (WORK / "alone.npy").write_bytes(npy.dump([2], [1, 2]))
        words = ("run", "identity.opdasm", "--expect", "alone.npy", "-i")
        self.assertIn("out: as expected", self.succeeds(*words, "2xf32=1,2"))
        self.assertIn("1 of 2 elements differ, worst at [1]", self.fails(MISMATCH, *words, "2xf32=1,3"))
        self.assertIn("out: the result is not a tensor, number or shape\n", self.fails(MISMATCH, *words, "str=text"))

    def test_keys_name_the_kind_of_a_value_after_a_colon(self):
        npy.save(
            WORK / "kinds.npz",
            **{"out_0:shape": ([2], [2, 3], "<i8"), "out_1:none": ([0], [], "<i8"), "out_2:tuple": ([0], [], "<i8"), "input": ([1], [9])}
        )
        words = ("run", "identity.opdasm", "--expect", "kinds.npz", "-i")
        self.assertEqual(
            "out_0: [2, 3]\nout_0: as expected (largest difference 0)\n", self.succeeds(*words, "tuple(shape(2,3))")
        )
        self.assertIn("out_0: got int64[3], expected int64[2]", self.fails(MISMATCH, *words, "tuple(shape(2,3,4))"))
        self.succeeds(*words, "tuple(shape(2,3);none)")

    def test_a_prefix_may_end_with_a_slash(self):
        npy.save(WORK / "prefix.npz", first__out=([1], [1]), firstly__out=([1], [2]))
        for prefix in "first", "first/":
            self.succeeds("run", "identity.opdasm", "-i", "1xf32=1", "--expect", "prefix.npz:" + prefix)
        self.fails(MISMATCH, "run", "identity.opdasm", "-i", "1xf32=1", "--expect", "prefix.npz:firstly")
        message = "prefix.npz has no tensor third/out or third/out_0 to compare with"
        self.assertIn(message, self.fails(FAILED, "run", "identity.opdasm", "-i", "1xf32=1", "--expect", "prefix.npz:third"))

    def test_each_result_that_differs_has_a_line(self):
        npy.save(WORK / "both.npz", out_0=([1], [1]), out_1=([1], [2]), out_2=([1], [3]))
        words = ("run", "identity.opdasm", "--expect", "both.npz", "-i")
        self.assertEqual(
            "opdyno run: out_0: 1 of 1 elements differ, worst at [0]: got 5, expected 1, off by 4\n"
            "out_1: as expected (largest difference 0)\n"
            "out_2: is in both.npz, but the function does not return it\n",
            self.fails(MISMATCH, *words, "tuple(1xf32=5;1xf32=2)"),
        )
        for option in "--atol", "--rtol", "--equal-nan":
            value = () if option == "--equal-nan" else ("1",)
            self.assertIn("option '%s' needs --expect" % option, self.fails(USAGE, "run", "m", option, *value))
        for option in "--atol", "--rtol":
            message = self.fails(USAGE, *words, "1xf32", option, "-1")
            self.assertIn("option '%s' takes a number of at least 0, not '-1'" % option, message)
