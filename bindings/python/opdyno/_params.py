"""Parameters: named tensors in files and bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _native
from ._errors import Code, Error
from ._tensor import Tensor, tensor
from ._types import DataType, Shape


class Params(_native.Handle, Mapping[str, Tensor]):
    """Tensors by name, in the order of their file. A tensor is made when it is first asked for."""

    __slots__ = ("__weakref__",)

    def __new__(cls, tensors: Mapping[str, Any] | None = None) -> Params:
        made: Params = _native.opd_params_create()
        for name, value in (tensors or {}).items():
            made[name] = value
        return made

    def __len__(self) -> int:
        return int(_native.opd_params_count(self))

    def __iter__(self) -> Iterator[str]:
        return (str(_native.opd_params_name(self, i)) for i in range(len(self)))

    def __getitem__(self, name: str) -> Tensor:
        try:
            made: Tensor = _native.opd_params_get(self, name)
            return made
        except Error as error:
            if error.code == Code.NOT_FOUND:
                raise KeyError(str(error)) from None
            raise

    def __setitem__(self, name: str, value: Any) -> None:
        _native.opd_params_set(self, name, value if isinstance(value, Tensor) else tensor(value))

    def info(self) -> dict[str, tuple[Shape, DataType]]:
        """Shape and dtype of each tensor, without making any."""
        return {
            name: (_native.params_shape(self, i), _native.opd_params_dtype(self, i)) for i, name in enumerate(self)
        }

    @property
    def stats(self) -> dict[str, int]:
        """Bytes in all, given as views of the file, and copied."""
        found: dict[str, int] = _native.opd_params_get_stats(self)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file; its suffix tells the format: .params, .npz, .safetensors, .npy, tensor-cache.json."""
        _native.opd_params_save(self, os.fspath(path))

    def __repr__(self) -> str:
        return f"<Params of {len(self)} tensors>"


def load_params(
    path: str | os.PathLike[str], *, copy: bool = False, prefetch: bool = False, verify_checksums: bool = False
) -> Params:
    """Opens a parameter file: a TVM param dict, .npz, .npy, .safetensors, or a tensor cache by its folder."""
    options = {"copy": copy, "prefetch": prefetch, "verify_checksums": verify_checksums}
    made: Params = _native.opd_params_open(os.fspath(path), options)
    return made


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Writes tensors by name to bytes in TVM's format."""
    return bytes(_native.opd_params_save_bytes(params if isinstance(params, Params) else Params(params)))


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, Tensor]:
    """Reads what `save_param_dict` wrote, here or in TVM."""
    return dict(_native.opd_params_load_bytes(param_bytes))


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a parameter file; see `Params.save`."""
    (params if isinstance(params, Params) else Params(params)).save(path)


def load_param_dict_from_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Reads a parameter file."""
    return dict(load_params(path))


_native.register_class("Params", Params)
