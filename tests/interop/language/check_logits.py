"""Compares logits that work.py wrote with the model in NumPy: check_logits.py PARAMETERS RESULTS. Prints how many passes."""

import json
import sys
from pathlib import Path

import numpy as np
from shape import logits

stored = np.load(sys.argv[1])
parameters = [stored[name] for name in sorted(stored.files)]
passes = json.loads(Path(sys.argv[2]).read_text())
for one in passes:
    expected = logits(parameters, one["tokens"])[-len(one["logits"]) :]
    np.testing.assert_allclose(one["logits"], expected, atol=2e-5)
assert len(passes) > 50
print(len(passes))
