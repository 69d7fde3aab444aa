"""bench and profile of language models: a decoder that TVM compiled, and a written program with other conventions."""

import json
import os
import re
import socket

import npy
import programs
from case import *

DATA = os.environ["OPDYNO_INTEROP_DATA"] + "/language/"
LLAMA = DATA + "tiny_llama.so"
LAYERS = 2
MATMULS = 4 * LAYERS + 1  # qkv, out, up and down of each layer, and the head
DRIVEN = ("--prefill", "20", "--decode", "5", "--batch", "3")

TENSOR = 'call vm.builtin.check_tensor_info(%%%s, %d, dtype(%s), "%s")'
FLOAT = ('%%%s = call vm.builtin.alloc_storage(%%vm, shape(64), 0, dtype(uint8), "global")',
         "%%%s = call vm.builtin.alloc_tensor(%%%s, 0, %s, dtype(float32))")  # fmt: skip


def new_tensor(name, shape):
    return [FLOAT[0] % (name + "_s"), FLOAT[1] % (name, name + "_s", shape)]


def computes(name, rows, dtype="int32", positions=False, sequences=1):
    """tokens[rows], state, bias float32[4] -> float32[sequences, 4]: the state of one sequence with the bias, which is its new one."""
    dims = len(rows)
    pairs = ", ".join("0, %d" % size if isinstance(size, int) else "1, 0" for size in rows)
    picked = [TENSOR % ("positions", 1, "int32", "positions"), "call are_the_last(%tokens, %positions)"]
    return programs.function(
        name, "tokens, positions, state, bias" if positions else "tokens, state, bias",
        "%heap = call vm.builtin.alloc_shape_heap(%vm, 1)",
        TENSOR % ("tokens", dims, dtype, "tokens"),
        'call vm.builtin.match_shape(%%tokens, %%heap, %d, %s, "tokens")' % (dims, pairs),
        *["call are_tokens(%tokens)"] * (dtype == "int32"),
        *picked * positions,
        TENSOR % ("bias", 1, "float32", "bias"),
        'call vm.builtin.match_shape(%bias, %heap, 1, 0, 4, "bias")',
        *new_tensor("now", "shape(%d, 4)" % sequences),
        "call vm.builtin.rnn_state_get(%state, 0, 0, %now)",
        *new_tensor("next", "shape(%d, 4)" % sequences),
        "call accumulate(%now, %bias, %next)",
        "%state2 = call vm.builtin.rnn_state_set(%state, 0, 0, %next)",
        "ret %next")  # fmt: skip


RECURRENT = programs.program(
    programs.function(
        "create_rnn_state", "max_batch_size, max_history", *new_tensor("zero", "shape(4)"), "call clear(%zero)",
        "%gets = call vm.builtin.make_tuple(@state_get)", "%sets = call vm.builtin.make_tuple(@state_set)",
        "%initial = call vm.builtin.make_tuple(%zero)",
        "%state = call vm.builtin.rnn_state_create(1, 2, 2, %gets, %sets, %initial)", "ret %state"),
    computes("prefill", ("n",)),
    computes("decode", (1, 1)),
    computes("decode_two", (2, 1), sequences=2),
    computes("prefill_floats", (1, "n", 4), dtype="float32"),
    computes("prefill_at", (1, "n"), positions=True),
    programs.function("decode_nothing", "tokens, state", "ret %state"),
    programs.function("no_state", "max_batch_size", "ret %max_batch_size"),
    programs.function("strange", "first", "ret %first"),
)  # fmt: skip

KERNELS = """#include <string.h>
#include "%s"
KERNEL(clear) { UNUSED; Tensor *x = tensor(args[0]); memset(x->data, 0, 4 * size(x)); return 0; }
KERNEL(are_the_last) {
  UNUSED;
  if (size(tensor(args[1])) == 1 && *(int *)tensor(args[1])->data == size(tensor(args[0])) - 1) return 0;
  return TVMFFIErrorSetRaisedFromCStr("ValueError", "it is not the last row"), -1;
}
KERNEL(are_tokens) {
  UNUSED;
  for (int64_t i = 0; i < size(tensor(args[0])); ++i)
    if (((unsigned *)tensor(args[0])->data)[i] >= 4) return TVMFFIErrorSetRaisedFromCStr("ValueError", "no token"), -1;
  return 0;
}
KERNEL(accumulate) {
  UNUSED; const float *a = tensor(args[0])->data, *b = tensor(args[1])->data;
  for (int i = 0; i < 4; ++i) ((float *)tensor(args[2])->data)[i] = a[i] + b[i];
  return 0;
}
static float *place(const Any *args, int more) {
  const Tensor *s = tensor(args[0]);
  int slot = *(int *)((char *)tensor(args[1])->data + tensor(args[1])->offset);
  int history = *(int *)((char *)tensor(args[2])->data + tensor(args[2])->offset);
  return (float *)s->data + (slot * s->shape[1] + (history + more) %% s->shape[1]) * 4;
}
KERNEL(state_get) {
  UNUSED;
  if (size(tensor(args[1])) != tensor(args[3])->shape[0]) return TVMFFIErrorSetRaisedFromCStr("ValueError", "no row of each sequence"), -1;
  memcpy(tensor(args[3])->data, place(args, 0), 16);
  return 0;
}
KERNEL(state_set) { UNUSED; memcpy(place(args, 1), tensor(args[3])->data, 16); return 0; }
"""


def creates(name, *sizes):
    """Makes the state, and tells the size that each parameter has: as many elements has a tensor of that shape."""
    tensors = [line for size in sizes for line in (
        '%%%s_s = call vm.builtin.alloc_storage(%%vm, shape(65536), 0, dtype(uint8), "global")' % size,
        "%%%s_t = call vm.builtin.alloc_tensor(%%%s_s, 0, %%%s, dtype(int8))" % (size, size, size))]  # fmt: skip
    return programs.function(
        name, ", ".join(sizes), *tensors, "call tells(%s)" % ", ".join("%%%s_t" % size for size in sizes),
        *new_tensor("zero", "shape(4)"), "call clear(%zero)",
        "%gets = call vm.builtin.make_tuple(@state_get)", "%sets = call vm.builtin.make_tuple(@state_set)",
        "%initial = call vm.builtin.make_tuple(%zero)",
        "%state = call vm.builtin.rnn_state_create(1, 2, 2, %gets, %sets, %initial)", "ret %state")  # fmt: skip


def takes(name, params, *checks, shape="shape(1, 4)"):
    return programs.function(name, params, *checks, *new_tensor("next", shape), "call clear(%next)", "ret %next")


VARIANTS = programs.program(
    creates("by_name", "max_history", "sliding_window", "prefill_chunk", "page", "max_total", "seq_len", "max_batch"),
    creates("in_order", "a", "b", "c", "d", "e"),
    creates("four", "a", "b", "c", "d"),
    computes("prefill", ("n",)),
    computes("decode", (1, 1)),
    computes("decode_two", (2, 1), sequences=2),
    takes("takes_a_shape", "tokens, s, state, bias", TENSOR % ("tokens", 1, "int32", "tokens"),
          'call vm.builtin.check_shape_info(%s, 1, "s")'),
    takes("takes_weights", "tokens, state, packed_params", TENSOR % ("tokens", 1, "int32", "tokens"),
          "%w = call vm.builtin.tuple_getitem(%packed_params, 1)", "call tells(%w)"),
    takes("gives_a_scalar", "tokens, state", TENSOR % ("tokens", 1, "int32", "tokens"), shape="shape()"),
    takes("takes_any_tensor", "tokens, state, w", TENSOR % ("tokens", 1, "int32", "tokens"), TENSOR % ("w", 1, "float32", "w")),
    takes("takes_an_open_one", "tokens, state, w", "%heap = call vm.builtin.alloc_shape_heap(%vm, 1)",
          TENSOR % ("tokens", 1, "int32", "tokens"), TENSOR % ("w", 1, "float32", "w"),
          'call vm.builtin.match_shape(%w, %heap, 1, 1, 0, "w")'),
)  # fmt: skip
VARIANT_KERNELS = """
#include <stdio.h>
KERNEL(tells) {
  UNUSED;
  fprintf(stderr, "sizes");
  for (int i = 0; i < count; ++i) fprintf(stderr, " %lld", (long long)size(tensor(args[i])));
  fprintf(stderr, "\\n");
  return 0;
}
"""


class LanguageModel(CliTest):
    def json(self, command, *words):
        return json.loads(self.succeeds(command, *words, "--json"))

    def test_profile_tells_times_pages_and_where_a_token_spends_them(self):
        text = self.succeeds("profile", LLAMA, "--prefill", "128", "--decode", "32", "--batch", "4")
        self.assertRegex(text, r"^create_paged_kv_cache, embed, prefill, decode: 4 sequences, prompts of 128 tokens, 32 decoded after them; 1 run\n")
        self.assertRegex(text, r"(?m)^  time to first token +[\d.]+ ms  \d+ tokens/s of the prompts$")
        for name in ("p50", "p99", "mean"):
            self.assertRegex(text, r"(?m)^  time per token %-4s +[\d.]+ (us|ms)$" % name)
        self.assertRegex(text, r"(?m)^  tokens per second +\d+  4 at once$")
        # 4 sequences of (128 + 32) / 16 pages; TVM's caches have one more. Sizes: 41 pages, 2 layers, K and V, 2 heads,
        # 16 rows of 16 floats are 656 KiB, and there are buffers for 512 rows.
        self.assertRegex(text, r"(?m)^  pages in use +40  of 41, 16 tokens each; \d+(\.\d)? KiB$")
        for name in ("operators", "attention", "cache bookkeeping", "dispatch"):
            self.assertRegex(text, r"(?m)^%s +[\d.]+ (ns|us|ms) +[\d.]+ %%$" % name)
        self.assertRegex(text, r"(?m)^all +[\d.]+ (us|ms)  100.0 %$")
        self.assertRegex(text, r"(?m)^batch_decode_paged_kv_cpu +2 +[\d.]+ us +[\d.]+ %$")

    def test_the_parts_add_up_to_the_median_token(self):
        report = self.json("profile", LLAMA, *DRIVEN, "--repeat", "2", "--params", DATA + "weights.npz")
        parts, token = report["profile_us_per_token"], report["time_per_token_us"]
        self.assertEqual(2 * 5, len(token["results"]))
        self.assertEqual(parts["all"], token["p50"])
        rest = parts["operators"] + parts["attention"] + parts["cache_bookkeeping"]
        self.assertAlmostEqual(max(0, parts["all"] - rest), parts["dispatch"])
        self.assertAlmostEqual((parts["dispatch"] + parts["cache_bookkeeping"]) / parts["all"], report["host_share"])
        calls = {row["name"]: row["calls_per_token"] for row in report["operators"]}
        kernels = ("batch_decode_paged_kv_cpu", "fused_rope", "tir_kv_cache_transpose_append")  # that the cache calls
        for name in ("vm.builtin.attention_kv_cache_attention_with_fused_qkv", *kernels):
            self.assertEqual(LAYERS, calls[name], name)
        self.assertEqual(MATMULS, sum(count for name, count in calls.items() if re.match(r"matmul\d*$", name)))
        self.assertEqual(1, calls["take"])  # of embed
        self.assertGreater(parts["attention"], 0)
        # Of several tokens, a part's time is a median of sums, and the operators' are medians; of one token all is exact.
        report = self.json("profile", LLAMA, "--prefill", "20", "--decode", "1", "--batch", "3", "--repeat", "1")
        times = {row["name"]: row["us_per_token"] for row in report["operators"] if not row["name"].startswith("vm.builtin.")}
        attention = sum(times.pop(name) for name in kernels)
        self.assertAlmostEqual(attention, report["profile_us_per_token"]["attention"])
        self.assertAlmostEqual(sum(times.values()), report["profile_us_per_token"]["operators"])

    def test_bench_measures_runs(self):
        report = self.json("bench", LLAMA, *DRIVEN, "--repeat", "3", "--warmup", "0")
        self.assertEqual((20, 5, 3, 97), tuple(report[name] for name in ("prefill", "decode", "batch", "vocabulary")))
        first, token = report["time_to_first_token_us"], report["time_per_token_us"]
        self.assertEqual((3, 15), (len(first["results"]), len(token["results"])))
        self.assertAlmostEqual(sum(token["results"]) / 15, token["mean"])
        self.assertAlmostEqual(3e6 / token["mean"], report["tokens_per_second"])
        self.assertEqual({"pages": 7, "pages_in_use": 6, "page_size": 16},  # 3 sequences of 25 tokens
                         {name: report["cache"][name] for name in ("pages", "pages_in_use", "page_size")})
        self.assertNotIn("profile_us_per_token", report)
        self.assertIn("load", report["quality"])
        self.assertEqual(socket.gethostname(), report["machine"])
        text = self.succeeds("bench", LLAMA, *DRIVEN)
        self.assertIn("; 10 runs\n", text)
        self.assertRegex(text, r"(?m)^  machine: governor ")

    def test_prompts_longer_than_a_pass_are_cut(self):
        report = self.json("bench", LLAMA, "--prefill", "1500", "--decode", "1", "--batch", "2", "--repeat", "1", "--warmup", "0")
        self.assertEqual(2 * -(-1501 // 16), report["cache"]["pages_in_use"])

    def test_decoding_is_written_as_reports_and_traces_are(self):
        self.succeeds("profile", LLAMA, *DRIVEN, "-o", "decoding.json", "--chrome", "decoding.trace", "--flame", "decoding.svg",
                      "--csv", "decoding.csv", "--view", "decoding.html")
        rows = json.loads((WORK / "decoding.json").read_text())["calls"]
        names = [row["Name"]["string"] for row in rows]
        self.assertEqual(5 * MATMULS, sum(bool(re.match(r"matmul\d*$", name)) for name in names))  # no row of a prompt
        self.assertIn("traceEvents", json.loads((WORK / "decoding.trace").read_text()))
        self.assertIn("<svg", (WORK / "decoding.svg").read_text())
        self.assertTrue((WORK / "decoding.html").read_text().startswith("<!DOCTYPE html>"))
        self.assertEqual(1 + len(rows), len((WORK / "decoding.csv").read_text().splitlines()))

    def test_standard_output_gets_one_thing(self):
        json.loads(self.succeeds("profile", LLAMA, *DRIVEN, "-o", "-"))
        self.assertIn("--json and --output would both be written to standard output", self.fails(USAGE, "profile", LLAMA, *DRIVEN, "-o", "-", "--json"))
        self.assertIn("--top and --wide exclude each other", self.fails(USAGE, "profile", LLAMA, *DRIVEN, "--top", "3", "--wide"))
        self.assertEqual(3, len(self.succeeds("profile", LLAMA, *DRIVEN, "--top", "3").split("Share\n")[2].splitlines()))

    def test_weights_of_another_number_are_refused(self):
        npy.save(WORK / "few.npz", x=([4], [5, 6, 7, 8]))
        message = self.fails(USAGE, "profile", LLAMA, *DRIVEN, "--params", "few.npz")
        self.assertIn("parameter packed_params of prefill takes 15 tensors, but few.npz has 1\n", message)
        message = self.fails(USAGE, "profile", LLAMA, *DRIVEN, "--params", "few.npz", "--params", "few.npz")
        self.assertIn("--params takes one file here", message)

    def test_weights_of_other_shapes_are_refused_by_the_program(self):
        npy.save(WORK / "wrong.npz", **{"p%02d" % i: ([4], [5, 6, 7, 8]) for i in range(15)})
        self.fails(FAILED, "profile", LLAMA, *DRIVEN, "--params", "wrong.npz")

    def test_a_time_limit_ends_it(self):
        message = self.fails(FAILED, "bench", LLAMA, "--prefill", "2000", "--decode", "100", "--batch", "4", "--repeat", "1000", "--timeout", "300ms")
        self.assertRegex(message, "the deadline passed|still running 0.3 s after the start")  # within a kernel

    def test_memory_has_a_limit(self):
        # A layer of the cache has 3 pages of K and V, of 2 heads with 16 rows of 16 floats. The program has a scalar before it.
        driven = ("bench", LLAMA, "--prefill", "16", "--decode", "16", "--repeat", "1", "--warmup", "0", "--memory-limit")
        self.assertRegex(self.fails(FAILED, *driven, "8K"), r"a storage of 12288 bytes would exceed the VM's memory limit: 4 of 8192 bytes are in use")
        self.succeeds(*driven, "2M")


class ComparedLanguageModels(CliTest):
    COMPARED = ("--prefill", "5", "--decode", "3", "--batch", "2")

    @classmethod
    def setUpClass(cls):
        """The same program with another activation in decode: of the second layer, every element is larger by 0.25."""
        text = subprocess.run([OPDYNO, "dis", LLAMA], capture_output=True, text=True, check=True).stdout
        (WORK / "same.opdasm").write_text(text)
        (WORK / "more.c").write_text("""#include <math.h>
#include "%s"
KERNEL(silu_more) {
  UNUSED; const Tensor *x = tensor(args[0]), *y = tensor(args[1]);
  const float *from = (const float *)((const char *)x->data + x->offset); float *to = (float *)((char *)y->data + y->offset);
  for (int64_t i = 0; i < size(x); ++i) to[i] = from[i] / (1 + expf(-from[i])) + 0.25f;
  return 0;
}
""" % (HERE / "kernels.c"))
        begin = text.index(".func decode(")
        decode = text[begin:text.index(".func", begin + 1)]
        parts = decode.split("call silu(")
        assert len(parts) == 1 + LAYERS
        wrong = "call silu(".join(parts[:LAYERS]) + "call silu_more(" + parts[LAYERS]
        (WORK / "wrong.opdasm").write_text(text.replace(decode, wrong))

    def compare(self, *words, expect=OK, repeat="0"):
        return self.check(expect, "compare", LLAMA, *words, *self.COMPARED, "--repeat", repeat, "--import", LLAMA, "--import", "more.c", "--c-flags", "-O2 -lm", silent=False).stdout

    def test_equal_builds_agree_in_each_pass(self):
        self.assertRegex(self.compare("same.opdasm"),
                         r"^decoding, pass 4 of 4: no difference: \d+ operators agree bit for bit; no difference in the 3 passes before\n$")

    def test_the_first_pass_that_differs_is_shown_with_its_cause(self):
        text = self.compare("wrong.opdasm", expect=MISMATCH)
        self.assertRegex(" ".join(text.split()), r"^decoding, pass 2 of 4: first difference at silu_more \(in A: silu .*\): max abs 0\.25 .*, caused by silu_more "
                         r".* whose inputs agree; no difference in the pass before$")
        report = json.loads(self.compare("wrong.opdasm", "--as", "json", expect=MISMATCH))
        self.assertNotIn("Note", report["configuration"])  # each has a cache of its own
        states = [(row["Name"]["string"], row["State"]["string"]) for row in report["calls"]]
        attention = [state for name, state in states if name.startswith("vm.builtin.attention")]
        self.assertEqual(["equal"] * LAYERS, attention)

    def test_b_may_have_weights_of_its_own(self):
        words = ("compare", LLAMA, LLAMA, "--prefill", "3", "--decode", "1", "--repeat", "0", "--b-params", DATA + "weights.npz")
        self.assertIn("pass 2 of 2: no difference", self.succeeds(*words, "--params", DATA + "weights.npz"))
        self.assertIn("first difference", self.check(MISMATCH, *words, silent=False).stdout)  # A's are random
        npy.save(WORK / "one.npz", x=([4], [5, 6, 7, 8]))
        self.assertIn("takes 15 tensors, but one.npz has 1", self.fails(USAGE, *words[:-1], "one.npz"))

    def test_operators_are_measured_in_the_last_pass(self):
        text = self.succeeds("compare", LLAMA, LLAMA, "--prefill", "3", "--decode", "1", "--repeat", "3", "--times", "times.json")
        self.assertIn("pass 2 of 2: no difference", text)
        names = {row["Name"]["string"] for row in json.loads((WORK / "times.json").read_text())["calls"]}
        self.assertLessEqual({"matmul", "vm.builtin.attention_kv_cache_attention_with_fused_qkv"}, names)

    def test_a_pass_that_differs_is_measured_too(self):
        self.compare("wrong.opdasm", "--times", "differing.json", expect=MISMATCH, repeat="2")
        names = {row["Name"]["string"] for row in json.loads((WORK / "differing.json").read_text())["calls"]}
        self.assertIn("silu_more", " ".join(names))

    def test_what_does_not_fit_is_refused(self):
        def refused(*words, expect=USAGE):
            return " ".join(self.fails(expect, "compare", *words).split())

        self.assertIn("leave out 'decode', or name them", refused(LLAMA, LLAMA, "decode", "--prefill", "3"))
        self.assertIn("--input does not go with --prefill and --decode", refused(LLAMA, LLAMA, "--prefill", "3", "-i", "i64=1"))
        self.assertIn("add_one.opdasm is not a program of a language model", refused(LLAMA, "add_one.opdasm", "--import", "kernels.c", "--prefill", "3"))
        self.assertIn("the deadline passed", refused(LLAMA, LLAMA, "--prefill", "64", "--decode", "10000", "--timeout", "300ms", expect=FAILED))


class LanguageConventions(CliTest):
    @classmethod
    def setUpClass(cls):
        (WORK / "recurrent.opdasm").write_text(RECURRENT)
        (WORK / "recurrent.c").write_text(KERNELS % (HERE / "kernels.c"))
        subprocess.run([OPDYNO, "export", "recurrent.opdasm", "recurrent.so", "--import", "recurrent.c"], cwd=WORK, check=True)

        (WORK / "variants.opdasm").write_text(VARIANTS)
        (WORK / "variants.c").write_text(KERNELS % (HERE / "kernels.c") + VARIANT_KERNELS)
        subprocess.run([OPDYNO, "export", "variants.opdasm", "variants.so", "--import", "variants.c"], cwd=WORK, check=True)

    def refused(self, *words, command="profile"):
        message = self.fails(USAGE, command, *words)
        return " ".join(message.split())

    def test_sizes_of_caches_are_found_by_name_or_by_place(self):
        def sizes(create, *words):
            quick = ("--repeat", "1", "--warmup", "0", "--decode", "13", "--json")
            answer = self.check(OK, "bench", "variants.so", "--create-function", create, *quick, *words, silent=False)
            (line,) = re.findall(r"sizes (.*)\n", answer.stderr)
            return [int(size) for size in line.split()]
        # Two sequences of 33 tokens take 3 pages of 16 each; a pass has their 40 tokens of prompts.
        two = ("--batch", "2", "--prefill", "20", "--decode-function", "decode_two")
        self.assertEqual([1, 0, 40, 16, 96, 96, 2], sizes("by_name", *two))
        self.assertEqual([2, 96, 40, 16, 0], sizes("in_order", *two))
        self.assertEqual([1, 16, 3, 16, 0], sizes("in_order", "--prefill", "3"), "16 tokens fill a page")
        self.assertEqual([1, 32, 4, 16, 0], sizes("in_order", "--prefill", "4"), "17 do not fit")
        self.assertEqual([1, 2064, 2048, 16, 0], sizes("in_order", "--prefill", "2048"))
        self.assertEqual([1, 2064, 2048, 16, 0], sizes("in_order", "--prefill", "2049"), "no pass has more than 2048")
        self.assertEqual([2, 32, 2, 16, 0], sizes("in_order", *two[:2], "--prefill", "1", *two[4:]), "nor fewer than the sequences")
        self.assertIn("parameter a of four: its name says none of batch, total, chunk, page, window and history",
                      self.refused("variants.so", "--decode", "3", "--create-function", "four"))

    def test_parameters_of_other_kinds_are_refused_with_their_names(self):
        words = ("variants.so", "--decode", "3", "--create-function", "in_order", "--prefill-function")
        self.assertIn("parameter s of takes_a_shape is of the kind shape, which functions of a language model do not support",
                      self.refused(*words, "takes_a_shape"))
        said = " ".join(self.check(USAGE, "profile", *words, "gives_a_scalar").stderr.split())
        self.assertIn("gives_a_scalar returns no logits, but Tensor(float32[], cpu:0); name another function by --prefill-function", said)
        self.assertIn("parameter packed_params of takes_weights: the program does not state which tensors it has; give them, as --params FILE",
                      self.refused(*words, "takes_weights"))
        self.assertIn("parameter w of takes_any_tensor: the program does not state its shape; give it by --params",
                      self.refused(*words, "takes_any_tensor"))
        self.assertIn("parameter w of takes_an_open_one has the shape [n], whose sizes are open; give it by --params",
                      self.refused(*words, "takes_an_open_one"))
        npy.save(WORK / "given.npz", bias=([4], [1, 2, 3, 4]), w=([3], [1, 2, 3]))
        quick = ("--repeat", "1", "--warmup", "0", "--params", "given.npz")
        for name in "takes_any_tensor", "takes_an_open_one":
            self.check(OK, "bench", *words, name, *quick, silent=False)
        told = self.check(OK, "bench", *words, "takes_weights", *quick, silent=False).stderr
        self.assertIn("sizes 3\n", told, "the second tensor of the file is the second of the tuple")

    def test_a_program_of_one_function_is_refused_with_its_name(self):
        self.assertIn("it has the function main, but none that makes a KV cache", self.refused("add_one.opdasm", "--decode", "3"))
        for name in "create-function", "prefill-function", "decode-function", "embed-function":
            message = "--%s is for language models: it goes with --prefill or --decode" % name
            self.assertIn(message, self.refused("variants.so", "--" + name, "x"))

    def test_only_programs_with_the_same_functions_and_vocabulary_are_compared(self):
        five = RECURRENT.replace("shape(1, 4)", "shape(1, 5)").replace("shape(4)", "shape(5)").replace("1, 0, 4,", "1, 0, 5,")
        (WORK / "five.opdasm").write_text(five)
        other = ("--import", "recurrent.c")
        message = self.refused("recurrent.so", "five.opdasm", "--decode", "1", *other, command="compare")
        self.assertIn("the programs have vocabularies of 4 and 5 tokens", message)
        (WORK / "renamed_decode.opdasm").write_text(RECURRENT.replace(".func decode(", ".func batch_decode("))
        message = self.refused("recurrent.so", "renamed_decode.opdasm", "--decode", "1", *other, command="compare")
        self.assertIn("the programs' functions have different names, decode and batch_decode; "
                      "name one by --prefill-function or --decode-function", message)

    def test_tokens_may_come_without_embed_and_weights_without_a_tuple(self):
        report = json.loads(self.succeeds("profile", "recurrent.so", "--prefill", "3", "--decode", "4", "--json"))
        self.assertEqual(["create_rnn_state", "prefill", "decode"], report["functions"])
        self.assertEqual(4, report["vocabulary"])
        calls = {row["name"]: row["calls_per_token"] for row in report["operators"]}
        self.assertEqual((1, 1, 1), tuple(calls[name] for name in ("accumulate", "vm.builtin.rnn_state_get", "vm.builtin.rnn_state_set")))
        self.assertGreater(report["profile_us_per_token"]["attention"], 0)  # the state's functions
        self.assertEqual({"pages": 2, "pages_in_use": 1, "page_size": 0}, {name: report["cache"][name] for name in ("pages", "pages_in_use", "page_size")})
        self.assertIn("pages in use                  1  of 2; ", self.succeeds("bench", "recurrent.so", "--decode", "2"))

    def test_inputs_have_the_form_that_the_function_takes(self):
        for name in ("prefill_floats", "prefill_at"):
            report = json.loads(self.succeeds("bench", "recurrent.so", "--prefill", "3", "--decode", "2", "--prefill-function", name, "--json"))
            self.assertEqual(["create_rnn_state", name, "decode"], report["functions"])

    def test_prompts_of_recurrent_networks_are_computed_one_by_one(self):
        report = json.loads(self.succeeds("bench", "recurrent.so", "--prefill", "3", "--decode", "2", "--batch", "2", "--decode-function", "decode_two", "--json"))
        self.assertEqual((2, 3), (report["batch"], report["prefill"]))
        self.assertEqual(2, report["cache"]["pages_in_use"])

    def test_weights_are_found_by_their_names(self):
        npy.save(WORK / "bias.npz", bias=([3], [1, 2, 3]))
        self.assertIn("bias", self.fails(FAILED, "bench", "recurrent.so", "--decode", "2", "--params", "bias.npz"))

    def test_what_is_no_language_model_is_refused_with_what_was_looked_for(self):
        message = self.refused("two_functions.opdasm", "--prefill", "3")
        self.assertIn("two_functions.opdasm is not a program of a language model as --prefill and --decode need one: it has the functions first, second, "
                      "but none that makes a KV cache (create_tir_paged_kv_cache, create_paged_kv_cache, ", message)
        self.assertIn("none that computes prompts (batch_prefill, prefill) and none that decodes tokens (batch_decode, decode)", message)
        self.assertIn("say so by --create-function, --prefill-function, --decode-function", message)
        self.assertIn("kernels.c holds no VM program", self.refused("kernels.c", "--decode", "3", command="bench"))

    def test_options_name_other_functions(self):
        self.assertIn("option '--decode-function': the program has no function 'decod'. Did you mean 'decode'? It has ",
                      self.refused("recurrent.so", "--decode", "3", "--decode-function", "decod"))
        self.assertIn("no_state made no cache: ", self.refused("recurrent.so", "--decode", "3", "--create-function", "no_state"))
        self.assertIn("strange takes 0 caches, but 1 can be made", self.refused("recurrent.so", "--decode", "3", "--prefill-function", "strange"))
        self.assertIn("parameter first of strange: its name says none of batch, total, chunk, page, window and history",
                      self.refused("recurrent.so", "--decode", "3", "--create-function", "strange"))
        self.assertIn("decode_nothing returns no logits, but ", self.refused("recurrent.so", "--decode", "3", "--prefill-function", "decode_nothing"))

    def test_functions_without_or_with_too_few_caches_are_named(self):
        self.assertIn("strange takes 0 caches, but 1 can be made", self.refused("recurrent.so", "--decode", "3", "--decode-function", "strange"))
        self.assertIn("decode takes a cache, as no function that embeds tokens does; name another one by --embed-function",
                      self.refused("recurrent.so", "--decode", "3", "--embed-function", "decode"))
        self.assertIn("prefill takes 1 cache, but 2 can be made", self.refused(
            "recurrent.so", "--decode", "3", "--create-function", "create_rnn_state", "--create-function", "create_rnn_state"))

    def test_a_function_for_one_sequence_is_refused_for_more(self):
        self.assertIn("decode takes tokens of the shape [1, 1], so it decodes one sequence; give --batch 1, or another function by --decode-function",
                      self.refused("recurrent.so", "--decode", "3", "--batch", "2"))

    def test_options_that_mean_nothing_here_are_refused(self):
        for words in (("-i", "4xf32"), ("--dim", "n=3"), ("--roofline",), ("--collector", "memory"), ("--builtins", "all"), ("--runs", "2")):
            name = {"-i": "--input"}.get(words[0], words[0])
            self.assertIn("%s does not go with --prefill and --decode" % name, self.refused("recurrent.so", "--decode", "3", *words))
        for words in (("--sweep", "n=1,2"), ("--csv",), ("--concurrency", "2"), ("--compare", "x.json")):
            self.assertIn("%s does not go with" % words[0], self.refused("recurrent.so", "--decode", "3", *words, command="bench"))
        self.assertIn("leave out 'prefill', or name them by --prefill-function", self.refused("recurrent.so", "prefill", "--decode", "3"))
        self.assertIn("--batch is for language models: it goes with --prefill or --decode", self.refused("recurrent.so", "prefill", "--batch", "3"))
        self.assertIn("expected MOD after the command", self.refused("--decode", "3", command="bench"))
        for option, *more in ("--prefill",), ("--decode",), ("--batch", "--prefill=3"):
            for value in ("0", "-1", "x", "99999999999"):
                self.assertIn("option '%s' takes an integer from 1 to " % option, self.refused("recurrent.so", *more, "%s=%s" % (option, value)))
