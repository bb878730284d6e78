"""Classes of named tuples behave as those of `typing` do."""

import copy
import pickle
import typing
from typing import Any, Generic, TypeVar

import pytest

from mlirad.named_tuples import NamedTuple

T = TypeVar("T")


class Point(NamedTuple):
    """Two elements, of which one has a default."""

    x: int
    y: int = 2

    @property
    def total(self) -> int:
        """What they add up to."""
        return self.x + self.y


class Model(typing.NamedTuple):
    """What `typing` makes of `Point`."""

    x: int
    y: int = 2


class Far(Point):
    """A usual class on top."""

    name = "far"


class Box(NamedTuple, Generic[T]):
    """One of any type."""

    content: T


def test_elements_are_given_by_place_and_by_name() -> None:
    """As the parameters of a function are, for the first object and for others."""
    for make in (Point, Model, Point, Far):
        assert make(1) == make(1, 2) == make(y=2, x=1) == (1, 2)
        for wrong in ({}, {"x": 1, "z": 2}):
            with pytest.raises(TypeError, match=r"__new__\(\)"):
                make(**wrong)  # type: ignore[arg-type]


def test_the_first_objects_are_like_later_ones() -> None:
    """Which are made by another function."""
    for number in range(100):
        one = Box(number) if number < 50 else Box(content=number)
        assert one == (number,) and type(one) is Box


def test_they_are_tuples() -> None:
    """That are unpacked, compared, hashed and matched, and cannot be changed."""
    x, y = Point(1)
    assert (x, y) == (1, 2) and {Point(1), (1, 2), Model(1)} == {(1, 2)}
    match Point(3):
        case Point(x, y=2):
            assert x == 3
    one: Any = Point(1)
    with pytest.raises(AttributeError):
        one.x = 2
    with pytest.raises(AttributeError):
        one.z = 2


def test_they_have_what_named_tuples_have() -> None:
    """Names, others like them, and a text."""
    assert Point._fields == Model._fields and Point(1)._asdict() == Model(1)._asdict()
    assert Point(1)._replace(y=5) == (1, 5) == Point._make([1, 5])
    assert repr(Point(1)) == "Point(x=1, y=2)" and Point(1).total == 3
    assert repr(Far(1)) == "Far(x=1, y=2)" and type(Far(1)._replace(x=2)) is Far
    assert Box[int](1).content == Box("a")._replace(content=1).content


def test_copies_are_equal() -> None:
    """Whoever makes them."""
    for again in (copy.copy(Point(1)), copy.deepcopy(Point(1)), pickle.loads(pickle.dumps(Far(1)))):
        assert again == (1, 2) and again.total == 3
