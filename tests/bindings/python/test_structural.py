"""Tests of structural equality, and of the paths to the place where values differ."""

import pickle

import numpy as np
import pytest

import opdyno
from opdyno import ObjectPath, ObjectPathPair, get_first_structural_mismatch, structural_equal


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2.5, "text", b"bytes", float("nan"), [], [1, [2, "x"]], {"a": [1], 2: None}, opdyno.cpu(1),
     opdyno.DataType("int8"), opdyno.Shape((1, 2)), np.arange(6.0).reshape(2, 3), {"w": np.zeros((0, 4), "int8")}],
    ids=repr,
)
def test_what_a_function_gives_back_is_equal_to_what_it_got(value):
    back = opdyno.Function(lambda x: x)(value)
    assert structural_equal(value, back) and structural_equal(back, value) and structural_equal(value, value)


DIFFERENT = [
    (1, 2, "<root>", "<root>"),
    (1, 1.0, "<root>", "<root>"),
    (1, True, "<root>", "<root>"),
    ("a", b"a", "<root>", "<root>"),
    ("int8", opdyno.DataType("int8"), "<root>", "<root>"),
    ([1, 2], opdyno.Shape((1, 2)), "<root>", "<root>"),
    ([1, [2, 3]], (1, (2, 4)), "<root>[1][1]", "<root>[1][1]"),
    ([1], [1, 2], "<root>[<missing element #1>]", "<root>[1]"),
    ([1, 2, 3], [1], "<root>[1]", "<root>[<missing element #1>]"),
    ([9, 2, 3], [1], "<root>[0]", "<root>[0]"),
    ({"a": 1}, {"a": 2}, "<root>['a']", "<root>['a']"),
    ({"a": 1, "b": 2}, {"a": 1}, "<root>['b']", "<root>[<missing entry>]"),
    ({"a": 1}, {"b": 1, "a": 1}, "<root>[<missing entry>]", "<root>['b']"),
    ({1: "x"}, {True: "x"}, "<root>[1]", "<root>[<missing entry>]"),
    ([np.zeros(2)], [np.ones(2)], "<root>[0]", "<root>[0]"),
    (np.zeros(2), np.zeros(2, "int64"), "<root>.dtype", "<root>.dtype"),
    (np.zeros((2, 3)), np.zeros((2, 4)), "<root>.shape[1]", "<root>.shape[1]"),
    (np.zeros(2), np.zeros((2, 1)), "<root>.shape[<missing element #1>]", "<root>.shape[1]"),
]


@pytest.mark.parametrize("lhs, rhs, left, right", DIFFERENT, ids=[f"{one[0]!r}-{one[1]!r}" for one in DIFFERENT])
def test_the_first_mismatch_is_told_in_both(lhs, rhs, left, right):
    assert not structural_equal(lhs, rhs)
    for convert in (lambda x: x, opdyno.convert):
        pair = get_first_structural_mismatch(convert(lhs), convert(rhs))
        assert isinstance(pair, ObjectPathPair)
        assert (str(pair.lhs_path), str(pair.rhs_path)) == (left, right)


def test_order_of_keys_and_kinds_of_sequences_do_not_count():
    assert structural_equal({"a": [1, 2], "b": None}, opdyno.Map({"b": None, "a": (1, 2)}))
    assert structural_equal(opdyno.tensor(np.arange(6).reshape(2, 3).T.copy()), np.arange(6).reshape(2, 3).T)
    assert get_first_structural_mismatch([1, "x"], opdyno.Array((1, "x"))) is None


def test_other_objects_are_only_equal_to_themselves():
    function, other = opdyno.Function(lambda: 1), opdyno.Function(lambda: 1)
    assert structural_equal([function], [opdyno.convert([function])[0]]) and not structural_equal(function, other)
    assert structural_equal(len, len) and not structural_equal(len, max)
    with pytest.raises(TypeError, match="object"):
        structural_equal(object(), object())


def test_object_generics_are_compared_as_what_they_stand_for():
    class Two(opdyno.ObjectGeneric):
        def asobject(self):
            return [2, 2]

    assert structural_equal(Two(), (2, 2)) and not structural_equal(Two(), [2])


def test_a_path_is_made_of_steps():
    root = ObjectPath.root()
    path = root.attr("body").array_index(3).map_value("key")
    assert str(path) == "<root>.body[3]['key']" and repr(path) == "ObjectPath(\"<root>.body[3]['key']\")"
    assert len(path) == 4 and len(root) == 1 and path.parent == root.attr("body").array_index(3) and root.parent is None
    assert [step.kind for step in path.steps()] == ["root", "attribute", "array_index", "map_value"]
    assert path.key == "key" and path.parent.key == 3
    assert str(ObjectPath.root("model").attr(None)) == "model.<unknown attribute>"
    assert str(root.missing_array_element(2)) == "<root>[<missing element #2>]"
    assert str(root.missing_map_entry()) == "<root>[<missing entry>]"


def test_paths_are_compared_by_their_steps():
    root = ObjectPath.root()
    path = root.attr("a").array_index(1)
    assert path == ObjectPath.root().attr("a").array_index(1) and hash(path) == hash(root.attr("a").array_index(1))
    assert path != root.attr("a").array_index(2) and path != root.attr("a").map_value(1)
    assert root.is_prefix_of(path) and path.is_prefix_of(path) and not path.is_prefix_of(root)
    assert not root.attr("b").is_prefix_of(path)
    assert path.get_prefix(2) == root.attr("a") and path.get_prefix(1) == root
    for length in (0, 4):
        with pytest.raises(IndexError):
            path.get_prefix(length)
    with pytest.raises(AttributeError):
        path.kind = "root"
    assert pickle.loads(pickle.dumps(ObjectPathPair(path, root))) == ObjectPathPair(path, root)
    assert str(ObjectPathPair(path, root)) == "<root>.a[1] and <root>"
