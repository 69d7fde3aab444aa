"""The sizes of the decoder."""

HIDDEN, HEADS, KV_HEADS, DIM, LAYERS, VOCABULARY, INNER = 64, 4, 2, 16, 2, 97, 128
