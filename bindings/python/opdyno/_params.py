"""Params, which are named tensors in files and bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _native
from ._errors import Code, Error
from ._results import ParamsStats, TensorInfo
from ._tensor import Tensor, tensor


class Params(_native.Handle, Mapping[str, Tensor]):
    """A mapping of names to tensors, in the order of their file: `Params({"w": array})`, or `load_params(path)`.

    A file is mapped into memory, and each of its tensors is made at its first use. If possible, the tensor is a view of
    the file, else a copy. Changes of a view stay in this process. As long as the Params or their tensors exist, the
    file may be replaced, but must not be truncated in place. If threads request the same tensor at once, they get the
    same object. Only one thread at a time may add tensors.
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
        """Describes each tensor by name: shape, dtype and bytes. No tensors are made."""
        infos = (_native.opd_params_get_info(self, i) for i in range(len(self)))
        return {info.name: info for info in infos}

    @property
    def stats(self) -> ParamsStats:
        """Returns the bytes of all tensors, of views of the file, and of copies."""
        return _native.opd_params_get_stats(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file. Readers see either the old or the new file, never a part.

        The file's name decides the format: .npz, .safetensors, .npy (for exactly one tensor), tensor-cache.json (with
        more files beside it); any other name: TVM's param dict. `Error` for a dtype or a name that the format cannot
        represent.
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

    The content decides the format. `copy`: copies all tensors at once and closes the file. `prefetch`: asks the system
    to read the file ahead. `verify_checksums`: compares the checksums in the file. `Error` if there is no such file, if
    it is damaged (with the offset), or if a tensor cannot have its elements.
    """
    options = {"copy": copy, "prefetch": prefetch, "verify_checksums": verify_checksums}
    return _native.opd_params_open(os.fspath(path), options)


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Writes tensors by name to bytes in TVM's format. Values are tensors or arrays. Source: TVM's save_param_dict."""
    return _native.opd_params_save_bytes(params if isinstance(params, Params) else Params(params))


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, Tensor]:
    """Reads the output of `save_param_dict` of opdyno or TVM, which is a bytes-like object. Tensors are copies on the
    CPU.

    If the bytes are damaged, `Error` with the offset. Source: TVM's load_param_dict.
    """
    return dict(_native.opd_params_load_bytes(param_bytes))


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a parameter file, as `Params.save` does."""
    (params if isinstance(params, Params) else Params(params)).save(path)


def load_param_dict_from_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Reads all tensors of a parameter file in any format that `load_params` opens."""
    return dict(load_params(path))


_native.register_class("Params", Params)
