"""The sizes of the decoders of build_kinds.py, and what they are checked with: in NumPy, in float64, over all rows at once."""

import numpy as np
from shape import rms_norm, rotate
from sizes import DIM, HEADS, KV_HEADS, LAYERS

WINDOW = 20  # rows that the second layer of the decoder with a window sees
# Of MLA: numbers of a row; of a head its own, those that all heads share, and its values. With 32 numbers in a head, TVM's
# kernel of attention among new rows computes wrong sums of 5 rows on PoCL, with right weights.
LATENT, OWN, ROPE, VALUE = 64, 8, 8, 16


def attend(q, k, v, sees, scale):
    """[tokens, heads, numbers] each."""
    scores = np.where(sees, np.einsum("ihd,jhd->hij", q, k) * scale, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,jhd->ihd", e / e.sum(-1, keepdims=True), v)


def logits(kind, parameters, tokens, prompt=0):
    """`prompt`: tokens of a first pass, which see each other also in a layer with a window."""
    n = len(tokens)
    weights = iter(np.asarray(p, "float64") for p in parameters)
    i, j = np.arange(n)[:, None], np.arange(n)[None]
    before = j <= i
    x = next(weights)[np.asarray(tokens)]
    rows = None
    for layer in range(LAYERS):
        if kind == "latent":
            attention, rest = latent_layer(x, weights, before)
        else:
            norm1, qkv, *rest = (next(weights) for _ in range(6))
            heads = (rms_norm(x, norm1) @ qkv.T).reshape(n, HEADS + 2 * KV_HEADS, DIM)
            q, k, v = np.split(heads, [HEADS, HEADS + KV_HEADS], axis=1)
            if kind == "window":
                q, k = rotate(q, np.arange(n)), rotate(k, np.arange(n))
            if kind != "shared" or layer == 0:
                rows = k, v
            sees = before & ((i - j < WINDOW) | (i < prompt)) if kind == "window" and layer == 1 else before
            attention = attend(q, *(np.repeat(one, HEADS // KV_HEADS, axis=1) for one in rows), sees, DIM**-0.5)
        out, norm2, up, down = rest
        x = x + attention.reshape(n, -1) @ out.T
        hidden = rms_norm(x, norm2) @ up.T
        x = x + (hidden / (1 + np.exp(-hidden))) @ down.T
    return rms_norm(x, next(weights)) @ next(weights).T


def latent_layer(x, weights, before):
    n = len(x)
    norm1, to_q, to_row, to_key, to_value, *rest = (next(weights) for _ in range(9))
    normed = rms_norm(x, norm1)
    row = normed @ to_row.T
    keys = np.einsum("nl,hdl->nhd", row[:, :LATENT], to_key)
    keys = np.concatenate([keys, np.broadcast_to(row[:, None, LATENT:], (n, HEADS, ROPE))], -1)
    values = np.einsum("nl,hlv->nhv", row[:, :LATENT], to_value)
    return attend((normed @ to_q.T).reshape(n, HEADS, OWN + ROPE), keys, values, before, (OWN + ROPE) ** -0.5), rest
