"""Random programs that change ndarrays, fields and a NumPy array in place: values, gradients and
products with Hessians against NumPy, twice, and memory as it was before.

`python test/ad/whole_programs/test_random_arrays.py FIRST LAST` runs programs by number.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti

N = 3
ARRAY = ti.types.ndarray()
Values = Any
Step = tuple[str, int, int, int, float]  # what, two ndarrays, a field, a number


class Memory:
    """What programs change: the first ndarray, the third, and the first field have a gradient."""

    def __init__(self) -> None:
        self.x, self.loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (N, ()))
        self.arrays = [ti.ndarray(ti.f64, N, needs_grad=k != 1) for k in range(3)]
        self.fields = [ti.field(ti.f64, N, needs_grad=k == 0) for k in range(2)]
        self.weights = np.zeros(N)
        x, loss = self.x, self.loss

        @ti.kernel
        def by_x(a: ARRAY):
            for i in a:
                a[i] = a[i] * x[i] + 0.5

        @ti.kernel
        def add(a: ARRAY, b: ARRAY):
            for i in a:
                a[i] += b[i] * x[(i + 1) % N]

        @ti.kernel
        def square(a: ARRAY):
            for i in a:
                a[i] = 0.3 * a[i] * a[i]

        @ti.kernel
        def exchange(a: ARRAY, b: ARRAY):
            for i in a:
                old = a[i]
                a[i] = 0.9 * b[i]
                b[i] = old * x[i]

        @ti.kernel
        def to_field(a: ARRAY, f: ti.template()):
            for i in a:
                f[i] = 0.5 * f[i] + a[i] * x[i]

        @ti.kernel
        def from_field(a: ARRAY, f: ti.template()):
            for i in a:
                a[i] += 0.2 * f[i] * f[i]

        @ti.kernel
        def scale(a: ARRAY):
            for i in a:
                a[i] = 1.5 * a[i] + 0.1

        @ti.kernel
        def weigh(a: ARRAY, b: ARRAY):
            for i in a:
                a[i] *= b[i]

        @ti.kernel
        def total(a: ARRAY):
            for i in a:
                loss[None] += (i + 1) * a[i] * a[i]

        self.total = total
        self.steps: dict[str, Callable[[Any, Any, Any, float], Any]] = {
            "by x": lambda a, b, f, c: by_x(a),
            "add": lambda a, b, f, c: add(a, b) if a is not b else None,
            "square": lambda a, b, f, c: square(a),
            "exchange": lambda a, b, f, c: exchange(a, b) if a is not b else None,
            "to field": lambda a, b, f, c: to_field(a, f),
            "from field": lambda a, b, f, c: from_field(a, f),
            "scale weights": lambda a, b, f, c: scale(self.weights),
            "weigh": lambda a, b, f, c: weigh(a, self.weights),
            "copy": lambda a, b, f, c: a.copy_from(b),
            "copy to field": lambda a, b, f, c: f.copy_from(a),
            "copy from field": lambda a, b, f, c: a.copy_from(f),
            "fill": lambda a, b, f, c: a.fill(c),
            "element": lambda a, b, f, c: a.__setitem__(1, c),
            "slice": lambda a, b, f, c: a.__setitem__(slice(1, 3), c),
            "from_numpy": lambda a, b, f, c: a.from_numpy(np.array([c, 2 * c, 1.0])),
        }

    def contents(self) -> list[Values]:
        """All but x and the loss."""
        return [*(one.to_numpy() for one in (*self.arrays, *self.fields)), self.weights.copy()]

    def set_to(self, values: list[Values]) -> None:
        for one, found in zip((*self.arrays, *self.fields), values):
            one.from_numpy(found)
        self.weights[:] = values[-1]


def numpy_step(kind: str, a: Values, b: Values, f: Values, w: Values, x: Values, c: float) -> None:
    """What a step does, in NumPy."""
    if kind == "exchange" and a is not b:
        a[:], b[:] = 0.9 * b, a * x
    elif kind == "add" and a is not b:
        a += b * np.roll(x, -1)
    elif kind in ("to field", "copy to field"):
        f[:] = a if kind == "copy to field" else 0.5 * f + a * x
    elif kind == "scale weights":
        w[:] = 1.5 * w + 0.1
    elif kind == "element":
        a[1] = c
    elif kind == "slice":
        a[1:3] = c
    else:
        new = {
            "by x": a * x + 0.5,
            "square": 0.3 * a * a,
            "from field": a + 0.2 * f * f,
            "weigh": a * w,
            "copy": b,
            "copy from field": f,
            "fill": np.full(N, c),
            "from_numpy": np.array([c, 2 * c, 1.0]),
        }
        a[:] = new.get(kind, a)


class Program:
    """Some steps, and the ndarray that the loss is made of."""

    def __init__(self, number: int, memory: Memory) -> None:
        rng, values = random.Random(number), np.random.default_rng(number)
        self.memory, kinds = memory, list(memory.steps)
        self.steps: list[Step] = [
            (
                rng.choice(kinds),
                rng.randrange(3),
                rng.randrange(3),
                rng.randrange(2),
                round(rng.uniform(-1, 1), 2),
            )
            for _ in range(rng.randint(3, 9))
        ]
        self.last = rng.randrange(3)
        self.x, self.v, *self.start = values.uniform(-1, 1, (8, N))

    def run(self) -> None:
        m = self.memory
        for kind, a, b, f, c in self.steps:
            m.steps[kind](m.arrays[a], m.arrays[b], m.fields[f], c)
        m.total(m.arrays[self.last])

    def value(self, x: Values) -> Any:
        """In NumPy, of real or complex numbers."""
        *arrays, one, other, weights = (values.astype(x.dtype) for values in self.start)
        for kind, a, b, f, c in self.steps:
            numpy_step(kind, arrays[a], arrays[b], (one, other)[f], weights, x, c)
        return (np.arange(1, N + 1) * arrays[self.last] ** 2).sum()

    def gradient(self, x: Values) -> Values:
        """By steps along the imaginary axis, which have no error."""
        return np.array([self.value(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(N)])

    def product(self) -> Values:
        """Of the Hessian with v, by differences of gradients."""
        h, v = 1e-4, self.v
        near, far = (
            self.gradient(self.x + s * v) - self.gradient(self.x - s * v) for s in (h, 2 * h)
        )
        return (8 * near - far) / (12 * h)


def check(number: int, memory: Memory) -> None:
    m, p = memory, Program(number, memory)
    m.set_to(p.start)
    m.x.from_numpy(p.x)
    one = {"inputs": m.x, "output": m.loss}
    value, gradient = p.value(p.x), p.gradient(p.x)

    def unchanged(found: Values, expected: Values, what: str, rtol: float = 1e-10) -> None:
        scale = np.abs(expected).max(initial=1.0)
        np.testing.assert_allclose(found, expected, rtol, rtol * scale, err_msg=f"{number} {what}")
        for now, before in zip(m.contents(), p.start):
            np.testing.assert_array_equal(now, before, err_msg=f"{number} {what}: memory")

    for memory_limit in (None, 1 << 16):
        product = ti.ad.hvp(p.run, m.loss, m.x, p.v, memory=memory_limit)
        unchanged(product, p.product(), "hvp", 1e-7)
        unchanged(m.x.grad.to_numpy(), gradient, "gradient of hvp")
        unchanged(ti.ad.grad(p.run, **one)(p.x), gradient, "grad")
        unchanged(ti.ad.program(p.run, **one)(p.x), value, "program")
    with ti.ad.Tape(m.loss):
        p.run()
    np.testing.assert_allclose(
        m.x.grad.to_numpy(), gradient, 1e-10, 1e-10, err_msg=f"{number} tape"
    )


@pytest.mark.filterwarnings("ignore:.*has no gradient, but carries")
@pytest.mark.filterwarnings("ignore:.*over a value that carries a derivative")
def test_random_programs() -> None:
    """In one program, so that kernels meet fields that got a gradient since they were launched."""
    ti.init(default_fp=ti.f64, opt_level=0)
    memory = Memory()
    for number in range(40):
        check(number, memory)


@pytest.mark.filterwarnings("ignore:.*has no gradient, but carries")
def test_a_field_that_got_a_gradient_after_a_launch() -> None:
    """A kernel that was launched on an array while the field that it reads was constant."""
    ti.init(default_fp=ti.f64, opt_level=0)
    x, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (N, ()))
    hidden, a = ti.field(ti.f64, N), ti.ndarray(ti.f64, N)
    x.fill(2.0)

    @ti.kernel
    def begin():
        for i in x:
            hidden[i] = x[i]

    @ti.kernel
    def square(a: ARRAY):
        for i in a:
            a[i] = hidden[i] ** 2

    @ti.kernel
    def total(a: ARRAY):
        for i in a:
            loss[None] += a[i] * x[i]

    with ti.ad.Tape(loss):
        square(a)
        total(a)
    assert (x.grad.to_numpy() == 0.0).all()
    with ti.ad.Tape(loss):
        begin()
        square(a)
        total(a)
    assert (x.grad.to_numpy() == 3 * 2.0**2).all()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    ti.init(default_fp=ti.f64, opt_level=0)
    everything = Memory()
    for each in range(int(sys.argv[1]), int(sys.argv[2])):
        check(each, everything)
    print("all right")
