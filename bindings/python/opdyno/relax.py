"""The names of `tvm.relax` that run programs. TVM compiles programs."""

from . import vm
from .vm import Executable, VirtualMachine, VMInstrumentReturnKind

VMExecutable = Executable

__all__ = ["VMExecutable", "VMInstrumentReturnKind", "VirtualMachine", "vm"]
