"""Rows for the models of tests/interop: each calls, once, every recorded case of a model that a plain argument list can tell."""

import json

import numpy as np

from peers import MODES

# They call functions of a host program, which neither side has here, or print where the samples go; bfloat16 is no dtype of NumPy.
LEFT_OUT = {"packed", "destination", "kernels", "effects", "bfloat16"}


def value(key, array, tensor):
    """The argument that is stored under a key without suffix, or with that of a tensor without dimensions."""
    return tensor(array) if array.ndim or key.endswith(":tensor") else array.item()


def arguments(arrays, case, tensor):
    """A case's arguments, or None where one is no tensor and no number."""
    keys = sorted((key for key in arrays if key.startswith(f"{case}/in_")), key=lambda key: int(key.split("/in_")[1].split("_")[0].split(":")[0]))
    names = [key.split("/in_")[1].removesuffix(":tensor") for key in keys]
    if names != [str(index) for index in range(len(keys))]:
        return None  # a tuple, a shape, text …
    return [value(key, arrays[key], tensor) for key in keys]


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
    """As rows() of python_calls.py; models that are missing, archives among them, have none."""
    found = {}
    for mode, below in MODES.items():
        suffix = "" if mode == "bytecode" else f"_{mode}"
        directory = artifacts / below / artifacts.name if below else artifacts
        manifest = directory / "manifest.json"
        models = json.loads(manifest.read_text())["models"] if manifest.exists() else {}
        for name, model in models.items():
            path = directory / f"{name}.so"
            if path.exists() and name not in LEFT_OUT:
                found[f"models_{name}{suffix}"] = ("us", lambda path=path, model=model: (
                    "for function, given in calls: function(*given)", {"calls": calls(side, path, model)}))
    return found
