"""Trains the digit reader and writes the two files in data/ that the example needs.

    python -m pip install numpy scikit-learn
    python examples/digits/train.py

Takes some ten seconds on one core. The network is small enough to write its backward pass by hand, so numpy is all it
needs; scikit-learn only supplies the images. Every random number comes from one seed. Another BLAS may still round
differently, so retraining elsewhere gives slightly other weights; the reference probabilities always belong to the
weights written beside them.

Layouts, the same as in kernels.c: activations [n, height, width, channel], convolution weights [3, 3, in, out], dense
weights [in, out].
"""

import struct
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

SEED = 0
EPOCHS = 150
BATCH = 32
LEARNING_RATE = 5e-3
DATA = Path(__file__).resolve().parent / "data"

# Order matters: main() in digits.opdasm takes the parameters in this order.
SHAPES = {
    "conv1_w": (3, 3, 1, 8),
    "conv1_b": (8,),
    "conv2_w": (3, 3, 8, 16),
    "conv2_b": (16,),
    "dense_w": (64, 10),
    "dense_b": (10,),
}


# ---- operators: each forward returns its output and what its backward needs ----


def conv2d(x, w, b):
    """3x3 convolution, padding 1, as one matrix product over patches of nine shifted copies."""
    n, height, width, _ = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    patches = np.concatenate(
        [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)], axis=3
    )
    return patches @ w.reshape(-1, w.shape[3]) + b, patches


def conv2d_backward(grad, patches, w):
    n, height, width, k = grad.shape
    c = w.shape[2]
    flat = grad.reshape(-1, k)
    grad_w = (patches.reshape(-1, 9 * c).T @ flat).reshape(w.shape)
    grad_patches = (flat @ w.reshape(-1, k).T).reshape(n, height, width, 9, c)
    padded = np.zeros((n, height + 2, width + 2, c), grad.dtype)
    for tap in range(9):
        i, j = divmod(tap, 3)
        padded[:, i : i + height, j : j + width] += grad_patches[:, :, :, tap]
    return padded[:, 1:-1, 1:-1], grad_w, flat.sum(axis=0)


def max_pool2d(x):
    n, height, width, c = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, c).max(axis=(2, 4))


def max_pool2d_backward(grad, x, y):
    # Equal maxima all receive the gradient. They are nearly always zeros, which the relu below blocks anyway.
    def spread(a):
        return a.repeat(2, axis=1).repeat(2, axis=2)

    return spread(grad) * (x == spread(y))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# ---- the network ----


def forward(p, x):
    conv1, patches1 = conv2d(x, p["conv1_w"], p["conv1_b"])
    relu1 = np.maximum(conv1, 0)
    pool1 = max_pool2d(relu1)
    conv2, patches2 = conv2d(pool1, p["conv2_w"], p["conv2_b"])
    relu2 = np.maximum(conv2, 0)
    pool2 = max_pool2d(relu2)
    flat = pool2.reshape(len(x), -1)
    probabilities = softmax(flat @ p["dense_w"] + p["dense_b"])
    return probabilities, (patches1, relu1, pool1, patches2, relu2, pool2, flat)


def backward(p, probabilities, saved, labels):
    """Gradients of the mean cross-entropy."""
    patches1, relu1, pool1, patches2, relu2, pool2, flat = saved
    grad = probabilities.copy()
    grad[np.arange(len(labels)), labels] -= 1
    grad /= len(labels)
    g = {"dense_w": flat.T @ grad, "dense_b": grad.sum(axis=0)}
    grad = max_pool2d_backward((grad @ p["dense_w"].T).reshape(pool2.shape), relu2, pool2) * (relu2 > 0)
    grad, g["conv2_w"], g["conv2_b"] = conv2d_backward(grad, patches2, p["conv2_w"])
    grad = max_pool2d_backward(grad, relu1, pool1) * (relu1 > 0)
    _, g["conv1_w"], g["conv1_b"] = conv2d_backward(grad, patches1, p["conv1_w"])
    return g


def shifted(images, rng):
    """Moves each image by up to half a pixel each way, blending neighbours.

    1433 images are few. A whole pixel is too far: strokes reach the border and would be cut off.
    """
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for axis in (1, 2):
        shift = rng.uniform(-0.5, 0.5, (len(images), 1, 1, 1)).astype(np.float32)
        neighbour = np.where(shift > 0, np.roll(padded, 1, axis), np.roll(padded, -1, axis))
        padded += np.abs(shift) * (neighbour - padded)
    return padded[:, 1:-1, 1:-1]


def train(images, labels):
    """Adam with a cosine schedule."""
    rng = np.random.default_rng(SEED)
    p = {}
    for name, shape in SHAPES.items():
        fan_in = int(np.prod(shape[:-1]))
        scale = np.sqrt(2 / fan_in) if len(shape) > 1 else 0
        p[name] = (rng.standard_normal(shape) * scale).astype(np.float32)
    mean = {name: np.zeros_like(w) for name, w in p.items()}
    square = {name: np.zeros_like(w) for name, w in p.items()}
    steps = EPOCHS * (len(images) // BATCH)
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(images))
        loss = 0.0
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            probabilities, saved = forward(p, shifted(images[batch], rng))
            loss -= np.log(probabilities[np.arange(BATCH), labels[batch]] + 1e-12).mean()
            step += 1
            rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name, g in backward(p, probabilities, saved, labels[batch]).items():
                mean[name] += 0.1 * (g - mean[name])
                square[name] += 0.001 * (g * g - square[name])
                unbiased = mean[name] / (1 - 0.9**step)
                p[name] -= rate * unbiased / (np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
        if epoch % 30 == 29:
            print(f"epoch {epoch + 1:3}  loss {loss / (len(images) // BATCH):.4f}")
    return p


# ---- files ----


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def tensor(array):
    """TVM's form of a tensor: magic, reserved, device (cpu 0), rank, dtype (float, 32 bits, 1 lane), shape, data."""
    data = np.ascontiguousarray(array, "<f4").tobytes()
    header = struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, array.ndim, 2, 32, 1)
    return header + struct.pack(f"<{array.ndim}qq", *array.shape, len(data)) + data


def param_dict(params):
    """TVM's parameter file: magic, reserved, the names, then the tensors in the same order."""
    out = [struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(params))]
    out += [string(name) for name in params]
    out.append(struct.pack("<Q", len(params)))
    out += [tensor(array) for array in params.values()]
    return b"".join(out)


def every_fifth_of_each_digit(labels):
    """The test images: a split that needs no random numbers and holds each digit equally often.

    Neighbouring images tend to be by one writer, so this measures new images by known writers. Unknown ones are harder.
    """
    held_out = np.zeros(len(labels), bool)
    for digit in range(10):
        held_out[np.flatnonzero(labels == digit)[::5]] = True
    return held_out


def main():
    digits = load_digits()
    pixels = digits.images.astype(np.uint8)  # 0..16: how many of the 4x4 dots under the pixel were black
    labels = digits.target.astype(np.uint8)
    images = (pixels.astype(np.float32) / 16)[..., np.newaxis]
    held_out = every_fifth_of_each_digit(labels)

    p = train(images[~held_out], labels[~held_out])

    # The reference is computed in double precision so that only the kernels' own rounding shows in a comparison.
    wide = {name: w.astype(np.float64) for name, w in p.items()}
    probabilities, _ = forward(wide, images[held_out].astype(np.float64))
    right = int((probabilities.argmax(axis=1) == labels[held_out]).sum())
    total = len(probabilities)
    print(f"held-out images read correctly: {right} of {total} ({100 * right / total:.2f} %)")

    DATA.mkdir(exist_ok=True)
    (DATA / "digits.params").write_bytes(param_dict(p))
    np.savez(
        DATA / "digits_test.npz",
        images=pixels[held_out],
        labels=labels[held_out],
        probabilities=probabilities.astype(np.float32),
    )


if __name__ == "__main__":
    main()
