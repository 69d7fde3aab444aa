"""Builds one network in several ways: unfused, with other schedules, layouts and precisions, quantised. Each build has its
weights as constants, and a variant in which all kernels are wrong.

build.py DIRECTORY writes BUILD.so, wrong/BUILD.so and wrong.json, a list of [build, kernel, defect].
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.s_tir import Schedule
from tvm.script import relax as R
from tvm.target import Target

TARGET = {"kind": "llvm", "mcpu": "x86-64-v2"}
SHAPES = {"w1": (6, 3, 3, 3), "w2": (6, 6, 3, 3), "b2": (1, 6, 1, 1), "w3": (120, 32), "b3": (32,), "scale": (32,), "shift": (32,), "w4": (32, 32), "w5": (32, 10), "b5": (10,)}


def weights():
    random = np.random.default_rng(11)
    made = {name: random.standard_normal(shape).astype("float32") for name, shape in SHAPES.items()}
    for name in ("w1", "w2"):
        made[name] /= np.sqrt(np.prod(SHAPES[name][1:]))
    for name in ("w3", "w4", "w5"):
        made[name] /= np.sqrt(SHAPES[name][0])
    return made


class Precise:
    """The operators with weights, as they are."""

    def conv2d(self, x, name):
        return relax.op.nn.conv2d(x, relax.const(VALUES[name]))

    def matmul(self, x, name):
        return relax.op.matmul(x, relax.const(VALUES[name]))


class Quantised:
    """In steps of 1/127 of the largest weight: int8. `of_rows`: also of the rows that are multiplied, in fixed steps."""

    def __init__(self, block, of_rows):
        self.block, self.of_rows = block, of_rows

    def weight(self, name):
        scale = np.float32(np.abs(VALUES[name]).max() / 127)
        return relax.const(np.round(VALUES[name] / scale).astype("int8")), scale

    def multiplied(self, x, name, multiply):
        weight, scale = self.weight(name)
        zero = relax.const(np.int8(0))
        if not self.of_rows:
            return multiply(x, relax.op.dequantize(weight, relax.const(scale), zero, out_dtype="float32"), "float32")
        step = np.float32(4 / 127)
        rows = self.block.emit(relax.op.quantize(x, relax.const(step), zero, out_dtype="int8"))
        sums = self.block.emit(multiply(relax.op.astype(rows, "int32"), relax.op.astype(weight, "int32"), "int32"))
        return relax.op.dequantize(sums, relax.const(np.float32(step * scale)), relax.const(np.int32(0)), out_dtype="float32")

    def conv2d(self, x, name):
        return self.multiplied(x, name, lambda x, w, dtype: relax.op.nn.conv2d(x, w, out_dtype=dtype))

    def matmul(self, x, name):
        return self.multiplied(x, name, lambda x, w, dtype: relax.op.matmul(x, w, out_dtype=dtype))


def network(operators=lambda block: Precise()):
    block = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 3, 14, 12), "float32"))
    op, nn, emit = relax.op, relax.op.nn, block.emit
    with block.function("main", [x]):
        with block.dataflow():
            by = operators(block)
            first = emit(nn.relu(emit(by.conv2d(x, "w1"))))
            second = emit(op.sigmoid(op.add(emit(by.conv2d(first, "w2")), relax.const(VALUES["b2"]))))
            pooled = emit(nn.max_pool2d(second, pool_size=(2, 2), strides=(2, 2)))
            rows = emit(op.reshape(pooled, (2, 120)))
            hidden = emit(op.add(emit(by.matmul(rows, "w3")), relax.const(VALUES["b3"])))
            normed = emit(nn.layer_norm(hidden, relax.const(VALUES["scale"]), relax.const(VALUES["shift"]), axes=[-1]))
            inner = emit(nn.gelu(emit(by.matmul(normed, "w4"))))
            logits = emit(op.add(emit(by.matmul(emit(op.add(inner, hidden)), "w5")), relax.const(VALUES["b5"])))
            out = block.emit_output(nn.softmax(logits))
        block.emit_func_output(out)
    return block.get()


def legalized(module, fuses=True):
    passes = [relax.transform.LegalizeOps()]
    if fuses:
        passes += [relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(), relax.transform.FuseTIR()]
    with Target(TARGET):
        return tvm.transform.Sequential([*passes, relax.transform.DeadCodeElimination()])(module)


def rescheduled(module):
    """The innermost sum of each kernel in four parts, whose sums are added; the outermost loop in parallel."""
    for variable, function in kernels(module):
        schedule = Schedule(function)
        for block in schedule.get_child_blocks(schedule.get_sblock("root")):
            sums = [loop for loop in schedule.get_loops(block) if is_reduction(schedule, block, loop)]
            if sums:
                extent = int(schedule.get(sums[0]).extent)
                parts = next(n for n in (4, 3, 2, 1) if extent % n == 0)
                if parts > 1:
                    outer, _ = schedule.split(sums[0], [parts, None])
                    schedule.rfactor(outer, factor_axis=0)
        module.update_func(variable, schedule.mod["main"].with_attr("global_symbol", variable.name_hint))
    return module


def is_reduction(schedule, block, loop):
    number = [int(schedule.get(other).same_as(schedule.get(loop))) for other in schedule.get_loops(block)].index(1)
    return schedule.get(block).iter_vars[number].iter_type == 2  # CommReduce


def kernels(module):
    return [(variable, function) for variable, function in module.functions_items() if isinstance(function, tirx.PrimFunc)]


def builds():
    half = relax.transform.ToMixedPrecision(out_dtype="float16")
    nhwc = relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]})
    return {
        "float32": legalized(network()),
        "unfused": legalized(network(), fuses=False),
        "scheduled": rescheduled(legalized(network(), fuses=False)),
        "float16": legalized(half(network())),
        "nhwc": legalized(nhwc(network()), fuses=False),
        "weights8": legalized(network(lambda block: Quantised(block, False))),
        "int8": legalized(network(lambda block: Quantised(block, True))),
        "int8_unfused": legalized(network(lambda block: Quantised(block, True)), fuses=False),
    }


def damaged(name, function, number):
    """The kernel with a defect in what it has written to its last argument, and what that is."""
    text = function.script()
    header = next(line for line in text.splitlines() if line.startswith("def "))
    output, shape, dtype = re.findall(r'(\w+): T\.Buffer\(\((.*?),?\), "(\w+)"\)', header)[-1]
    extents = [int(extent) for extent in re.findall(r"T\.int64\((\d+)\)", shape)]
    is_real = "float" in dtype
    what = ("one element", "all larger", "the last ones")[number % 3] if is_real else "all of one size"
    indices = [f"d{i}" for i in range(len(extents))]
    stored = {"one element": ["0"] * len(indices), "the last ones": [*indices[:-1], str(extents[-1] - 1)]}.get(what, indices)
    defect, depth = "", 1
    for index, extent in zip(indices, extents):
        if index in stored:
            defect += "    " * depth + f"for {index} in range({extent}):\n"
            depth += 1
    place = f"{output}[{', '.join(stored)}]"
    is_sum = not is_real and name.startswith(("conv2d", "matmul"))  # of products of bytes
    defect += "    " * depth + f"{place} = {f'{place} + T.{dtype}(4)' if is_real else f'T.{dtype}({50000 if is_sum else 100})'}\n"
    return tvm.script.from_source(text.rstrip() + "\n" + defect), what


def export(module, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    relax.build(module, Target(TARGET)).export_library(str(path), options=["-s"])


VALUES = weights()


def main():
    directory, wrong = Path(sys.argv[1]), []
    for name, module in builds().items():
        export(module, directory / f"{name}.so")
        for number, (variable, function) in enumerate(kernels(module)):
            function, defect = damaged(variable.name_hint, function, number)
            module.update_func(variable, function)
            wrong.append([name, variable.name_hint, defect])
        export(module, directory / f"wrong/{name}.so")
    (directory / "wrong.json").write_text(json.dumps(wrong))


if __name__ == "__main__":
    main()
