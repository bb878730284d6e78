"""Values that are part of compiled code: those that Python takes for equal, and code does not."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

Pair = ti.types.struct(a=ti.f64, b=ti.f64)


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(default_fp=ti.f64)


def told_apart(value: Any) -> int:
    """A number for the type and the digits of a value."""
    if isinstance(value, ti.Matrix):
        value = value.shape, value.entries
    elif isinstance(value, ti.Struct):
        value = value.a, value.b
    elif isinstance(value, np.ndarray):
        value = value.dtype, value.shape, value.tolist()
    return zlib.crc32(repr(value).encode()) >> 2


@ti.kernel
def of_template(c: ti.template()) -> ti.i32:
    return ti.static(told_apart(c))


@ti.func
def inlined(c: ti.template()):
    return ti.static(told_apart(c))


def variants() -> int:
    count: int = ti.lang.impl.get_runtime().get_num_compiled_functions()
    return count


ALIKE = [
    (0.0, -0.0),
    (True, 1, 1.0, np.float32(1), np.float64(1), np.int32(1), np.int64(1), np.bool_(True)),
    (False, 0, 0.0, np.float32(-0.0)),
    (ti.Vector([1, 2]), ti.Vector([1.0, 2.0]), ti.Vector([1.0, 2])),
    (ti.Vector([0.0]), ti.Vector([-0.0])),
    (ti.Matrix([[1, 2], [3, 4]]), ti.Vector([1, 2, 3, 4])),
    ([0.0], [-0.0], (0.0,), (-0.0,), (0,), (False,)),
    ({"a": 1}, {"a": 1.0}, {"a": True}),
    ((1, (2, 0.0)), (1, (2, -0.0)), (1, [2, 0.0])),
    (np.array([1, 0]), np.array([1.0, 0.0]), np.array([1.0, -0.0]), np.array([[1.0, 0.0]])),
    (Pair(0.0, 1.0), Pair(-0.0, 1.0)),
]


@pytest.mark.parametrize("alike", ALIKE, ids=str)
def test_equal_arguments_of_kernels(alike: tuple[Any, ...]) -> None:
    expected = [told_apart(value) for value in alike]
    assert len(set(expected)) == len(alike)
    before = variants()
    for order in (1, -1, 1):
        assert [of_template(value) for value in alike[::order]] == expected[::order]
    assert variants() - before == len(alike)


def test_equal_arguments_of_functions() -> None:
    @ti.kernel
    def run(one: ti.f64) -> ti.types.vector(4, ti.f64):
        return ti.Vector(
            [
                1.0 / (one * ti.static(0.0)),
                1.0 / (one * ti.static(-0.0)),
                ti.cast(inlined(1) == inlined(1.0), ti.f64),
                ti.cast(inlined(True) == inlined(1), ti.f64),
            ]
        )

    assert run(1.0).to_list() == [math.inf, -math.inf, 0.0, 0.0]


def test_nan_is_compiled_once() -> None:
    before = variants()
    for _ in range(3):
        of_template(float("nan"))
        of_template([float("nan")])
        of_template(np.float32("nan"))
    assert variants() - before == 3


def test_collections_of_fields_and_objects() -> None:
    """By the fields that they hold."""
    x, y = ti.field(ti.i32, 1), ti.field(ti.i32, 1)

    @ti.kernel
    def run(pair: ti.template()):
        pair[0][0] += 1
        pair[1][0] += 10

    before = variants()
    for pair in ((x, y), [y, x], (x, y), (x, x)):
        run(pair)
    assert (x[0], y[0], variants() - before) == (1 + 10 + 1 + 11, 10 + 1 + 10, 3)


def test_collections_that_change_in_place() -> None:
    given, table, array = [1.0], {"a": 1.0}, np.array([1.0])

    @ti.kernel
    def run(weights: ti.template(), key: ti.template()) -> ti.f64:
        return weights[key] * 2.0

    for value in (1.0, 4.0, 1.0):
        given[0] = table["a"] = array[0] = value
        assert (run(given, 0), run(table, "a"), run(array, 0)) == (2 * value,) * 3


def test_attributes_that_become_equal() -> None:
    class Step:
        def __init__(self) -> None:
            self.dt: Any = 0.0

        @ti.kernel
        def run(self, one: ti.f64) -> ti.f64:
            return one / (one * self.dt)

    step = Step()
    assert step.run(1.0) == math.inf
    step.dt = 0.0
    step.run(1.0)
    step.dt = -0.0
    with pytest.warns(UserWarning, match=r"compiled for Step.dt = 0.0.* now -0.0"):
        step.run(1.0)


def test_an_attribute_that_stays_nan() -> None:
    class Limits:
        def __init__(self) -> None:
            self.low = float("nan")

        @ti.kernel
        def run(self) -> ti.f64:
            return self.low

    limits = Limits()
    limits.run()
    limits.low = float("nan")
    assert math.isnan(limits.run())


def test_derivatives_called_from_python() -> None:
    @ti.func
    def over(y, c: ti.template()):
        return y / (y * y * c)

    slope = ti.ad.value_and_grad(over)
    assert [slope(1.0, c)[0] for c in (0.0, -0.0, 0.0)] == [math.inf, -math.inf, math.inf]


def test_derivatives_of_structs_with_other_methods() -> None:
    @ti.dataclass
    class Twofold:
        a: ti.f64

        @ti.func
        def weight(self):
            return self.a * 2.0

    @ti.dataclass
    class Threefold:
        a: ti.f64

        @ti.func
        def weight(self):
            return self.a * 3.0

    @ti.func
    def weighted(y, s):
        return y * s.weight()

    slope = ti.ad.value_and_grad(weighted)
    assert [slope(1.0, kind(1.0)) for kind in (Twofold, Threefold)] == [(2.0, 2.0), (3.0, 3.0)]
    inner = [ti.types.struct(s=kind) for kind in (Twofold, Threefold)]

    @ti.func
    def nested(y, s):
        return y * s.s.weight()

    slope = ti.ad.value_and_grad(nested)
    given = [inner[0](s=Twofold(1.0)), inner[1](s=Threefold(1.0))]
    assert [slope(1.0, one)[0] for one in given] == [2.0, 3.0]


def test_kept_on_disk(tmp_path: Path) -> None:
    @ti.kernel
    def over(c: ti.template(), one: ti.f32) -> ti.f32:
        return one / (one * c)

    for constants in ((0.0, 1.0), (-0.0, 1, True, 0.0)):
        ti.init(offline_cache=True, offline_cache_file_path=str(tmp_path))
        for c in constants:
            expected = 1.0 if c else math.copysign(math.inf, c)
            assert over(c, 1.0) == expected
