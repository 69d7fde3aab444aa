"""A network that comes from another framework's file, here ONNX."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tvm.relax.frontend.onnx import from_onnx

from .common import Case, Model, grid


def onnx_cnn():
    """Two convolutions (one padded and strided, one grouped) with what stands around them in an exporter's output."""
    parameters = {
        "conv1.weight": grid("onnx.conv1.weight", (6, 3, 3, 3), limit=1),
        "conv1.bias": grid("onnx.conv1.bias", (6,), limit=1),
        "norm.scale": grid("onnx.norm.scale", (6,)),
        "norm.shift": grid("onnx.norm.shift", (6,)),
        "norm.mean": grid("onnx.norm.mean", (6,)),
        "norm.variance": np.abs(grid("onnx.norm.variance", (6,))) + np.float32(0.5),
        "conv2.weight": grid("onnx.conv2.weight", (12, 3, 3, 3), limit=1),
        "dense.weight": grid("onnx.dense.weight", (10, 12), limit=1),
        "dense.bias": grid("onnx.dense.bias", (10,)),
    }
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node(
            "BatchNormalization", ["c1", "norm.scale", "norm.shift", "norm.mean", "norm.variance"], ["n1"], epsilon=1e-5
        ),
        helper.make_node("Relu", ["n1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "conv2.weight"], ["c2"], group=2, pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["g2"]),
        helper.make_node("Flatten", ["g2"], ["flat"], axis=1),
        helper.make_node("Gemm", ["flat", "dense.weight", "dense.bias"], ["logits"], transB=1),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [2, 3, 16, 16])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [2, 10])],
        [numpy_helper.from_array(array, name) for name, array in parameters.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def onnx_cases():
    image = grid("onnx.image", (2, 3, 16, 16), limit=1)
    (expected,) = ReferenceEvaluator(onnx_cnn()).run(None, {"image": image})
    return [Case("main", (image,), expected=expected)]


MODELS = [
    Model("cnn_onnx", lambda: from_onnx(onnx_cnn()), onnx_cases(), fused=True, committed="never"),
]
