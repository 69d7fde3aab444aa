"""What the decoder is checked with: in NumPy, in float64, over all rows at once."""

import numpy as np
from sizes import DIM, HEADS, KV_HEADS, LAYERS

THETA = 10000.0
DECAY = 0.75  # of the recurrence that the hybrid model has


def rotate(x, positions):
    half = DIM // 2
    angles = positions[:, None] / THETA ** (np.arange(half) * 2 / DIM)
    cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def rms_norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def decayed_sums(x):
    sums = x.copy()
    for row in range(1, len(x)):
        sums[row] += DECAY * sums[row - 1]
    return sums


def logits(parameters, tokens, positions=None, sees=None):
    """Of all tokens, also with the weights of build_hybrid.py. `sees[i, j]`: whether token i sees token j; by default those before it and itself."""
    n = len(tokens)
    positions = np.arange(n) if positions is None else np.asarray(positions)
    sees = np.tril(np.ones((n, n), bool)) if sees is None else sees
    weights = iter(np.asarray(p, "float64") for p in parameters)
    mixed = [np.asarray(p, "float64") for p in parameters[3 + 6 * LAYERS :]]
    x = next(weights)[np.asarray(tokens)]
    for layer in range(LAYERS):
        norm1, qkv, out, norm2, up, down = (next(weights) for _ in range(6))
        heads = (rms_norm(x, norm1) @ qkv.T).reshape(n, HEADS + 2 * KV_HEADS, DIM)
        q, k = rotate(heads[:, :HEADS], positions), rotate(heads[:, HEADS : HEADS + KV_HEADS], positions)
        v = heads[:, HEADS + KV_HEADS :]
        attention = np.empty((n, HEADS, DIM))
        for head in range(HEADS):
            shared = head // (HEADS // KV_HEADS)
            scores = np.where(sees, q[:, head] @ k[:, shared].T * DIM**-0.5, -np.inf)
            e = np.exp(scores - scores.max(-1, keepdims=True))
            attention[:, head] = (e / e.sum(-1, keepdims=True)) @ v[:, shared]
        x = x + attention.reshape(n, -1) @ out.T
        hidden = rms_norm(x, norm2) @ up.T
        x = x + (hidden / (1 + np.exp(-hidden))) @ down.T
        if mixed:
            x = x + decayed_sums(x @ mixed[layer].T)
    return rms_norm(x, next(weights)) @ next(weights).T
