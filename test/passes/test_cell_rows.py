"""Programs that load and update elements around cells of an array leave what they leave without
lanes, to the bit: all of their numbers are small integers."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import mlirad as ti

PARTICLES, STEPS, CELLS, REACH = 37, 2, 12, 3  # cells of particles along an axis, of one particle
ACCESSES = 14  # at most, by each particle
COMPONENTS = (1, 2, 3, 4, 5, 6, 8, 9)
DTYPES = ("f32", "f64", "i32")
# particles share cells, and only update sums; or no two meet, and they do anything
WAYS = {"shared": ("read", "add", "take"), "apart": ("read", "add", "take", "see", "set")}
CASES = list(product(COMPONENTS, DTYPES, WAYS))
LANES = (4, 8, 16)

Access = tuple[str, int, int, int]  # what is done, and with which cell and component

pytestmark = pytest.mark.cpu_code("lanes of its vectors")


@pytest.mark.parametrize(("components", "dtype", "cells"), CASES)
def test_rows_change_no_bit(components: int, dtype: str, cells: str) -> None:
    number = CASES.index((components, dtype, cells))
    accesses = accesses_of(Random(number), components, WAYS[cells])
    expected = left_by(accesses, components, dtype, cells, lanes=1)
    found = left_by(accesses, components, dtype, cells, lanes=LANES[number % len(LANES)])
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def accesses_of(random: Random, components: int, ways: tuple[str, ...]) -> list[Access]:
    """Accesses of elements beside one another, and of some others, in any order."""
    every = list(product(range(REACH), range(REACH), range(components)))
    start = random.randrange(len(every) - 1)
    near = every[start : start + random.randint(2, 9)]
    picked = near + random.choices(every, k=ACCESSES - len(near))
    random.shuffle(picked)
    return [(random.choice(ways), *element) for element in picked]


def left_by(
    accesses: list[Access], components: int, dtype: str, cells: str, *, lanes: int
) -> dict[str, np.ndarray]:
    """The sums behind a program, and the gradient of what it reads."""
    ti.init(lanes=lanes, cpu_max_num_threads=1)
    kind, is_float = getattr(ti, dtype), dtype != "i32"
    size = (STEPS, CELLS * REACH, CELLS * REACH)
    read, total = (ti.Vector.field(components, kind, size, needs_grad=is_float) for _ in range(2))
    rows, columns = (ti.field(ti.i32, PARTICLES) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)
    numbers = np.random.default_rng(components)
    picked = numbers.permutation(CELLS * CELLS)[:PARTICLES]
    places = np.stack(np.unravel_index(picked, [CELLS] * 2)) * REACH
    if cells == "shared":
        places = places % 5
    for array, values in zip((rows, columns), places):
        array.from_numpy(values.astype(np.int32))
    for array in (read, total):
        array.from_numpy(
            numbers.integers(-3, 4, (*size, components)).astype(
                dtype.replace("f", "float").replace("i", "int")
            )
        )

    @ti.kernel
    def move(t: ti.i32):
        for p in range(PARTICLES):
            i, j = rows[p], columns[p]
            value = ti.cast(p % 5, kind)
            for way, across, along, component in ti.static(accesses):
                if ti.static(way == "read"):
                    value += read[t, i + across, j + along][component]
                elif ti.static(way == "see"):
                    value += total[t, i + across, j + along][component]
                elif ti.static(way == "add"):
                    total[t, i + across, j + along][component] += value
                elif ti.static(way == "take"):
                    total[t, i + across, j + along][component] -= value
                else:
                    total[t, i + across, j + along][component] = value

    @ti.kernel
    def weigh():
        for t, i, j in total:
            for component in ti.static(range(components)):
                loss[None] += total[t, i, j][component] * (component + i % 3)

    if is_float:
        with ti.ad.Tape(loss):
            move(1)
            weigh()
        return {"total": total.to_numpy(), "read.grad": read.grad.to_numpy()}
    move(1)
    return {"total": total.to_numpy()}
