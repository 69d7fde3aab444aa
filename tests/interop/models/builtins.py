"""Operators whose work is done by functions of the runtime: sorting, printing, sizes that depend on the data, caches."""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from .common import TVM_VERSION, Case, Model, call_packed, grid, whole


def call_py_func(name, arguments, returns):
    """R.call_py_func; its keyword for the result's type changed with TVM 0.26, as call_packed's did."""
    keyword = "out_sinfo" if TVM_VERSION < (0, 26) else "out_ty"
    return R.call_py_func(name, arguments, **{keyword: returns})


def sorting_module():
    @I.ir_module
    class Sorting:
        @R.function
        def columns_down(x: R.Tensor((3, 4), "float32")):
            return R.sort(x, axis=0, descending=True)

        @R.function
        def rows_up(x: R.Tensor(("n", 4), "float16")):
            return R.sort(x, axis=-1)

        @R.function
        def ranks(x: R.Tensor((2, 6), "int64")):
            return R.argsort(x, axis=1, dtype="int32")

        @R.function
        def best(x: R.Tensor((2, 6), "float32")):
            return R.topk(x, k=3, axis=1, ret_type="both", largest=True, dtype="int64")

        @R.function
        def least(x: R.Tensor((2, 6), "float32")):
            return R.topk(x, k=1, axis=0, ret_type="indices", largest=False, dtype="int32")

    return Sorting


def sorting_cases():
    x, half = grid("sorting.x", (3, 4)), grid("sorting.half", (5, 4), "float16")
    numbers, scores = whole("sorting.numbers", (2, 6), limit=3), grid("sorting.scores", (2, 6))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    return [
        Case("columns_down", (x,), expected=-np.sort(-x, axis=0)),
        Case("rows_up", (half,), expected=np.sort(half, axis=1)),
        Case("ranks", (numbers,), expected=np.argsort(numbers, axis=1, kind="stable").astype("int32")),
        Case("best", (scores,), expected=(np.take_along_axis(scores, order, 1), order)),
        Case("least", (scores,), expected=np.argmin(scores, axis=0).astype("int32").reshape(1, 6)),
    ]


def effects_module():
    @I.ir_module
    class Effects:
        @R.function(pure=False)
        def shown(x: R.Tensor((2, 3), "float32"), n: R.Prim("int64")):
            _ = R.print(x, n, format="x is {}, n is {}")
            _ = R.print(x)
            return x

        @R.function(pure=False)
        def asserted(condition: R.Tensor((), "bool"), x: R.Tensor((2, 3), "float32")):
            _ = R.assert_op(condition, x, format="x is {}")
            return x

        @R.function
        def unique(x: R.Tensor((6,), "int64")):
            return R.unique(x, sorted=True, return_index=True, return_inverse=True, return_counts=True)

        @R.function
        def appearing(x: R.Tensor((6,), "int64")):
            return R.unique(x, sorted=False, return_index=False, return_inverse=False, return_counts=False)

        @R.function
        def columns(x: R.Tensor((3, 4), "float32")):
            return R.unique(x, sorted=True, return_index=True, return_inverse=True, return_counts=True, axis=1)

        @R.function
        def nonzero(x: R.Tensor((2, 3), "float32")):
            return R.nonzero(x)

        @R.function
        def size(x: R.Tensor(("n", "m"), "float32")):
            return R.shape_to_tensor(R.shape_of(x))

        @R.function
        def negated(x: R.Tensor((2, 3), "float32")):
            return call_py_func("opdyno.test.negate", (x,), R.Tensor((2, 3), "float32"))

        @R.function(pure=False)
        def remembered(x: R.Tensor((2, 3), "float32")):
            y = R.add(x, x)
            _ = call_packed("vm.builtin.tensor_cache.update", R.str("y"), y, R.prim_value(1), returns=R.Object)
            return call_packed("vm.builtin.tensor_cache.get", R.str("y"), returns=R.Object)

        @R.function(pure=False)
        def attended(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3, 3), "float32")):
            cache = call_packed(
                "vm.builtin.attention_kv_cache_create", x, R.shape([2, 3]), R.prim_value(-1), returns=R.Object
            )
            longer = call_packed("vm.builtin.attention_kv_cache_append", cache, y, returns=R.Object)
            return call_packed("vm.builtin.attention_kv_cache_view", longer, R.shape([5, 3]), returns=R.Object)

    return Effects


def effects_cases():
    x, y, sparse = grid("effects.x", (2, 3)), grid("effects.y", (3, 3)), whole("effects.sparse", (2, 3), "float32", 1)
    numbers, few = whole("effects.numbers", (6,), limit=2), whole("effects.few", (3, 4), "float32", 1)
    few[:, 3] = few[:, 0]
    appearing = numbers[np.sort(np.unique(numbers, return_index=True)[1])]
    return [
        Case("shown", (x, 7), expected=x),
        Case("asserted", (np.array(True), x), expected=x),
        Case("asserted", (np.array(False), x), label="failing", raises="AssertionError"),
        Case("unique", (numbers,), expected=tuple(np.unique(numbers, True, True, True))),
        Case("appearing", (numbers,), expected=appearing),
        Case("columns", (few,), expected=tuple(np.unique(few, True, True, True, axis=1))),
        Case("nonzero", (sparse,), expected=np.stack(sparse.nonzero())),
        Case("size", (x,), expected=np.array([2, 3])),
        Case("negated", (x,), expected=-x),
        Case("remembered", (x,), expected=2 * x),
        Case("attended", (x, y), expected=np.concatenate([x, y])),
    ]


MODELS = [
    Model("sorting", sorting_module, sorting_cases(), committed="newest"),
    Model("effects", effects_module, effects_cases(), committed="newest"),
]
