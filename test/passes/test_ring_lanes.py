"""Programs on rings, whose lanes at the ends of a row are at remainders, leave what they leave
without lanes, to the bit: all of their numbers are small integers."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import mlirad as ti

ROWS, COLUMNS = 5, (3, 16, 31, 32, 33, 48, 64)
DTYPES = ("f32", "f64", "i32")
WAYS = ("add", "set", "gather")  # what is done with the element at each distance
CASES = list(product(COLUMNS, DTYPES, WAYS))
LANES = (4, 8, 16)

pytestmark = pytest.mark.cpu_code("lanes of its vectors")


@pytest.mark.parametrize(("columns", "dtype", "way"), CASES)
def test_rings_change_no_bit(columns: int, dtype: str, way: str) -> None:
    number = CASES.index((columns, dtype, way))
    expected = left_by(number, columns, dtype, way, lanes=1)
    assert any(values.any() for values in expected.values())
    found = left_by(number, columns, dtype, way, lanes=LANES[(number + number // 3) % len(LANES)])
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def left_by(
    number: int, columns: int, dtype: str, way: str, *, lanes: int
) -> dict[str, np.ndarray]:
    """The arrays behind a program, and the gradient of what it reads."""
    ti.init(lanes=lanes, cpu_max_num_threads=1)
    random, kind, is_float = Random(number), getattr(ti, dtype), dtype != "i32"
    components = random.choice([2, 3, 5, 9])
    size = ROWS, columns
    x, y, z = (ti.Vector.field(components, kind, size, needs_grad=is_float) for _ in range(3))
    loss = ti.field(ti.f64, (), needs_grad=True)
    across = [random.randint(-2, 2) for _ in range(components)]
    along = [random.randint(-3, 3) for _ in range(components)]
    low = random.choice([0, 3])  # of what `%` is of, which is negative where it is 0
    numbers = np.random.default_rng(number)
    name = dtype.replace("f", "float").replace("i", "int")
    for array in (x, y):
        array.from_numpy(numbers.integers(-3, 4, (*size, components)).astype(name))

    @ti.func
    def shaped(a):
        return ((a * a - 3) * a + 2) * (a - 1) - a * (a + 2)

    @ti.kernel
    def move():
        for i, j in ti.ndrange(ROWS, columns):
            for c in ti.static(range(components)):
                k = (i + across[c] + ROWS) % ROWS
                near = (j + along[c] + low * columns) % columns
                if ti.static(way == "add"):
                    y[k, near][c] += shaped(x[i, j][c]) * 2
                elif ti.static(way == "set"):
                    y[k, near][c] = shaped(x[i, j][c]) * shaped(x[i, j][0])
                else:
                    y[i, j][c] += shaped(x[k, near][c]) * x[i, j][c]

    @ti.kernel
    def weigh():
        for i, j in ti.ndrange(ROWS, columns):
            for c in ti.static(range(components)):
                loss[None] += y[i, j][c] * (z[i, j][c] + c + 1)

    def run() -> None:
        move()
        move()
        weigh()

    if not is_float:
        run()
        return {"y": y.to_numpy()}
    with ti.ad.Tape(loss):
        run()
    left = {"y": y.to_numpy(), "x.grad": x.grad.to_numpy(), "y.grad": y.grad.to_numpy()}
    v = numbers.integers(-2, 3, (*size, components)).astype(name)
    return left | {"Hv": ti.ad.hvp(run, loss=loss, wrt=x, v=v)}
