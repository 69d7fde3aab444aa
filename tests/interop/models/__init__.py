"""The models that become test artifacts. Each module of this package offers MODELS, a list of Model."""

from . import builtins, calls, control, imported, kernels, narrow, networks, scaling, shapes, values
from .common import Case, Model

ALL_MODELS: list[Model] = [
    *networks.MODELS,
    *imported.MODELS,
    *narrow.MODELS,
    *control.MODELS,
    *shapes.MODELS,
    *calls.MODELS,
    *values.MODELS,
    *kernels.MODELS,
    *scaling.MODELS,
    *builtins.MODELS,
]

__all__ = ["ALL_MODELS", "Case", "Model"]
