"""Rows for the models of tests/interop: each calls, once, every recorded case of a model that a plain argument list can tell."""

import numpy as np

import model_cases


def arguments(arrays, case, tensor):
    """A case's arguments, or None where one is no tensor and no number."""
    keys = model_cases.inputs(arrays, case)
    return keys and [tensor(arrays[key]) if model_cases.is_tensor(key, arrays[key].shape) else arrays[key].item() for key in keys]


def calls(side, path, model):
    functions = side.vm(path)
    with np.load(path.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    made = []
    for name, case in model["cases"].items():
        if "error" not in case and (given := arguments(arrays, name, side.tensor)) is not None:
            made.append((functions[case["function"]], given))
    if not made:
        raise ValueError("no case has plain arguments only")
    return made


def rows(side, artifacts):
    """As rows() of python_calls.py."""
    return {
        name: ("us", lambda path=path, model=model: ("for function, given in calls: function(*given)", {"calls": calls(side, path, model)}))
        for name, path, model in model_cases.models(artifacts)
    }
