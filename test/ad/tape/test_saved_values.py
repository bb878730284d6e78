"""Values that a gradient needs and that are overwritten, each beside a form of the program that
keeps them itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, check_pair, scalar, scatter, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


@ti.kernel
def square_into(a: ti.template(), b: ti.template()):
    for i in a:
        b[i] = a[i] * a[i]


@ti.kernel
def sine_into(a: ti.template(), b: ti.template()):
    for i in a:
        b[i] = ti.sin(a[i]) + 2.0


@ti.kernel
def constant_into(a: ti.template(), value: ti.f64):
    for i in a:
        a[i] = value


@ti.kernel
def total(a: ti.template(), loss: ti.template()):
    for i in a:
        loss[None] += a[i] * (1.0 + 0.5 * a[i])


def test_overwritten_in_the_same_kernel() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def overwriting():
        for i in x:
            loss[None] += x[i] * x[i]
            x[i] = 0.0

    @ti.kernel
    def obeying():
        for i in x:
            loss[None] += x[i] * x[i]
            y[i] = 0.0

    check_pair(overwriting, obeying, [x], loss)


def overwrite_by_kernel(x: Any, y: Any) -> None:
    constant_into(x, 3.0)


def overwrite_by_element(x: Any, y: Any) -> None:
    x[2] = 7.0
    x[4] = 7.0


def overwrite_by_fill(x: Any, y: Any) -> None:
    x.fill(1.0)


def overwrite_by_array(x: Any, y: Any) -> None:
    x.from_numpy(np.arange(float(N)))


def overwrite_by_copy(x: Any, y: Any) -> None:
    x.copy_from(y)


def overwrite_three_later(x: Any, y: Any) -> None:
    sine_into(y, y)
    square_into(y, y)
    constant_into(x, 3.0)


OVERWRITES = [
    overwrite_by_kernel,
    overwrite_by_element,
    overwrite_by_fill,
    overwrite_by_array,
    overwrite_by_copy,
    overwrite_three_later,
]


@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_overwritten_after_the_kernel(overwrite: Any) -> None:
    x, y, z, loss, spare = variable(N), variable(N), variable(N), scalar(), variable(N)

    def run(target: Any) -> None:
        square_into(x, z)
        overwrite(target, y if target is x else spare)
        total(z, loss)

    check_pair(lambda: run(x), lambda: (square_into(x, z), total(z, loss)), [x], loss)


def test_a_copy_passes_derivatives_on() -> None:
    x, y, z, loss = variable(N), variable(N), variable(N), scalar()

    def overwriting() -> None:
        square_into(x, y)
        x.copy_from(y)
        square_into(x, y)
        total(y, loss)

    def obeying() -> None:
        square_into(x, y)
        square_into(y, z)
        total(z, loss)

    check_pair(overwriting, obeying, [x], loss)


def test_a_copy_of_another_layout_and_precision() -> None:
    x, loss = variable(4, 6), scalar()
    y = ti.field(ti.f64)
    ti.root.dense(ti.ji, (3, 2)).dense(ti.ij, 2).place(y)
    z = ti.field(ti.f64, shape=(4, 6))
    ti.root.lazy_grad()

    @ti.kernel
    def run_total():
        for i, j in x:
            loss[None] += x[i, j] * x[i, j] * (i + 2 * j)

    def run() -> None:
        y.copy_from(x)
        z.copy_from(y)
        x.fill(2.0)
        x.copy_from(z)
        run_total()

    check(run, [x], loss)


def test_a_copy_through_a_field_without_gradient_warns() -> None:
    x, y, loss = variable(N), ti.field(ti.f64, shape=N), scalar()
    z = variable(N)

    def run() -> None:
        y.copy_from(x)
        total(y, loss)

    with pytest.warns(UserWarning, match="hidden"), ti.ad.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), 1.0 + x.to_numpy())
    with ti.ad.Tape(loss):
        y.copy_from(z)
        y.copy_from(y)
        total(y, loss)
    np.testing.assert_allclose(z.grad.to_numpy(), 1.0 + z.to_numpy())
    assert not x.grad.to_numpy().any()


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_a_host_write_kills_the_adjoint() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    def run() -> None:
        square_into(x, y)
        y[1] = 4.0
        total(y, loss)

    (gradient,) = check(run, [x], loss)
    assert gradient[1] == 0.0
    assert gradient[0] != 0.0


def test_a_store_that_kills_an_earlier_store() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.sin(x[i]) * y[i]
            loss[None] += y[i]
            y[i] = x[i] * x[i]
            loss[None] += y[i] * y[i]

    check(run, [x, y], loss)


def test_swaps() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()
    a, c = variable(N), variable(N)

    @ti.kernel
    def swap():
        for i in x:
            x[i], y[i] = y[i] * x[i], x[i] * x[i]

    @ti.kernel
    def swap_into():
        for i in x:
            a[i], c[i] = y[i] * x[i], x[i] * x[i]

    @ti.kernel
    def finish(p: ti.template(), q: ti.template()):
        for i in p:
            loss[None] += p[i] * ti.sin(q[i])

    check_pair(lambda: (swap(), finish(x, y)), lambda: (swap_into(), finish(a, c)), [x, y], loss)


def test_a_loss_overwritten_by_three_kernels() -> None:
    x, loss = variable(N), scalar()
    first, second = scalar(), scalar()

    @ti.kernel
    def add(target: ti.template()):
        for i in x:
            target[None] += x[i] * x[i]

    @ti.kernel
    def square(source: ti.template(), target: ti.template()):
        target[None] = source[None] * source[None] * x[0]

    @ti.kernel
    def scale(source: ti.template(), target: ti.template()):
        target[None] = ti.sin(source[None]) * x[1]

    def obeying() -> None:
        add(first)
        square(first, second)
        scale(second, loss)

    first_start = [first, second]

    def prepared() -> None:
        for f in first_start:
            f.fill(0)
        obeying()

    check_pair(lambda: (add(loss), square(loss, loss), scale(loss, loss)), prepared, [x], loss)


def test_read_overwritten_and_read_again() -> None:
    x, y, z, loss = variable(N), variable(N), variable(N), scalar()

    @ti.kernel
    def overwriting():
        for i in x:
            loss[None] += x[i] ** 3
            x[i] = ti.sin(x[i]) * y[i]
            loss[None] += x[i] * x[i]
            x[i] = x[i] * x[i]
            loss[None] += ti.exp(x[i])

    @ti.kernel
    def obeying():
        for i in x:
            loss[None] += x[i] ** 3
            z[i] = ti.sin(x[i]) * y[i]
            loss[None] += z[i] * z[i]
            loss[None] += ti.exp(z[i] * z[i])

    check_pair(overwriting, obeying, [x, y], loss)


def test_a_value_loaded_before_a_loop_and_used_in_it() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    def body(save: bool) -> Any:
        @ti.kernel
        def run():
            for i in x:
                factor = x[i]
                for j in range(4):
                    y[i] += ti.sin(factor * (j + 1))
                    if ti.static(not save):
                        x[i] = 0.5 * j
                loss[None] += y[i] * factor

        return run

    check_pair(body(False), body(True), [x], loss)


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_two_paths_one_of_them_cut() -> None:
    x, y, z, loss = variable(N), variable(N), variable(N), scalar()

    def run() -> None:
        square_into(x, y)
        sine_into(x, z)
        z.fill(0.5)
        total(y, loss)
        total(z, loss)

    (gradient,) = check(run, [x], loss)
    np.testing.assert_allclose(gradient, (1 + x.to_numpy() ** 2) * 2 * x.to_numpy(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:field")
def test_a_chain_through_a_field_without_gradient() -> None:
    x, y, loss = variable(N), ti.field(ti.f64, shape=N), scalar()
    z = variable(N)

    def run(middle: Any) -> None:
        square_into(x, middle)
        square_into(middle, middle)
        total(middle, loss)

    def obeying() -> None:
        square_into(x, z)
        square_into(z, w)
        total(w, loss)

    w = variable(N)
    check_pair(lambda: run(y), obeying, [x], loss)


def test_two_ndarray_arguments_that_are_the_same() -> None:
    x, loss = ti.ndarray(ti.f64, shape=N, needs_grad=True), scalar()
    other = ti.ndarray(ti.f64, shape=N, needs_grad=True)
    x.from_numpy(np.linspace(0.4, 1.3, N))

    @ti.kernel
    def step(a: ti.types.ndarray(ndim=1), b: ti.types.ndarray(ndim=1)):
        for i in range(N):
            b[i] = a[i] * a[i] + ti.sin(a[i])

    @ti.kernel
    def finish(a: ti.types.ndarray(ndim=1)):
        for i in range(N):
            loss[None] += a[i] * a[i]

    check_pair(lambda: (step(x, x), finish(x)), lambda: (step(x, other), finish(other)), [x], loss)


def test_two_fields_in_one_tree() -> None:
    x, y = ti.field(ti.f64, needs_grad=True), ti.field(ti.f64, needs_grad=True)
    ti.root.dense(ti.i, N).place(x, y)
    z, w, loss = variable(N), variable(N), scalar()
    x.from_numpy(np.linspace(0.4, 1.3, N))
    check_pair(
        lambda: (square_into(x, y), square_into(y, x), sine_into(x, x), total(x, loss)),
        lambda: (square_into(x, y), square_into(y, z), sine_into(z, w), total(w, loss)),
        [x],
        loss,
    )


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_atomic_choices_overwritten_later(kind: str) -> None:
    x, y, loss = variable(N), variable(N, seed=2), scalar()

    @ti.kernel
    def choose():
        for i in x:
            if ti.static(kind == "max"):
                ti.atomic_max(y[i % 2], x[i])
            else:
                ti.atomic_min(y[i % 2], x[i])

    @ti.kernel
    def scale():
        for i in y:
            y[i] *= 3.0

    check(lambda: (choose(), scale(), total(y, loss)), [x, y], loss)
    check(
        lambda: (choose(), y.fill(1.0), choose(), scale(), choose(), total(y, loss)), [x, y], loss
    )


def test_a_constant_in_an_atomic_choice() -> None:
    x, y, loss = variable(N), variable(N, seed=2), scalar()

    @ti.kernel
    def choose():
        for i in x:
            y[i] = x[i] * x[i]
            ti.atomic_max(y[i], 1.1)

    check(lambda: (choose(), total(y, loss)), [x], loss)


def test_atomic_products() -> None:
    x, y, loss = variable(N), variable(N, seed=2), scalar()
    z = variable(N)

    @ti.kernel
    def multiply():
        for i in x:
            ti.atomic_mul(y[i], x[i])

    @ti.kernel
    def multiply_into():
        for i in x:
            z[i] = y[i] * x[i]

    check_pair(
        lambda: (multiply(), total(y, loss)),
        lambda: (multiply_into(), total(z, loss)),
        [x, y],
        loss,
    )


def test_the_value_returned_by_atomic_add() -> None:
    x, y, loss = variable(N), variable(N, seed=2), scalar()

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in x:
            before = ti.atomic_add(y[0], x[i])
            loss[None] += before * before * x[i]

    check(run, [x, y], loss)


def vectors(blocked: bool) -> Any:
    """A field of vectors with a gradient, in blocks if asked to."""
    v = ti.Vector.field(3, ti.f64, needs_grad=True)
    (ti.root.dense(ti.i, 2).dense(ti.i, 2) if blocked else ti.root.dense(ti.i, 4)).place(v)
    scatter(v)
    return v


def write_components(v: Any) -> None:
    v[1].xz = [0.3, 0.2]
    v[2].y = 0.4
    v[3][-1] = 0.7


def write_one_component_everywhere(v: Any) -> None:
    v.get_scalar_field(1).fill(0.5)


def write_an_array_of_components(v: Any) -> None:
    v.get_scalar_field(2).from_numpy(np.array([0.1, 0.2, 0.3, 0.4]))
    v.get_scalar_field(0)[2] = 0.6


@pytest.mark.filterwarnings("ignore:.*is read in Python inside a tape")
@pytest.mark.parametrize(
    "write", [write_components, write_one_component_everywhere, write_an_array_of_components]
)
@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_components_that_the_host_writes(write: Any, blocked: bool) -> None:
    """The other components of an element keep their derivatives."""
    v, loss = vectors(blocked), scalar()

    @ti.kernel
    def multiply():
        for i in v:
            v[i] *= v[i].yzx

    @ti.kernel
    def finish():
        for i in v:
            loss[None] += v[i].dot(v[i]) * (i + 1)

    check(lambda: (multiply(), write(v), multiply(), finish()), [v], loss)


@pytest.mark.filterwarnings("ignore:.*is read in Python inside a tape")
def test_arrays_that_the_host_writes_from_their_ends() -> None:
    a, b, loss = (
        ti.ndarray(ti.types.vector(2, ti.f64), shape=3, needs_grad=True),
        ti.ndarray(ti.f64, 3, needs_grad=True),
        scalar(),
    )
    scatter(a)
    scatter(b, seed=1)

    @ti.kernel
    def step(
        p: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1),
        q: ti.types.ndarray(dtype=ti.f64, ndim=1),
    ):
        for i in range(3):
            p[i] *= p[i].yx * q[i]
            q[i] *= p[i][0]
        for i in range(3):
            loss[None] += p[i].sum() * q[i]

    def run() -> None:
        step(a, b)
        a[1][1] = 0.5
        b[-1] = 0.3
        step(a, b)
        a[-2] = [0.2, 0.3]
        step(a, b)

    check(run, [a, b], loss)
