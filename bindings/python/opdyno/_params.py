"""Parameters: named tensors in files and bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _native
from ._errors import Code, Error
from ._results import ParamsStats, TensorInfo
from ._tensor import Tensor, tensor


class Params(_native.Handle, Mapping[str, Tensor]):
    """Tensors by name, in the order of their file: a mapping. `Params({"w": array})`, or `load_params(path)`.

    A file is mapped, and a tensor of it made at its first use: a view of the file where that is possible, whose
    changes stay in this process; else a copy. Until it and its tensors are gone, the file may be replaced, but not be cut
    short in place. Threads that ask for a tensor at once get the same one; adding is for one thread at a time.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, tensors: Mapping[str, Any] | None = None) -> Params:
        made = _native.opd_params_create()
        for name, value in (tensors or {}).items():
            made[name] = value
        return made

    def __len__(self) -> int:
        return _native.opd_params_count(self)

    def __iter__(self) -> Iterator[str]:
        return (str(_native.opd_params_name(self, i)) for i in range(len(self)))

    def __getitem__(self, name: str) -> Tensor:
        try:
            return _native.opd_params_get(self, name)
        except Error as error:
            if error.code == Code.NOT_FOUND:
                raise KeyError(str(error)) from None
            raise

    def __setitem__(self, name: str, value: Any) -> None:
        _native.opd_params_set(self, name, value if isinstance(value, Tensor) else tensor(value))

    def info(self) -> dict[str, TensorInfo]:
        """Shape, dtype and bytes of each tensor by name, without making any."""
        infos = (_native.opd_params_get_info(self, i) for i in range(len(self)))
        return {info.name: info for info in infos}

    @property
    def stats(self) -> ParamsStats:
        """Bytes in all, given as views of the file, and copied."""
        return _native.opd_params_get_stats(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file; readers see the old one or the new one, never a part.

        Its suffix decides the format: .npz, .safetensors, .npy (exactly one tensor), tensor-cache.json (with files beside
        it), else TVM's param dict. An `Error` for a dtype or a name that the format cannot hold.
        """
        _native.opd_params_save(self, os.fspath(path))

    def __reduce__(self) -> Any:
        return _native.opd_params_load_bytes, (save_param_dict(self),)

    def __repr__(self) -> str:
        return f"<Params of {len(self)} tensors>"


def load_params(
    path: str | os.PathLike[str], *, copy: bool = False, prefetch: bool = False, verify_checksums: bool = False
) -> Params:
    """Opens a parameter file: a TVM param dict, .npz, .npy, .safetensors, or a tensor cache by its directory.

    Its content decides the format. `copy`: copies all tensors at once and lets go of the file. `prefetch`: has the system
    read it ahead. `verify_checksums`: compares those that the file has. An `Error` without such a file, for damage (with
    the offset), or for elements that no tensor can hold.
    """
    options = {"copy": copy, "prefetch": prefetch, "verify_checksums": verify_checksums}
    return _native.opd_params_open(os.fspath(path), options)


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Writes tensors by name to bytes in TVM's format. Values are tensors or arrays. Source: TVM's save_param_dict."""
    return _native.opd_params_save_bytes(params if isinstance(params, Params) else Params(params))


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, Tensor]:
    """Reads what `save_param_dict` wrote, here or in TVM: bytes, or anything like them. Tensors are copies, on the CPU.

    For damage an `Error` with the offset. Source: TVM's load_param_dict.
    """
    return dict(_native.opd_params_load_bytes(param_bytes))


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a parameter file, as `Params.save` does."""
    (params if isinstance(params, Params) else Params(params)).save(path)


def load_param_dict_from_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Reads a parameter file of any format that `load_params` opens: all of its tensors."""
    return dict(load_params(path))


_native.register_class("Params", Params)
