"""Compares logits that work.py wrote with the model in NumPy: check_logits.py PARAMETERS RESULTS. Prints how many passes."""

import json
import sys
from pathlib import Path

import numpy as np
from runtimes import read_arrays
from shape import logits

parameters = read_arrays(sys.argv[1])
passes = json.loads(Path(sys.argv[2]).read_text())
for one in passes:
    expected = logits(parameters, one["tokens"])[-len(one["logits"]) :]
    np.testing.assert_allclose(one["logits"], expected, atol=2e-5)
assert len(passes) > 50
print(len(passes))
