"""The line of progress on a terminal: what a command that takes long is at. Kernels sleep, so that each step is shown."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import programs
from case import COMPILER, HERE, OPDYNO, WORK, CliTest
from language_cases import KERNELS, computes, new_tensor

DOZES = """
#include <unistd.h>
KERNEL(dozes) { UNUSED; usleep(1500000); return 0; }
"""
# Its state takes 3 s to be made, and a pass 1.5 s.
LANGUAGE = programs.program(
    programs.function(
        "create_rnn_state", "max_batch_size, max_history", *new_tensor("zero", "shape(4)"), "call clear(%zero)",
        "call dozes(%zero)", "call dozes(%zero)",
        "%gets = call vm.builtin.make_tuple(@state_get)", "%sets = call vm.builtin.make_tuple(@state_set)",
        "%initial = call vm.builtin.make_tuple(%zero)",
        "%state = call vm.builtin.rnn_state_create(1, 2, 2, %gets, %sets, %initial)", "ret %state"),
    *(computes(name, rows).replace("call accumulate(", "call dozes(%now)\n  call accumulate(")
      for name, rows in (("prefill", ("n",)), ("decode", (1, 1)))),
)  # fmt: skip


class ProgressLines(CliTest):
    @classmethod
    def setUpClass(cls):
        (WORK / "dozes.c").write_text((HERE / "kernels.c").read_text() + DOZES)
        (WORK / "dozes.opdasm").write_text(programs.program(programs.unary("main", "dozes")))
        (WORK / "model_a.opdasm").write_text(LANGUAGE)
        (WORK / "model_a.c").write_text(KERNELS % (HERE / "kernels.c") + DOZES)
        for name in "dozes", "model_a":
            subprocess.run([OPDYNO, "export", name + ".opdasm", name + ".so", "--import", name + ".c"], cwd=WORK, check=True)
        shutil.copy(WORK / "model_a.so", WORK / "model_b.so")
        compiler = WORK / "slow_cc.sh"
        compiler.write_text('#!/bin/sh\ncase " $* " in *" --version "*) ;; *) sleep 3;; esac\nexec %s "$@"\n' % COMPILER)
        compiler.chmod(0o755)

    def steps(self, words, environment):
        """What the line named, in its order, and what followed it."""
        text = self.on_terminal(*words, columns=120, **environment)
        shown = re.findall(r"\r\033\[K([^\r\n]+), (\d+\.\d) s", text)
        self.assertTrue(all(float(seconds) >= 2 for _, seconds in shown), shown)
        return list(dict.fromkeys(step for step, _ in shown)), text.rpartition(" s\r\033[K")[2]

    def test_each_step_is_named_until_the_next_one(self):
        one = ("--warmup", "1", "--repeat", "1", "--prefill", "1", "--decode", "1")
        slow = {"CC": str(WORK / "slow_cc.sh"), "OPDYNO_CACHE_DIR": str(WORK / "slow_cache")}
        cases = (
            (("run", "add_one.opdasm", "--import", "kernels.c", "-i", "4xf32=1"), slow, ["loading add_one.opdasm"], "out: float32[4]\n"),
            (("bench", "dozes.so", "--warmup", "2", "--repeat", "2", "--min-repeat-ms", "0"), {},
             ["warming up main", "bench main, repeat 1 of 2", "bench main, repeat 2 of 2"], "main: 2 repeats of 1 call\n"),
            (("profile", "model_a.so", *one), {},
             ["making caches for decode", "warm-up 1 of 1", "run 1 of 1", "recording a run"], "create_rnn_state, prefill, decode: 1 sequence"),
            (("compare", "model_a.so", "model_b.so", "--repeat", "0", *one[4:]), {},
             ["loading model_a.so", "loading model_b.so", "prefill, pass 1 of 2", "decoding, pass 2 of 2"], "decoding, pass 2 of 2: no difference"),
        )  # fmt: skip
        with ThreadPoolExecutor(len(cases)) as threads:
            found = list(threads.map(lambda case: self.steps(*case[:2]), cases))
        for (words, _, steps, begin), (shown, rest) in zip(cases, found):
            self.assertEqual(steps, [step for step in shown if step in steps], (words, shown))
            self.assertTrue(rest.startswith(begin), (words, rest))
