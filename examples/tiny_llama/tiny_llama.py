"""Runs a small language model as a server would: prompts in a batch, a prefix that they share, sampling, a client who leaves.

    pip install ./bindings/python numpy
    python examples/tiny_llama/tiny_llama.py [FOLDER]

FOLDER holds tiny_llama.so and weights.npz, as build.py makes them.
"""

import collections
import math
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import opdyno

SEQUENCES, PREFIX, PROMPT, TOKENS = 4, 64, 16, 32
CANCELLED_AFTER = 16  # tokens, when the client of the last sequence leaves
TEMPERATURE, TOP_K, SEED = 0.8, 8, 1
MEASURED = 200  # passes
MASK = (1 << 64) - 1


class Random:
    """SplitMix64: the same numbers as in tiny_llama.c."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & MASK
        return mixed ^ mixed >> 31

    def unit(self):
        return (self.next() >> 11) * 2.0**-53


def sample(logits, random):
    """One of the TOP_K likeliest tokens, by its probability at TEMPERATURE."""
    logits = logits.tolist()
    best = sorted(range(len(logits)), key=lambda token: -logits[token])[:TOP_K]
    weights = [math.exp((logits[token] - logits[best[0]]) / TEMPERATURE) for token in best]
    place = random.unit() * sum(weights)
    for token, weight in zip(best, weights):
        place -= weight
        if place < 0:
            return token
    return best[-1]


class Model:
    def __init__(self, folder):
        self.vm = opdyno.VirtualMachine(folder / "tiny_llama.so", opdyno.cpu())
        self.weights = opdyno.Array(list(opdyno.load_params(folder / "weights.npz").values()))
        self.vocabulary = self.weights[0].shape[0]
        # Sequences, tokens of all of them, tokens in a pass, tokens in a page (as the kernels have it), windows.
        sizes = (SEQUENCES, PREFIX + SEQUENCES * 64, PREFIX, 16, 0)
        self.cache = self.vm["create_paged_kv_cache"](*(opdyno.Shape([size]) for size in sizes))
        self.cancel = opdyno.Cancel()
        self.seconds = 0.0  # of all passes

    def embed(self, tokens, rows):
        embedded = self.vm["embed"](tokens, self.weights)
        return embedded.reshape((*rows, embedded.shape[-1]))

    def compute(self, function, ids, tokens):
        """Appends tokens to some sequences; gives the logits of each sequence's last one. If it fails, the cache is as before."""
        counts = [len(each) for each in tokens]
        flat = np.array([token for each in tokens for token in each], "int32")
        begin = time.perf_counter()
        with self.cache.forward(ids, counts):
            x = self.embed(flat, (len(flat), 1) if function == "decode" else (1, len(flat)))
            logits, _ = self.vm.call(function, x, self.cache, self.weights, cancel=self.cancel)
        self.seconds += time.perf_counter() - begin
        return logits.numpy().reshape(len(flat), -1)[np.cumsum(counts) - 1]


def generate(model):
    """Four sequences with one prefix, each of which goes on by itself."""
    randoms = [Random(SEED + i) for i in range(SEQUENCES)]
    prefix = [Random(SEED + SEQUENCES).next() % model.vocabulary]
    draw = Random(SEED + SEQUENCES + 1)
    prefix += [draw.next() % model.vocabulary for _ in range(PREFIX - 1)]
    prompts = [[random.next() % model.vocabulary for _ in range(PROMPT)] for random in randoms]

    model.cache.add(0)
    model.compute("prefill", [0], [prefix])
    for i in range(1, SEQUENCES):
        model.cache.fork(0, i)  # full pages are shared
    logits = model.compute("prefill", list(range(SEQUENCES)), prompts)
    shared = PREFIX // 16 * (SEQUENCES - 1)
    stats = model.cache.stats()
    print(f"prefill: {PREFIX} tokens once, then {SEQUENCES} x {PROMPT}: {1e3 * model.seconds:.2f} ms; "
          f"{stats.num_pages - stats.free_pages} pages in use, {shared} fewer than without sharing")

    written = [[sample(logits[i], randoms[i])] for i in range(SEQUENCES)]
    model.seconds, live = 0.0, list(range(SEQUENCES))
    while len(written[0]) < TOKENS:
        if len(written[0]) == CANCELLED_AFTER and len(live) == SEQUENCES:
            live = leave(model, live, written)
        logits = model.compute("decode", live, [written[i][-1:] for i in live])
        for row, i in enumerate(live):
            written[i].append(sample(logits[row], randoms[i]))
    decoded = sum(len(written[i]) for i in range(SEQUENCES)) - SEQUENCES
    print(f"decode: {decoded} tokens, {decoded / model.seconds:.0f} tokens/s")
    for i, tokens in enumerate(written):
        print(f"sequence {i}:", *tokens)
    return written


def leave(model, live, written):
    """The client of the last sequence leaves while a pass runs. The pass is undone; the others go on without it."""
    before, calls = model.cache.lengths, 0

    def cancel_within(_function, name, is_before, *_rest):  # a server would cancel on another thread
        nonlocal calls
        calls += is_before and name.endswith("attention_with_fused_qkv")
        if calls == 2:  # the first layer has the new rows already
            model.cancel.cancel()

    model.vm.set_instrument(cancel_within)
    try:
        model.compute("decode", live, [written[i][-1:] for i in live])
    except InterruptedError:
        print(f"cancelled within a pass; the cache is as it was: {model.cache.lengths == before}")
    model.vm.set_instrument(None)
    model.cancel.reset()
    model.cache.remove(live[-1])
    return live[:-1]


def profile(model, tokens):
    """Where the time of a token goes: medians of passes, each of which is taken back, so that all are equal."""
    ids = [0, 1, 2]
    x = model.embed(np.array([tokens[i][-1] for i in ids], "int32"), (len(ids), 1))
    decode, whole, bookkeeping = model.vm["decode"], [], []

    def decode_once():
        begin = time.perf_counter()
        model.cache.begin(ids, [1] * len(ids))
        begun = time.perf_counter()
        decode(x, model.cache, model.weights)
        computed = time.perf_counter()
        model.cache.end(keep=False)
        end = time.perf_counter()
        whole.append(1e6 * (end - begin))
        bookkeeping.append(1e6 * (end - begin - (computed - begun)))

    for _ in range(MEASURED):
        decode_once()
    parts = {"operators": 0.0, "attention": 0.0, "cache bookkeeping": statistics.median(bookkeeping)}
    all_in_all = statistics.median(whole)
    with model.vm.profiling() as recording:  # of more passes, since recording takes time, too
        for _ in range(MEASURED):
            decode_once()
    times = collections.defaultdict(list)
    for call in recording.report.calls:
        is_within = "Depth" in call  # another call of the recording
        times[call["Name"], call["Argument Shapes"], is_within].append(call["Self (us)"].microseconds)
    for (name, _, is_within), of_calls in times.items():
        us = statistics.median(of_calls) * len(of_calls) / MEASURED
        if name.startswith("vm.builtin.attention_kv_cache_"):
            parts["cache bookkeeping"] += us
        elif is_within:
            parts["attention"] += us  # kernels that the cache calls
        elif not name.startswith(("vm.builtin.", "(")):
            parts["operators"] += us
    parts["dispatch"] = max(0.0, all_in_all - sum(parts.values()))
    print(f"per token of {len(ids)} sequences: {all_in_all:.1f} us")
    for name, us in parts.items():
        print(f"  {name:<17} {us:7.1f} us  {us / all_in_all:6.1%}")


if __name__ == "__main__":
    model = Model(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "model")
    profile(model, generate(model))
