"""The names of `tvm.relax` that are needed to run programs. Compiling programs needs TVM."""

from . import vm
from .vm import Executable, VirtualMachine, VMInstrumentReturnKind

VMExecutable = Executable

__all__ = ["VMExecutable", "VMInstrumentReturnKind", "VirtualMachine", "vm"]
