"""Layers in plain numpy: the second opinion on what TVM computed."""

import math

import numpy as np


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def gelu(x):
    erf = np.vectorize(math.erf)
    return (x * 0.5 * (1 + erf(x / math.sqrt(2)))).astype(x.dtype)


def layer_norm(x, scale, shift, epsilon=1e-5):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon) * scale + shift


def conv2d(image, kernels):
    """Valid convolution, stride 1; image [C, H, W], kernels [O, C, k, k]."""
    size = kernels.shape[-1]
    height, width = image.shape[1] - size + 1, image.shape[2] - size + 1
    out = np.zeros((kernels.shape[0], height, width), image.dtype)
    for row in range(height):
        for column in range(width):
            patch = image[:, row : row + size, column : column + size]
            out[:, row, column] = np.tensordot(kernels, patch, axes=3)
    return out


def max_pool(image, size):
    channels, height, width = image.shape
    blocks = image.reshape(channels, height // size, size, width // size, size)
    return blocks.max(axis=(2, 4))


def dense_stack(x, *parameters):
    """relu(x·w + b) for each pair of parameters, the last layer without relu."""
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        x = relu(x @ weight + bias)
    return x @ parameters[-2] + parameters[-1]
