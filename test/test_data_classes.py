"""Classes of fields behave as those of `dataclasses` do."""

import dataclasses
from typing import Any

import pytest

from mlirad.data_classes import data_class, field, fields_of, replace


@data_class(frozen=True)
class Point:
    """Two fields, of which one has a default."""

    x: int
    y: int = 2


@data_class(frozen=True)
class Labelled(Point):
    """Another field, behind those of the base."""

    label: str = ""


@data_class
class Bag:
    """One that can be changed, has a list of its own, and one field later."""

    items: list[int] = field(default_factory=list)
    total: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self.total = sum(self.items)


@dataclasses.dataclass(frozen=True)
class Model:
    """What `dataclasses` makes of `Point`."""

    x: int
    y: int = 2


def test_fields_are_set_by_place_and_by_name() -> None:
    """As the parameters of a function are, before and behind the first object."""
    for make in (Point, Model, Point):
        assert (make(1).x, make(1).y, make(y=3, x=1).y) == (1, 2, 3)
        for wrong in ({}, {"x": 1, "z": 2}):
            with pytest.raises(TypeError, match=r"__init__\(\)"):
                make(**wrong)  # type: ignore[arg-type]


def test_the_first_objects_are_like_later_ones() -> None:
    """Which are made by other functions."""

    @data_class(frozen=True)
    class Late(Point):
        """One that counts."""

        parts: list[int] = field(default_factory=list)

    for number in range(100):
        one = Late(number, parts=[number]) if number % 3 else Late(number)
        assert one == Late(x=number, y=2, parts=[number] * (number % 3 > 0))
        for wrong in ((), (1, 2, [], 4)):
            if number % 50 == 10:
                with pytest.raises(TypeError, match=r"Late.__init__\(\)"):
                    Late(*wrong)
                with pytest.raises(TypeError, match="multiple values"):
                    Late(1, x=2)


def test_what_is_frozen_is_compared_hashed_and_kept() -> None:
    """Equality is that of the fields of objects of one class."""
    assert Point(1) == Point(1, 2) != Point(2)
    assert len({Point(1), Point(1, 2), Point(2)}) == 2
    assert Point(1) != Labelled(1) and Point(1) != Model(1)
    nan = float("nan")
    assert Point(nan) == Point(nan)  # type: ignore[arg-type]  # the same object, as in a tuple
    point = Point(1)
    with pytest.raises(AttributeError, match="x"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="x"):
        del point.x
    assert point.x == 1


def test_fields_of_bases_come_first() -> None:
    """A class adds its fields to those of its bases, and leaves these as they are."""
    assert fields_of(Labelled) == ("x", "y", "label") and fields_of(Point) == ("x", "y")
    assert repr(Labelled(1, 2, "a")) == "Labelled(x=1, y=2, label='a')"
    assert Labelled(1, 2, "a") == replace(Labelled(1), label="a")


def test_each_object_has_its_own_list() -> None:
    """A factory is called for each object; what follows from the fields comes behind."""
    one, other = Bag(), Bag([1, 2])
    one.items.append(5)
    assert Bag().items == [] and other.total == 3
    assert Bag([5]) == one and repr(one) == "Bag(items=[5])"
    unhashable: Any = one
    with pytest.raises(TypeError, match="unhashable"):
        hash(unhashable)
