"""The command compare: the operator that is named, on programs with one kernel made wrong on purpose and on real ones."""

import json
import os

import compare_programs
import npy
import programs
from case import *

DATA = os.environ["OPDYNO_INTEROP_DATA"]
INPUT = ("-i", "4x4xf32=rand(-1,1)")


def build(name, kernels, program=None):
    """WORK/name.so: a program with its kernels."""
    (WORK / (name + ".c")).write_text(kernels)
    (WORK / (name + ".opdasm")).write_text(program or compare_programs.program())
    subprocess.run([OPDYNO, "export", name + ".opdasm", name + ".so", "--import", name + ".c"], cwd=WORK, check=True)
    return name + ".so"


class CompareTest:
    def compare(self, *words, expect=OK):
        return self.check(expect, "compare", *words, "--repeat", "0", silent=False)

    def report(self, *words, expect=OK):
        return json.loads(self.compare(*words, "--as", "json", expect=expect).stdout)

    def rows(self, report):
        return [{name: next(iter(cell.values())) for name, cell in call.items()} for call in report["calls"]]

    def entry(self, report, name):
        return report["configuration"][name].get("string")


class CompareWrongKernels(CompareTest, CliTest):
    def test_of_20_builds_with_one_wrong_kernel_at_least_19_are_named(self):
        right = build("right", compare_programs.kernels())
        missed = []
        for how, (what, _) in enumerate(compare_programs.WRONGS):
            wrong = build("wrong", compare_programs.kernels(how, how))
            report = self.report(right, wrong, *INPUT, expect=MISMATCH)
            name = compare_programs.KERNELS[how][0]
            if (name, name) != (self.entry(report, "Cause"), self.entry(report, "Cause in A")):
                missed.append("%s (%s): %s" % (name, what, self.entry(report, "Verdict")))
        self.assertEqual(20, len(compare_programs.WRONGS))
        self.assertLessEqual(len(missed), 1, missed)

    def test_each_kernel_of_a_program_that_tvm_compiled_is_named(self):
        """A is as TVM made it; B is the same program with one kernel that fills its last argument wrongly."""
        defects = ["y[0] = NAN", "y[size - 1] += 0.5f", "for (int64_t i = 0; i < size; ++i) y[i] = 0.25f", ""]
        tried, missed = 0, []
        for model in ("transformer", "cnn", "mlp"):
            library = "%s/0.27/%s.so" % (DATA, model)
            function = "with_arguments" if model == "mlp" else "main"
            (WORK / (model + ".opdasm")).write_text(self.succeeds("dis", library))
            text = (WORK / (model + ".opdasm")).read_text()
            declared = [line.split()[1] for line in text.splitlines() if line.startswith(".declare")]
            called = text.split(".func %s(" % function)[1].split("\n}")[0]
            for kernel in (name for name in declared if "call %s(" % name in called and "." not in name):
                source = compare_programs.HEAD + "KERNEL(%s) { int64_t size = 1; float *y = F(count - 1);" % kernel
                source += " for (int i = 0; i < T(count - 1)->ndim; ++i) size *= T(count - 1)->shape[i];"
                source += " if (size) { memset(y, 0, 4 * size); %s; } return 0; }\n" % defects[tried % 4]
                (WORK / "wrong_one.c").write_text(source)
                report = self.report(library, model + ".opdasm", function, "--import", "wrong_one.c", "--import", library,
                                     expect=MISMATCH)
                tried += 1
                if self.entry(report, "Cause").split(" (")[0] != kernel:
                    missed.append((kernel, self.entry(report, "Verdict")))
        self.assertGreaterEqual(tried, 17)
        self.assertEqual([], missed)

    def test_a_wrong_kernel_of_a_is_named_as_well(self):
        right, wrong = build("right_b", compare_programs.kernels()), build("wrong_a", compare_programs.kernels(6, 0))
        text = self.compare(wrong, right, *INPUT, expect=MISMATCH).stdout
        self.assertRegex(text, r"^first difference at matmul1: max abs \S+ \(tolerance \S+\), caused by matmul1 whose inputs agree\n$")

    def test_all_names_changed_and_one_kernel_is_wrong(self):
        names = {name: "op_%s" % chr(97 + i) for i, (name, _, _) in enumerate(compare_programs.KERNELS)}
        source = compare_programs.kernels(11, 9)
        for name, other in names.items():
            source = source.replace("KERNEL(%s)" % name, "KERNEL(%s)" % other)
        right, other = build("right_c", compare_programs.kernels()), build("renamed", source, compare_programs.program(names))
        report = self.report(right, other, *INPUT, expect=MISMATCH)
        self.assertEqual(("op_l", "square"), (self.entry(report, "Cause"), self.entry(report, "Cause in A")))
        self.assertNotIn("without a counterpart", self.entry(report, "Verdict"))
        self.assertIn("first difference at op_l (in A: square): ", self.entry(report, "Verdict"))


def chain(*calls, result=None, params="x", before=()):
    """A program of calls "kernel: operands -> value", on float32[4, 4]."""
    lines, last = list(before), None
    for call in calls:
        kernel, rest = call.split(":")
        operands, last = rest.split("->")
        last = last.strip()
        lines.append(programs.output(last, "shape(4, 4)"))
        lines.append("call %s(%s, %%%s)" % (kernel, ", ".join("%" + name.strip() for name in operands.split(",")), last))
    return programs.program(programs.function("main", params, *lines, "ret %" + (result or last)))


SOURCE = compare_programs.HEAD + "".join(
    "KERNEL(%s) { %s float *y = F(%d); for (int i = 0; i < 16; ++i) y[i] = %s; return 0; }\n"
    % (name, "const float *a = F(0);" + (" const float *b = F(1);" if count == 2 else ""), count, body)
    for name, count, body in [
        ("half", 1, "a[i] * 0.5f"),
        ("double1", 1, "a[i] * 2 + 0.125f * i"),
        ("add", 2, "a[i] + b[i]"),
        ("relu", 1, "a[i] > 0 ? a[i] : 0"),
        ("fused_add_relu", 2, "a[i] + b[i] > 0 ? a[i] + b[i] : 0"),
        ("fused_wrong", 2, "(a[i] + b[i] > 0 ? a[i] + b[i] : 0) + (i == 5)"),
        ("add_wrong", 2, "a[i] + b[i] + 1"),
    ]
)
UNFUSED = chain("half: x -> h", "add: h, x -> s", "relu: s -> r", "double1: r -> t", "half: t -> u")
FUSED = chain("half: x -> h", "fused_add_relu: h, x -> r", "double1: r -> t", "half: t -> u")


class CompareMatching(CompareTest, CliTest):
    @classmethod
    def setUpClass(cls):
        (WORK / "small.c").write_text(SOURCE)

    def programs(self, a, b, *words, expect=OK):
        (WORK / "a.opdasm").write_text(a)
        (WORK / "b.opdasm").write_text(b)
        return self.report("a.opdasm", "b.opdasm", *words, "--import", "small.c", *(() if "-i" in words else INPUT), expect=expect)

    def test_fused_against_unfused_operators_agree_and_the_inner_one_has_no_counterpart(self):
        report = self.programs(UNFUSED, FUSED)
        states = {row["Name"]: (row["State"], row.get("Name in A"), row.get("Matched By")) for row in self.rows(report)}
        self.assertEqual(("equal", "relu", "value"), states["fused_add_relu"])
        self.assertEqual(("only in A", None, None), states["add"])
        self.assertIn("(without a counterpart: 1 of A, 0 of B)", self.entry(report, "Verdict"))

    def test_a_wrong_fused_operator_is_named_beside_the_operators_that_it_replaces(self):
        report = self.programs(UNFUSED, FUSED.replace("fused_add_relu", "fused_wrong"), expect=MISMATCH)
        self.assertEqual("fused_wrong", self.entry(report, "Cause"))
        self.assertEqual("add, relu", self.entry(report, "Cause in A"))
        self.assertIn("caused by fused_wrong (in A: add or relu), which read values that agree", self.entry(report, "Verdict"))

    def test_a_wrong_operator_within_an_unfused_group_is_among_the_causes(self):
        report = self.programs(FUSED, UNFUSED.replace("call add(", "call add_wrong("), expect=MISMATCH)
        self.assertEqual("add_wrong, relu", self.entry(report, "Cause"))

    def test_independent_operators_of_one_kind_may_change_places(self):
        one = chain("half: x -> a", "double1: x -> b", "half: b -> c", "add: a, c -> r")
        other = chain("double1: x -> b", "half: b -> c", "half: x -> a", "add: a, c -> r")
        report = self.programs(one, other)
        self.assertEqual({"equal"}, {row["State"] for row in self.rows(report)})
        report = self.programs(one, other.replace("call add(", "call add_wrong("), expect=MISMATCH)
        self.assertEqual(("add_wrong", "add"), (self.entry(report, "Cause"), self.entry(report, "Cause in A")))

    def test_kernels_numbered_otherwise_correspond(self):
        other = UNFUSED.replace("double1", "double7")
        (WORK / "small.c").write_text(SOURCE + SOURCE.replace(compare_programs.HEAD, "").replace("double1", "double7").replace("KERNEL(", "KERNEL(other_").replace("other_double7", "double7"))
        row = next(row for row in self.rows(self.programs(UNFUSED, other)) if row["Name"] == "double7")
        self.assertEqual(("equal", "double1", "order"), (row["State"], row["Name in A"], row["Matched By"]))

    def test_an_operator_more_does_not_shift_the_others(self):
        more = chain("half: x -> h", "add: h, h -> g", "add: h, x -> s", "relu: s -> r", "double1: r -> t", "half: t -> u")
        report = self.programs(UNFUSED, more)
        self.assertEqual(["only in B"], [row["State"] for row in self.rows(report) if row["State"] != "equal"])

    def test_a_constant_that_differs_is_named(self):
        def with_constant(last):
            text = programs.program(programs.function("main", "x", programs.output("t", "shape(4, 4)"), "call add(%x, @w, %t)", "ret %t"))
            return text.replace("@w", "tensor(float32, (4, 4), 0x%s)" % ("0000803f" * 15 + last))
        report = self.programs(with_constant("0000803f"), with_constant("00000040"), expect=MISMATCH)
        self.assertRegex(self.entry(report, "Verdict"), r"^first difference at add: max abs 1 .*, its input 1 differs already: constant \d+ \(max abs 1 ")

    def test_operators_in_place_and_results_that_are_arguments(self):
        in_place = programs.program(programs.function("main", "x", "call half(%x, %x)", "call double1(%x, %x)", "ret %x"))
        report = self.programs(in_place, in_place)
        self.assertEqual(["equal"] * 3, [row["State"] for row in self.rows(report)])
        report = self.programs(in_place, in_place.replace("call double1(", "call relu("), expect=MISMATCH)
        self.assertEqual(("relu", "double1"), (self.entry(report, "Cause"), self.entry(report, "Cause in A")))
        same = programs.program(programs.function("main", "x", "ret %x"))
        self.assertEqual("no difference: no operator was matched", self.entry(self.programs(same, same), "Verdict"))

    def test_results_of_other_structure_differ(self):
        one = chain("half: x -> h")
        pair = one.replace("  ret %h", "  %p = call vm.builtin.make_tuple(%h, %h)\n  ret %p")
        verdict = self.entry(self.programs(one, pair, expect=MISMATCH), "Verdict")
        self.assertEqual("no operator differs, but the result is a tensor float32[4, 4] on cpu:0 in A, but a tuple of 2 in B", verdict)

    def test_a_result_that_nothing_wrote_differs(self):
        one, other = chain("half: x -> h", "double1: h -> t"), chain("half: x -> h", "half: h -> t")
        other = other[: other.rindex("  call half(")] + other[other.rindex("  ret"):]
        report = self.programs(one, other, expect=MISMATCH)
        self.assertRegex(self.entry(report, "Verdict"), r"^first difference at result 0: NaN at \[0, 0\], .*, caused by double1 of A, which read values that agree")
        row = self.rows(report)[-1]
        self.assertEqual(("(result 0)", "differs", 16, None), (row["Name"], row["State"], row["Mismatches"], row.get("Max Abs")))

    def test_an_operator_in_place_agrees_with_one_that_is_not(self):
        one = chain("half: x -> h", "relu: h -> r", "double1: r -> t")
        other = one.replace("call relu(%h, %r)", "call relu(%h, %h)").replace("call double1(%r", "call double1(%h")
        self.assertNotEqual(one, other)
        for a, b in ((one, other), (other, one)):
            report = self.programs(a, b)
            self.assertEqual(["equal"] * 4, [row["State"] for row in self.rows(report)])
            self.assertEqual(["agree"] * 3, [row["Inputs"] for row in self.rows(report)[:3]])
            wrong = self.programs(a, b.replace("call relu(", "call double1("), expect=MISMATCH)
            self.assertEqual(("double1 (call 1 of 2)", "relu"), (self.entry(wrong, "Cause"), self.entry(wrong, "Cause in A")))

    def test_numbers_as_results_are_compared_as_elements_are(self):
        def result(value):
            return programs.program(programs.function("main", "x", "%%t = call vm.builtin.make_tuple(%s)" % value, "ret %t"))

        self.programs(result("f64(1)"), result("f64(1.00000000001)"))
        self.programs(result("f64(0.0)"), result("f64(-0.0)"))
        self.programs(result("f64(1.0)"), result("f64(1.5)"), "--atol", "0.5")
        self.programs(result("f64(nan)"), result("f64(nan)"))
        self.programs(result("f64(nan)"), result("f64(nan)"), "--nan-differs", expect=MISMATCH)
        self.assertIn("result 0 is 1 in A, but 1.5 in B", self.entry(self.programs(result("f64(1.0)"), result("f64(1.5)"), expect=MISMATCH), "Verdict"))
        self.assertIn("result 0 is int 1 in A, but float 1 in B", self.entry(self.programs(result("1"), result("f64(1.0)"), expect=MISMATCH), "Verdict"))

    def test_tensors_without_elements_differ_by_their_shapes(self):
        def result(size):
            return programs.program(programs.function("main", "x", programs.output("t", "shape(0, %d)" % size), "ret %t"))

        self.assertIn("is a tensor float32[0, 3] on cpu:0 in A, but a tensor float32[0, 4] on cpu:0 in B",
                      self.entry(self.programs(result(3), result(4), expect=MISMATCH), "Verdict"))

    def test_functions_as_results_cannot_be_compared(self):
        closures = programs.program(programs.function("main", "x", "%f = call vm.builtin.make_closure(@inner, %x)", "ret %f"), programs.function("inner", "x", "ret %x"))
        report = self.programs(closures, closures, expect=MISMATCH)
        self.assertEqual("undecided: no operator was matched; the result has functions, which cannot be compared", self.entry(report, "Verdict"))

    def test_a_limit_that_a_program_exceeds_is_its_failure(self):
        deep = programs.program(programs.function("main", "x", "%r = call main(%x)", "ret %r"))
        for a, b, side in ((UNFUSED, deep, "B"), (deep, UNFUSED, "A")):
            (WORK / "a.opdasm").write_text(a)
            (WORK / "b.opdasm").write_text(b)
            done = self.check(FAILED, "compare", "a.opdasm", "b.opdasm", "--import", "small.c", *INPUT, silent=False)
            self.assertTrue(done.stdout.startswith(side + " fails: calls are nested more than 1000 deep"), done.stdout)

    def test_nan_agrees_with_nan_unless_it_shall_not(self):
        words = ("-i", "4x4xf32=nan")
        self.assertEqual("equal", self.rows(self.programs(UNFUSED, UNFUSED, *words))[0]["State"])
        kernels = SOURCE.replace("a[i] * 0.5f", "a[i] + NAN"), SOURCE.replace("a[i] * 0.5f", "a[i] - NAN")
        one, other = (build("nan%d" % i, source, UNFUSED) for i, source in enumerate(kernels))
        self.compare(one, other, *INPUT)
        self.compare(one, other, *INPUT, "--nan-differs", expect=MISMATCH)
        same = self.programs(UNFUSED, UNFUSED, "--nan-differs", "--rtol", "0")
        self.assertIn("agree bit for bit", self.entry(same, "Verdict"))


class Compare(CompareTest, CliTest):
    @classmethod
    def setUpClass(cls):
        (WORK / "small.c").write_text(SOURCE)
        for name, text in (("unfused", UNFUSED), ("wrong", UNFUSED.replace("call add(", "call add_wrong("))):
            (WORK / (name + ".opdasm")).write_text(text)

    def small(self, *words, expect=OK):
        return self.check(expect, "compare", *words, "--import", "small.c", *INPUT, silent=False)

    def test_builds_of_three_releases_are_equal(self):
        for model, function in (("mlp", "with_constants"), ("control", "fibonacci"), ("control", "even"), ("parallel", "doubled"),
                                ("closures", "add_twice"), ("tuples", "nested"), ("reshape", "write_through_view")):
            for release in ("0.25", "0.26"):
                text = self.compare("%s/%s/%s.so" % (DATA, release, model), "%s/0.27/%s.so" % (DATA, model), function).stdout
                self.assertRegex(text, r"^no difference: \d+ operators? agrees? bit for bit\n$")

    def test_bytecode_and_machine_code_of_a_program_are_equal(self):
        text = self.compare(DATA + "/0.27/mlp.so", DATA + "/compiled/0.27/mlp.so", "with_constants").stdout
        self.assertEqual("no difference: 2 operators agree bit for bit\n", text)

    def test_the_operators_whose_time_moved_are_listed(self):
        spin = 'KERNEL(spin) { for (int i = 0; i < %d; ++i) __asm__ volatile(""); return 0; }\n'
        one, other = (
            build("spin%d" % count, SOURCE + spin % count, UNFUSED.replace("  ret", "  call spin(%x, %x)\n  ret"))
            for count in (20000, 400000)
        )
        for count in (20, 100, 500):  # on a busy machine, few runs may not be clear
            text = self.succeeds("compare", one, other, *INPUT, "--times", "times.json", "--as", "table", "--repeat", str(count))
            if "times: B is" in text:
                break
        self.assertRegex(text, r"\ntimes: B is .* slower; spin .*\n  spin .*: \d+\.\d\d -> \d+\.\d\d us \(\+")
        self.assertEqual("total", json.loads((WORK / "times.json").read_text())["calls"][0]["Kind"]["string"])

    def test_each_form_has_the_verdict_and_the_operators(self):
        words = ("unfused.opdasm", "wrong.opdasm", "--repeat", "0", "-o", "all.html", "--as")
        for form in ("sentence", "table", "markdown"):
            text = self.small(*words, form, expect=MISMATCH).stdout
            self.assertTrue(text.startswith("first difference at add_wrong (in A: add): max abs 1 (tolerance "), text)
            self.assertEqual(form != "sentence", "double1" in text)
        self.assertIn("differs", self.small(*words, "csv", expect=MISMATCH).stdout)
        self.assertIn("first difference at add_wrong", self.small(*words, "html", expect=MISMATCH).stdout)
        self.assertIn("<dt>Verdict</dt><dd>first difference at add_wrong", (WORK / "all.html").read_text())

    def test_the_tensors_around_the_first_difference_are_saved(self):
        self.small("unfused.opdasm", "wrong.opdasm", "--save", "around", "--repeat", "0", expect=MISMATCH)
        for side, name in (("a", "add"), ("b", "add_wrong")):
            text = self.succeeds("info", "around/%s.npz" % side)
            for tensor in ("input_0", "input_1", "output_2"):
                self.assertIn("%s/%s" % (name, tensor), text)
        identity = programs.program(programs.function("main", "x", "ret %x"))
        (WORK / "identity.opdasm").write_text(identity)
        self.succeeds("run", "identity.opdasm", "-i", "@around/a.npz:add/output_2", "-o", "sum.npz")
        self.check(MISMATCH, "run", "identity.opdasm", "-i", "@around/b.npz:add_wrong/output_2", "--expect", "sum.npz", silent=False)
        self.succeeds("run", "identity.opdasm", "-i", "@around/b.npz:add_wrong/output_2", "--expect", "sum.npz", "--atol", "1.001")

    def test_tolerances_decide(self):
        words = ("unfused.opdasm", "wrong.opdasm", "--repeat", "0")
        self.small(*words, "--atol", "3")
        self.small(*words, "--atol", "float32=3")
        self.small(*words, "--atol", "float16=3", expect=MISMATCH)
        for text in ("float32=-1", "", "1e-4,", ",", "float32="):
            self.assertIn("rtol takes numbers of at least 0", self.small(*words, "--rtol", text, expect=USAGE).stderr)
        self.assertIn("atol names float32 twice", self.small(*words, "--atol", "float32=1,float32=2", expect=USAGE).stderr)
        self.assertIn("atol has two numbers without a dtype", self.small(*words, "--atol", "1,float32=2,3", expect=USAGE).stderr)
        self.assertIn("--save", self.small(*words, "--save", "", expect=USAGE).stderr)
        self.assertIn('"float33', self.small(*words, "--rtol", "floaty=1", expect=USAGE).stderr.replace("floaty", "float33"))

    def test_a_float16_build_gets_the_same_input_and_a_tolerance_of_its_own(self):
        half = SOURCE.replace("float *y", "_Float16 *y").replace("const float *", "const _Float16 *").replace("= F(", "= (void *)F(")
        text = UNFUSED.replace("float32", "float16")
        head = 'call vm.builtin.check_tensor_info(%%x, 2, dtype(%s), "x")\n'
        one = build("whole", SOURCE, UNFUSED.replace("{\n", "{\n  " + head % "float32", 1))
        other = build("half", half, text.replace("{\n", "{\n  " + head % "float16", 1))
        words = ("--rtol", "float16=5e-3", "--atol", "float16=5e-3")
        rows = self.rows(self.report(one, other, *INPUT, *words))
        self.assertEqual({"agrees"}, {row["State"] for row in rows})
        self.assertEqual("float32[4, 4], float32[4, 4]", rows[0]["Argument Shapes in A"])
        wrong = build("half_wrong", half.replace("a[i] > 0 ? a[i] : 0;", "a[i] > 0 ? a[i] : 0.03f;"), text.replace("{\n", "{\n  " + head % "float16", 1))
        report = self.report(one, wrong, *INPUT, *words, expect=MISMATCH)
        self.assertEqual(("relu", "relu"), (self.entry(report, "Cause"), self.entry(report, "Cause in A")))

    def test_b_may_run_on_another_device(self):
        source = 'KERNEL(where) { float *y = F(1); for (int i = 0; i < 16; ++i) y[i] = F(0)[i] + T(%d)->device[1]; return 0; }\n'
        (WORK / "where.opdasm").write_text(chain("where: x -> y"))
        for place, of in enumerate(("argument", "result")):
            (WORK / "where.c").write_text(compare_programs.HEAD + source % place)
            words = ("where.opdasm", "where.opdasm", "--import", "where.c", *INPUT)
            self.assertEqual("no difference: 1 operator agrees bit for bit\n", self.compare(*words, "--device", "cpu:3").stdout)
            text = self.compare(*words, "--device", "cpu:3", "--b-device", "cpu:5", expect=MISMATCH).stdout
            self.assertRegex(text, r"^first difference at where: max abs 2 \(.*, caused by where whose inputs agree\n$", of)
        self.assertIn("option '--b-device': ", self.fails(USAGE, "compare", *words, "--b-device", "nowhere"))
        self.assertIn("there is no device metal:0 here: ", self.fails(FAILED, "compare", *words, "--b-device", "metal:0"))

    def test_b_may_have_parameters_of_its_own(self):
        """Of weights in steps of 1/8: A reads w, B reads how many steps it has."""
        source = compare_programs.HEAD + (
            "KERNEL(times) { for (int i = 0; i < 4; ++i) F(2)[i] = F(0)[i] * F(1)[i]; return 0; }\n"
            "KERNEL(times_steps) { for (int i = 0; i < 4; ++i) F(3)[i] = F(0)[i] * ((int8_t *)T(1)->data)[i] * F(2)[0]; return 0; }\n")
        (WORK / "times.c").write_text(source)
        out = programs.output("y", "shape(4)")
        (WORK / "weights.opdasm").write_text(programs.program(programs.function("main", "x, w", out, "call times(%x, %w, %y)", "ret %y")))
        (WORK / "steps.opdasm").write_text(programs.program(programs.function("main", "steps, x, scale", out, "call times_steps(%x, %steps, %scale, %y)", "ret %y")))
        npy.save(WORK / "w.npz", w=([4], [0.5, -1, 0.26, 2]))
        npy.save(WORK / "steps.npz", steps=([4], [4, -8, 2, 16], "|i1"), scale=([1], [0.125]))
        words = ("weights.opdasm", "steps.opdasm", "--import", "times.c", "-i", "x:4xf32=1,2,3,4", "--params", "w.npz")
        text = self.compare(*words, "--b-params", "steps.npz", "--atol", "0.1").stdout
        self.assertEqual("no difference: 1 operator agrees\n", text.replace(", 0 of them bit for bit", ""))
        text = self.compare(*words, "--b-params", "steps.npz", expect=MISMATCH).stdout
        self.assertRegex(text, r"^first difference at times_steps \(in A: times\): max abs 0\.03 ")
        self.assertIn("the programs take different arguments: main(x, w) in A, main(steps, x, scale) in B", self.compare(*words, expect=USAGE).stderr)
        self.assertIn("parameter steps of main of B is neither in w.npz nor a parameter of A", self.compare(*words, "--b-params", "w.npz", expect=USAGE).stderr)
        npy.save(WORK / "other.npz", other=([1], [1]))
        self.assertIn("other.npz has no tensor with the name of a parameter of main of B",
                      self.compare("weights.opdasm", "weights.opdasm", *words[2:], "--b-params", "other.npz", expect=USAGE).stderr)
        self.assertIn("cannot open none.npz", self.compare(*words, "--b-params", "none.npz", expect=FAILED).stderr)

    def test_a_program_that_fails_is_said_with_its_place(self):
        (WORK / "fails.opdasm").write_text(UNFUSED.replace("call double1(", "call fails("))
        (WORK / "fails.c").write_text(SOURCE + 'extern void TVMFFIErrorSetRaisedFromCStr(const char *, const char *);\n'
                                      'KERNEL(fails) { TVMFFIErrorSetRaisedFromCStr("ValueError", "it always does"); return -1; }\n')
        text = self.check(FAILED, "compare", "unfused.opdasm", "fails.opdasm", "--import", "fails.c", *INPUT, silent=False).stdout
        self.assertRegex(text, r"^B fails: fails: it always does \(called by main, instruction 11\); before that, 3 operators agree bit for bit")
        done = self.check(FAILED, "compare", "fails.opdasm", "fails.opdasm", "--import", "fails.c", *INPUT, "--times", "none.json", silent=False)
        self.assertTrue(done.stdout.startswith("both fail: fails: it always does"), done.stdout)
        self.assertIn("none.json was not written, because a program failed", done.stderr)

    def test_programs_of_other_signatures_are_refused(self):
        (WORK / "two.opdasm").write_text(UNFUSED.replace("main(x)", "main(x, more)"))
        self.assertIn("the programs take different arguments: main(x) in A, main(x, more) in B",
                      self.small("unfused.opdasm", "two.opdasm", expect=USAGE).stderr)
        (WORK / "other.opdasm").write_text(UNFUSED.replace("main(x)", "mine(x)"))
        self.assertIn("no function 'main'", self.small("unfused.opdasm", "other.opdasm", expect=USAGE).stderr)

    def test_a_deadline_ends_the_comparison(self):
        (WORK / "naps.opdasm").write_text(programs.NAPS.replace("call naps(%x, %t)\n", 200 * "call naps(%x, %t)\n  "))
        library = compile_kernels("naps.so")
        error = self.fails(FAILED, "compare", "naps.opdasm", "naps.opdasm", "--import", library, "--timeout", "60ms")
        self.assertIn("deadline", error)

    def test_what_is_not_kept_is_said(self):
        report = json.loads(self.small("unfused.opdasm", "wrong.opdasm", "--keep", "64", "--as", "json", "--repeat", "0", expect=MISMATCH).stdout)
        self.assertRegex(self.entry(report, "Verdict"), "^undecided: .*, values were not kept, and their bits differ")
        self.assertIn("values were not kept", report["configuration"]["Note"]["string"])
        states = [row["State"] for row in self.rows(report)]
        self.assertIn("unknown", states)
        self.assertNotIn("differs", states)

    def test_ten_thousand_operators(self):
        calls = programs.output("t", "shape(4, 4)") + "  call half(%x, %t)\n" + programs.output("u", "shape(4, 4)") + "  call add(%t, %x, %u)\n"
        text = programs.program(programs.function("main", "x", 5000 * calls, "ret %u"))
        wrong = text[: text.rindex("call add(")] + "call add_wrong(" + text[text.rindex("call add(") + len("call add("):]
        (WORK / "long.opdasm").write_text(text)
        (WORK / "long_wrong.opdasm").write_text(wrong)
        self.assertTrue(self.small("long.opdasm", "long.opdasm", "--repeat", "0").stdout.startswith("no difference: 10000 operators agree"))
        self.assertIn("first difference at add_wrong", self.small("long.opdasm", "long_wrong.opdasm", "--repeat", "0", expect=MISMATCH).stdout)

    def test_empty_tensors_agree(self):
        (WORK / "empty.opdasm").write_text(UNFUSED.replace("shape(4, 4)", "shape(0, 4)"))
        (WORK / "nothing.c").write_text(SOURCE.replace("i < 16", "i < 0"))
        text = self.compare("empty.opdasm", "empty.opdasm", "--import", "nothing.c", "-i", "0x4xf32").stdout
        self.assertTrue(text.startswith("no difference: "), text)

    def test_shapes_that_the_program_leaves_open_and_branches(self):
        for words in (("dynamic", "affine", "--dim", "n=3"), ("branches", "run", "--dim", "n=4")):
            library = "%s/0.27/%s.so" % (DATA, words[0])
            self.assertRegex(self.compare(library, library, *words[1:]).stdout, r"^no difference: \d+ operators? agrees? bit for bit\n$")

    def test_wrong_words_are_usage_errors(self):
        self.assertIn("--as", self.small("unfused.opdasm", "wrong.opdasm", "--as", "xml", expect=USAGE).stderr)
        self.assertIn("--repeat is 0", self.small("unfused.opdasm", "wrong.opdasm", "--repeat", "0", "--times", "t.json", expect=USAGE).stderr)
        library = "%s/0.27/branches.so" % DATA
        self.assertIn("branches.so has no function 'main', which unfused.opdasm has", self.small("unfused.opdasm", library, expect=USAGE).stderr)
        self.assertIn("is a plain function", self.small("unfused.opdasm", "small.c", "half", expect=USAGE).stderr)
