"""What a model is, and the few helpers that all models share."""

import zlib
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import tvm
from tvm.script import relax as R

TVM_VERSION = tuple(int(part) for part in tvm.__version__.split(".")[:2])
NEWEST_TVM = (0, 27)


@dataclass(frozen=True)
class Case:
    """One call of one function, with inputs that never change."""

    function: str
    inputs: tuple = ()
    label: str = ""  # tells several calls of one function apart
    expected: Any = None  # what numpy says; compared with TVM's answer before anything is written
    after: dict[int, np.ndarray] = field(default_factory=dict)  # the same for arguments written in place
    raises: str = ""  # kind of the error that must be the answer

    @property
    def name(self) -> str:
        return f"{self.function}@{self.label}" if self.label else self.function


@dataclass(frozen=True)
class Model:
    """A module and the calls made to it."""

    name: str
    module: Callable[[], Any]  # an IRModule, or an ExecBuilder for kind "assembled"
    cases: list[Case]
    kind: str = "vm"  # "vm": Relax; "kernels": plain functions, no VM; "assembled": VM code written by hand
    bound: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # function → parameters made constants
    fused: bool = False  # with operator fusion, which relax.build leaves out on its own
    committed: str = "always"  # "newest": only as built by the newest TVM; "never": too much for the repository
    large: bool = False  # for benchmarks only
    disassembly: bool = False  # also commit the newest TVM's disassembly
    target: str = "llvm"  # "c": exported as an archive of sources
    linked: bool = False  # exported as an archive of objects for a system library
    modes: tuple = ("bytecode", "compiled")

    def is_in(self, chosen: str) -> bool:
        """Whether it belongs to the set of that name; generate.py --set lists them."""
        is_committed = self.committed == "always" or (self.committed == "newest" and TVM_VERSION == NEWEST_TVM)
        return {"committed": is_committed, "tests": not self.large, "all": True}[chosen]

    def file_name(self) -> str:
        return f"{self.name}.{'a' if self.linked else 'tar' if self.target == 'c' else 'so'}"


def grid(name: str, shape: tuple, dtype: str = "float32", limit: int = 2) -> np.ndarray:
    """Fixed test numbers: multiples of 1/8 between -limit and limit.

    Their products and short sums are exact in float32, so an answer does not depend on the order of additions or on
    fused multiply-add, and can be compared bit for bit wherever no exp, tanh or division is involved.
    """
    return (whole(name, shape, limit=8 * limit) / 8).astype(dtype)


def whole(name: str, shape: tuple, dtype: str = "int64", limit: int = 9) -> np.ndarray:
    """Fixed whole numbers between -limit and limit."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return generator.integers(-limit, limit + 1, size=shape).astype(dtype)


def call_packed(name, *arguments, returns):
    """R.call_packed. Its keyword for the result's type has a new name since TVM 0.26, which ignores the old one."""
    keyword = "sinfo_args" if TVM_VERSION < (0, 26) else "ty_args"
    return R.call_packed(name, *arguments, **{keyword: returns})
