"""Inputs that are not given: their shapes and dtypes are found in the checks of the program and of its kernels."""

import json
import os
import re
from pathlib import Path

from case import FAILED, OK, REFUSED, USAGE, WORK, CliTest, run

DATA = Path(os.environ["OPDYNO_INTEROP_DATA"])

# What a function needs beyond tensors of known sizes.
NEEDS = {
    USAGE: "pass",  # open sizes (--dim n=4), a function, tuple, string or number of one's choice
    REFUSED: "the program needs functions that",  # of the host: opdyno.test.*
}


def functions_of(library):
    found = []

    def walk(part):
        if isinstance(part, dict):
            functions = part.get("functions")
            if isinstance(functions, list):
                found.extend(f["name"] for f in functions if isinstance(f, dict) and "params" in f)
            for item in part.values():
                walk(item)
        elif isinstance(part, list):
            for item in part:
                walk(item)

    walk(json.loads(run("inspect", str(library), "--json").stdout))
    return list(dict.fromkeys(found))


def without_checks(listing, function, kept):
    """The assembly, in which `function` checks none of its parameters but `kept`."""
    lines, inside = [], False
    for line in listing.splitlines():
        if line.startswith("."):
            inside = re.match(r"\.func %s\b" % function, line) is not None
        is_check = re.search(r"vm\.builtin\.(check_\w+|match_shape)\((%\w+)", line)
        if not (inside and is_check and is_check.group(2) not in kept):
            lines.append(line)
    return "\n".join(lines) + "\n"


class Probe(CliTest):
    def test_every_exported_program_is_profiled_without_being_told_its_inputs(self):
        ran = 0
        for library in sorted(DATA.glob("0.*/*.so")) + sorted(DATA.glob("compiled/*/*.so")):
            for function in functions_of(library):
                result = run("profile", str(library), function)
                where = "%s %s: %s" % (library, function, result.stderr)
                if result.returncode in NEEDS:
                    self.assertIn(NEEDS[result.returncode], result.stderr, where)
                elif function in ("to_size", "negated"):  # a size is the value of an input; a function of Python's
                    self.assertIn(result.returncode, (OK, FAILED), where)
                else:
                    self.assertEqual(OK, result.returncode, where)
                    ran += 1
        self.assertGreater(ran, 60)

    def test_numbers_are_asked_for_by_their_kind(self):
        for function, example in (("real", "x:f64=0.5"), ("whole", "x:i64=7")):
            self.assertIn("pass it, as in -i %s\n" % example, self.fails(USAGE, "run", "checked_inside.opdasm", function))

    def test_machine_code_gives_what_bytecode_gives(self):
        for release in ("0.25", "0.27"):
            for function in ("with_arguments", "with_constants"):
                compiled, bytecode = (
                    self.succeeds("run", str(DATA / mode / "mlp.so"), function, "--seed", "3", "--csv")
                    for mode in ("compiled/" + release, release)
                )
                self.assertEqual(bytecode, compiled)

    def test_the_kernels_tell_what_a_program_does_not_check(self):
        """TVM checks the first `num_input` parameters only."""
        for release in ("0.25", "0.26", "0.27"):
            library = str(DATA / release / "mlp.so")
            listing = self.succeeds("dis", library)
            bare = without_checks(listing, "with_arguments", kept=["%x"])
            self.assertLess(len(bare), len(listing))
            (WORK / "bare.opdasm").write_text(bare)
            expected = self.succeeds("run", library, "with_arguments", "--seed", "5", "--csv")
            found = self.succeeds("run", "bare.opdasm", "with_arguments", "--import", library, "--seed", "5", "--csv")
            self.assertEqual(expected, found, release)

    def test_no_kernel_runs_before_the_inputs_are_known(self):
        result = self.check(OK, "run", "shouts.opdasm", "--import", "kernels.c", silent=False)
        self.assertEqual("ran\n", result.stderr)

    def test_open_sizes_of_machine_code_are_asked_for_by_name(self):
        library = str(DATA / "compiled/0.27/branches.so")
        self.assertIn("--dim n=4", self.fails(USAGE, "run", library, "run"))
        out = self.succeeds("run", library, "run", "--dim", "n=3")
        self.assertEqual(out, self.succeeds("run", str(DATA / "0.27/branches.so"), "run", "--dim", "n=3"))
