"""Tests of params in files and in bytes."""

import numpy as np
import pytest

import opdyno

TENSORS = {"w": np.arange(6, dtype="float32").reshape(2, 3), "größe": np.array(3, "int64"), "b": np.zeros((0, 2), "float16")}


def check(found):
    assert list(found) == list(TENSORS)
    for name, array in TENSORS.items():
        np.testing.assert_array_equal(found[name].numpy(), array)
        assert found[name].dtype == array.dtype.name


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_param_dicts_go_through_bytes(kind):
    check(opdyno.load_param_dict(kind(opdyno.save_param_dict(TENSORS))))


@pytest.mark.parametrize("suffix", [".params", ".npz", ".safetensors"])
def test_files_of_every_format(tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    opdyno.save_param_dict_to_file(TENSORS, path)
    if suffix == ".npz":
        np.testing.assert_array_equal(np.load(path)["w"], TENSORS["w"])
    params = opdyno.load_params(path)
    info = params.info()["w"]
    assert (info.name, info.shape, info.dtype, info.bytes) == ("w", (2, 3), "float32", 24) and len(params) == 3 and "w" in params
    if suffix == ".safetensors":
        assert {name: t.numpy().tolist() for name, t in params.items()} == {n: a.tolist() for n, a in TENSORS.items()}
    else:
        check(params)
    assert params.stats.total_bytes == 24 + 8
    with pytest.raises(KeyError, match="nothing"):
        params["nothing"]


def test_params_are_built_by_hand():
    params = opdyno.Params({"a": np.zeros(2)})
    params["b"] = opdyno.empty((1,), "int8")
    params["a"] = np.ones(3)
    assert list(params) == ["a", "b"] and params["a"].shape == (3,) and "2 tensors" in repr(params)


def test_damaged_bytes_are_an_error():
    data = opdyno.save_param_dict(TENSORS)
    with pytest.raises(opdyno.Error) as caught:
        opdyno.load_param_dict(data[:-10])
    assert caught.value.code == opdyno.Code.BAD_FORMAT


def test_checksums_are_compared_where_that_is_asked_for(tmp_path):
    path = tmp_path / "model.npz"
    opdyno.Params({"w": np.arange(100.0)}).save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # a bit in the middle of the elements
    path.write_bytes(data)
    assert opdyno.load_params(path)["w"].shape == (100,)
    with pytest.raises(ValueError, match="does not fit its checksum"):
        opdyno.load_params(path, verify_checksums=True)["w"]
