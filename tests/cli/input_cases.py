"""Inputs: random ones, those that a program or its kernels ask for, and how sizes are found."""

import json
import struct
import subprocess

from case import COMPILER, FAILED, OK, USAGE, WORK, CliTest
from programs import HEAP, check, function, output, program


def to_float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def splitmix(seed, stream):
    """SplitMix64 as published; a stream is one argument of a seed."""
    mask, state = 2**64 - 1, seed

    def step():
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        return z ^ z >> 31

    state = step() ^ (stream * 0xD1342543DE82EF95 & mask)
    return step


def reals(seed, stream, count, low=0.0, high=1.0):
    step = splitmix(seed, stream)
    return [to_float32(low + (step() >> 11) * 2.0**-53 * (high - low)) for _ in range(count)]


def integers(seed, stream, count, low=0, high=1):
    step, span = splitmix(seed, stream), high - low + 1
    limit = (2**64 - 1) - (2**64 - 1) % span  # numbers from there on would favour the lower ones
    numbers = iter(step, None)
    return [low + next(number for number in numbers if number < limit) % span for _ in range(count)]


class RandomInputs(CliTest):
    def outputs(self, spec, *words):
        found = json.loads(self.succeeds("run", "identity.opdasm", "-i", spec, "--json", *words))["outputs"]
        return [[to_float32(x) if isinstance(x, float) else x for x in one["data"]] for one in found.values()]

    def test_reals_lie_evenly_in_their_range(self):
        self.assertEqual([reals(0, 0, 5)], self.outputs("5xf32"))
        self.assertEqual([reals(0, 0, 5)], self.outputs("5xf32=rand"))
        self.assertEqual([reals(9, 0, 5, -3, 5)], self.outputs("5xf32=rand(-3,5)", "--seed", "9"))
        self.assertEqual([reals(0, 0, 4)], self.outputs("2xcomplex64"))

    def test_integers_take_each_value_equally_often(self):
        self.assertEqual([integers(0, 0, 20)], self.outputs("20xi32"))
        self.assertEqual([integers(0, 0, 20, -2, 7)], self.outputs("20xi16=rand(-2.5,7.9)"))
        self.assertEqual([integers(3, 0, 20, 0, 255)], self.outputs("20xu8=rand(0,255)", "--seed", "3"))
        high = 3 * 2**61  # of two numbers one is thrown away
        self.assertEqual([integers(1, 0, 20, -high, high)], self.outputs("20xi64=rand(%d,%d)" % (-high, high), "--seed", "1"))
        message = "input '1xi64=rand(0,9.3e18)': 9.3e+18 does not fit the elements' dtype"
        self.assertIn(message, self.fails(USAGE, "run", "identity.opdasm", "-i", "1xi64=rand(0,9.3e18)"))
        self.assertEqual([[bool(x) for x in integers(0, 0, 9)]], self.outputs("9xbool"))

    def test_each_argument_and_each_item_has_its_own_numbers(self):
        self.assertEqual([reals(0, 1000, 3), integers(0, 1001, 3)], self.outputs("tuple(3xf32;3xi32)"))
        self.assertEqual([[1, 1], [2], reals(0, 1_003_000, 2)], self.outputs("tuple(2xi8=1;1xi8=2;tuple(2xf32))"))
        words = ("run", "with_weight.opdasm", "--import", "kernels.c", "--json")
        total = json.loads(self.succeeds(*words))["outputs"]["out"]["data"]
        wanted = [to_float32(a + b) for a, b in zip(reals(0, 0, 4), reals(0, 1, 4))]
        self.assertEqual(wanted, [to_float32(x) for x in total])


class ProbedInputs(CliTest):
    """What a program checks in its first function is known from its description; the rest is found by a trial call."""

    def write(self, name, *functions):
        (WORK / name).write_text(program(*functions))
        return name

    def with_signature(self, text, name="signed.so"):
        """A library of the kernels that holds the text, as TVM's kernels hold their signatures for messages."""
        source = (WORK / "kernels.c").read_text() + 'const char kSignature[] = "\\0%s";\n' % text
        (WORK / "signed.c").write_text(source)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", name, "signed.c"], cwd=WORK, check=True)
        return name

    def test_an_example_fits_what_is_known_of_a_parameter(self):
        prefix = "call vm.builtin."
        for lines, example in (
            ([], "x:2x3xf32"),
            ([prefix + 'check_tensor_info(%x, 2, dtype(int8), "m")'], "x:2x3xint8"),
            ([prefix + 'check_tensor_info(%x, 0, "m")'], "x:0dxf32"),
            ([HEAP, prefix + 'match_shape(%x, %heap, 2, 0, 4, 0, 5, "m")'], "x:4x5xf32"),
            ([prefix + 'check_shape_info(%x, 2, "m")'], "x:'shape(2,3)'"),
            ([prefix + 'check_tuple_info(%x, 2, "m")'], "x:'tuple(2x3xf32;2x3xf32)'"),
            ([prefix + 'check_string_info(%x, "m")'], "x:str=text"),
            ([prefix + 'check_prim_value_info(%x, dtype(float64), "m")'], "x:f64=0.5"),
            ([prefix + 'check_prim_value_info(%x, dtype(int32), "m")'], "x:i64=7"),
            ([prefix + 'check_prim_value_info(%x, dtype(bool), "m")'], "x:bool=true"),
        ):
            inner = function("inner", "x", *lines, "ret %x")
            outer = function("outer", "x", "%r = call inner(%x)", "ret %r")
            name = self.write("example.opdasm", inner, outer)
            for called in "inner", "outer":
                if called == "outer" and ("tuple" in example or "str=" in example):
                    continue  # a tensor stands in for what is not known
                message = self.fails(USAGE, "run", name, called)
                self.assertEqual(
                    "opdyno run: parameter x of %s: neither the program nor its kernels tell its whole shape and dtype; "
                    "pass it, as in -i %s\nTry 'opdyno help run'.\n" % (called, example),
                    message,
                )

    def test_checks_of_inner_functions_are_found(self):
        inner = function("inner", "x", HEAP, *check("x"), "ret %x")
        name = self.write("checked.opdasm", function("main", "x", "%r = call inner(%x)", "ret %r"), inner)
        self.assertIn("out: float32[4]\n", self.succeeds("run", name))
        scalar = function("inner", "x", 'call vm.builtin.check_tensor_info(%x, 0, dtype(int8), "m")', "ret %x")
        name = self.write("scalar.opdasm", function("main", "x", "%r = call inner(%x)", "ret %r"), scalar)
        self.assertEqual("out: int8[]\n1\n", self.succeeds("run", name))

    def test_what_is_given_stays_and_the_rest_is_found(self):
        inner = function("inner", "x, y", HEAP, *check("y"), "%r = call vm.builtin.make_tuple(%x, %y)", "ret %r")
        name = self.write("half.opdasm", function("main", "x, y", "%r = call inner(%x, %y)", "ret %r"), inner)
        text = self.succeeds("run", name, "-i", "x:2xi8=5")
        self.assertTrue(text.startswith("out_0: int8[2]\n[5 5]\nout_1: float32[4]\n"), text)
        self.assertIn("parameter x of main: neither", self.fails(USAGE, "run", name, "-i", "y:4xf32"))

    def test_checks_behind_a_check_that_says_nothing_new_are_found(self):
        inner = function(
            "inner", "x, y", HEAP, *check("x"), *check("x"), output("t"), *check("y"), "%r = call vm.builtin.make_tuple(%x, %y)", "ret %r")
        name = self.write("again.opdasm", function("main", "x, y", "%r = call inner(%x, %y)", "ret %r"), inner)
        text = self.succeeds("run", name)
        self.assertEqual(2, text.count(": float32[4]\n"), text)

    def test_open_sizes_are_counted_by_their_place_in_the_program(self):
        tensor = 'call vm.builtin.check_tensor_info(%%%s, 2, dtype(float32), "m")'
        inner = function(
            "inner", "x, y", "%heap = call vm.builtin.alloc_shape_heap(%vm, 9)", tensor % "x",
            'call vm.builtin.match_shape(%x, %heap, 2, 1, 7, 1, 3, "m")', tensor % "y",
            'call vm.builtin.match_shape(%y, %heap, 2, 3, 7, 0, 5, "m")', "%r = call vm.builtin.make_tuple(%x, %y)", "ret %r",
        )
        name = self.write("slots.opdasm", function("main", "x, y", "%r = call inner(%x, %y)", "ret %r"), inner)
        message = self.fails(USAGE, "run", name)
        self.assertIn("parameter x of main has the shape [n1, n0]; pass the size of n1, as in --dim n1=4\n", message)
        message = self.fails(USAGE, "run", name, "--dim", "n1=2")
        self.assertIn("pass the size of n0, as in --dim n0=4\n", message)
        text = self.succeeds("run", name, "--dim", "n1=2", "--dim", "n0=3")
        self.assertIn("out_0: float32[2, 3]\n", text)
        self.assertIn("out_1: float32[2, 5]\n", text)
        # Of the called function's own checks, what is given tells a size of the other parameter.
        text = self.succeeds("run", name, "inner", "-i", "y:7x5xf32", "--dim", "n0=1")
        self.assertIn("out_0: float32[7, 1]\n", text)
        message = self.fails(USAGE, "run", name, "inner", "-i", "y:7x5xf32", "--dim", "n0=1", "--dim", "n1=8")
        self.assertIn("option '--dim' says n1=8, but parameter y of inner is given an argument with n1=7", message)

    def test_one_open_size_has_no_number(self):
        tensor = 'call vm.builtin.check_tensor_info(%x, 1, dtype(float32), "m")'
        inner = function("inner", "x", HEAP, tensor, 'call vm.builtin.match_shape(%x, %heap, 1, 1, 1, "m")', "ret %x")
        name = self.write("slot.opdasm", function("main", "x", "%r = call inner(%x)", "ret %r"), inner)
        self.assertIn("out: float32[6]\n", self.succeeds("run", name, "--dim", "n=6"))
        for code, words, shape in ("1, 0", ("--dim", "n=6"), "[6]"), ("0, 0", (), "[0]"):  # the first slot, and no elements
            inner = function("inner", "x", HEAP, tensor, 'call vm.builtin.match_shape(%%x, %%heap, 1, %s, "m")' % code, "ret %x")
            name = self.write("slot.opdasm", function("main", "x", "%r = call inner(%x)", "ret %r"), inner)
            self.assertIn("out: float32%s\n" % shape, self.succeeds("run", name, *words))
        number = function("inner", "k", HEAP, 'call vm.builtin.match_prim_value(%k, %heap, 1, 0, "m")', "ret %k")
        name = self.write("number.opdasm", function("main", "k", "%r = call inner(%k)", "ret %r"), number)
        self.assertEqual("out: 6\n", self.succeeds("run", name, "--dim", "n=6"))
        number = function("inner", "k", HEAP, 'call vm.builtin.match_prim_value(%k, %heap, 1, 1, "m")', "ret %k")
        name = self.write("number.opdasm", function("main", "k", "%r = call inner(%k)", "ret %r"), number)
        self.assertEqual("out: 6\n", self.succeeds("run", name, "--dim", "n=6"))

    def test_a_given_number_tells_a_size(self):
        text = self.succeeds("run", "shapes.opdasm", "-i", "k:i64=7", "--dim", "n1=2")
        self.assertEqual("out_0: [7, 2]\nout_1: 7\n", text)
        self.assertIn("s of main has the shape [n0, n1]; pass the size of n1", self.fails(USAGE, "run", "shapes.opdasm", "-i", "k:i64=7"))
        self.assertIn(
            "option '--dim' says n0=3, but parameter k of main is given an argument with n0=7",
            self.fails(USAGE, "run", "shapes.opdasm", "-i", "k:i64=7", "--dim", "n0=3"),
        )

    def test_signatures_of_kernels_tell_shapes_and_dtypes(self):
        def run(signature, *words, code=OK, name="unchecked.opdasm"):
            return self.check(code, "run", name, "--import", "./" + self.with_signature(signature), *words, "--csv")

        result = "t: Tensor([T.int64(4)], float32)"
        rows = run("add_one(x: Tensor([T.int64(4)], float32), %s)" % result).stdout.splitlines()
        wanted = [to_float32(1 + x) for x in reals(0, 0, 4)]
        self.assertEqual(wanted, [to_float32(float(row.split(",")[2])) for row in rows[1:]])
        message = run("add_one(x: Tensor([n], float32), %s)" % result, code=USAGE).stderr
        self.assertIn("parameter x of main has the shape [n]; pass the size of n, as in --dim n=4", message)
        run("add_one(x: Tensor([n], float32), %s)" % result, "--dim", "n=2")
        for signature in ("add_one(x: handle, %s)", "add_one(x: Tensor([n + 1], float32), %s)", "another(x: Tensor([T.int64(4)], float32), %s)"):
            self.assertIn("neither the program nor its kernels", run(signature % result, code=USAGE).stderr)
        message = run("add_one(x: Tensor([T.int64(4)], weird9), %s)" % result, code=FAILED).stderr
        self.assertIn('opdyno run: parameter x of main: "weird9" is not a dtype; write it as float32', message)

    def test_a_tensor_that_is_reshaped_has_a_shape_of_as_many_elements(self):
        name = self.write("reshaped.opdasm", function(
            "main", "x", "%y = call vm.builtin.reshape(%x, shape(2, 2))", output("t"), "call add_one(%y, %t)", "ret %t"))
        library = self.with_signature("add_one(x: Tensor([T.int64(9)], float32), t: Tensor([T.int64(4)], float32))")
        text = self.succeeds("inspect", library, "--signatures", "--load")
        self.assertIn("\n  add_one: add_one(x: Tensor([T.int64(9)], float32), t: Tensor([T.int64(4)], float32))\n", text)
        self.assertIn("\n  add(…)\n", text)
        # The kernel sees the result of reshape(): it tells the dtype, but not the shape.
        self.assertTrue(self.succeeds("run", name, "--import", "./" + library).startswith("out: float32[4]\n[1."))
        message = self.fails(USAGE, "run", name, "--import", "kernels.c")
        self.assertIn("as in -i x:2x2xf32\n", message)

    def test_a_loop_over_skipped_kernels_ends(self):
        name = self.write("endless.opdasm", function("main", "x", output("t"), "again:", "call add_one(%x, %t)", "goto again", "ret %t"))
        self.assertIn("neither the program nor its kernels", self.fails(USAGE, "run", name, "--import", "kernels.c"))


class GivenInputs(CliTest):
    def test_parameters_of_files_do_not_replace_what_is_given(self):
        text = self.kernel("with_weight.opdasm", "--params", "two.npz", "-i", "weight:4xf32=1").stdout
        self.assertIn("[6 7 8 9]", text)  # x is of the file

    def test_names_and_places_may_be_mixed(self):
        text = self.kernel("with_weight.opdasm", "-i", "4xf32=1", "-i", "x:4xf32=10").stdout
        self.assertIn("[11 11 11 11]", text)
        message = self.kernel("with_weight.opdasm", "-i", "4xf32", "-i", "4xf32", "-i", "4xf32=3", expect=USAGE).stderr
        self.assertIn("input '4xf32=3': main has no parameter left for it. Its parameters: x, weight\n", message)
        message = self.kernel("with_weight.opdasm", "-i", "weigth:4xf32", expect=USAGE).stderr
        self.assertIn(
            "input 'weigth:4xf32': main has no parameter 'weigth'. Did you mean 'weight'? Its parameters: x, weight\n", message)
        (WORK / "bare.opdasm").write_text(".func main() {\n  ret %void\n}\n")
        self.assertIn("Its parameters: none\n", self.fails(USAGE, "run", "bare.opdasm", "-i", "i64=1"))
        self.assertEqual("out: None\n", self.succeeds("run", "bare.opdasm"))

    def test_a_size_is_given_once(self):
        for words, message in (
            (("--dim", "n=3", "--dim", "n=4"), "the size of n is given twice, by --dim and --dim"),
            (("--dim", "=3"), "option '--dim' takes a name and a size as n=4, not '=3'"),
            (("--dim", "n"), "option '--dim' takes a name and a size as n=4, not 'n'"),
            (("--dim", "n=-1"), "option '--dim' takes a name and a size as n=4, not 'n=-1'"),
            (("--dim", "n=3", "--dim", "m=1"), "option '--dim': no size is called 'm' here."),
            (("--dim", "nn=3"), "parameter x of main has the shape [n]; pass the size of n"),
        ):
            self.assertIn(message, self.kernel("symbolic.opdasm", *words, expect=USAGE).stderr)
        self.kernel("symbolic.opdasm", "--dim", "n=3", "--dim", "n=3")
        text = self.kernel("symbolic.opdasm", "--dim", "n=0").stdout
        self.assertIn("out_0: float32[0]\n[]\n", text)
        message = self.fails(USAGE, "run", "identity.opdasm", "-i", "mxf32")
        self.assertIn("input 'mxf32' has the shape [m]; pass the size of m, as in --dim m=4\n", message)

    def test_a_file_must_hold_what_the_type_says(self):
        self.assertIn(
            "input '2x2xf32=@x.npy': x.npy holds float32[4], not float32[2, 2]\n",
            self.fails(USAGE, "run", "identity.opdasm", "-i", "2x2xf32=@x.npy"),
        )
        self.assertIn(
            "input '@two.npz': two.npz holds 2 tensors; name one as @two.npz:KEY (x, weight)\n",
            self.fails(USAGE, "run", "identity.opdasm", "-i", "@two.npz"),
        )
        self.assertIn("two.npz", self.fails(USAGE, "run", "identity.opdasm", "-i", "@two.npz:y"))
