"""Tapes with several outputs and any seed: `tape.grad({y: seed})`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import scalar, slope, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


class Program:
    """Two outputs of one input, by way of a field that is overwritten: y = sin(x)^2 shifted, z =
    sum x y."""

    def __init__(self) -> None:
        self.x, self.y, self.inner, self.z = variable(N), variable(N), variable(N), scalar()
        x, y, inner, z = self.x, self.y, self.inner, self.z

        @ti.kernel
        def first():
            for i in x:
                inner[i] = ti.sin(x[i])
            for i in x:
                y[i] = 0.0

        @ti.kernel
        def second():
            for i in x:
                inner[i] *= inner[i]
            for i in x:
                y[i] += inner[i] + 0.1 * x[(i + 1) % N] ** 3

        @ti.kernel
        def third():
            for i in x:
                z[None] += x[i] * y[i]

        self.kernels = first, second, third

    def run(self) -> None:
        """From x to y and z."""
        self.z[None] = 0.0
        for kernel in self.kernels:
            kernel()

    def values(self) -> np.ndarray[Any, Any]:
        """Both outputs, one after the other."""
        return np.append(self.y.to_numpy(), self.z[None])

    def jacobian(self) -> np.ndarray[Any, Any]:
        """By finite differences."""
        start = self.x.to_numpy()
        columns = []
        for j in range(N):

            def at(h: float, k: int, j: int = j) -> float:
                self.x.from_numpy(start + h * np.eye(N)[j])
                self.run()
                return float(self.values()[k])

            columns.append([slope(lambda h: at(h, k)) for k in range(N + 1)])  # noqa: B023 - used at once
        self.x.from_numpy(start)
        return np.array(columns).T

    def tape(self, **options: Any) -> ti.ad.Tape:
        """A tape of the program, without a loss."""
        with ti.ad.Tape(**options) as tape:
            self.run()
        return tape


def test_rows_of_a_jacobian() -> None:
    program = Program()
    expected = program.jacobian()
    tape = program.tape()
    assert not program.x.grad.to_numpy().any()
    left = [f.to_numpy() for f in (program.x, program.y, program.inner, program.z)]
    rows = []
    for row in np.eye(N):
        tape.grad({program.y: row})
        rows.append(program.x.grad.to_numpy())
        for field, values in zip((program.x, program.y, program.inner, program.z), left):
            np.testing.assert_array_equal(field.to_numpy(), values)
    tape.grad({program.z: None})
    rows.append(program.x.grad.to_numpy())
    np.testing.assert_allclose(rows, expected, rtol=1e-8, atol=1e-9)
    weights = np.linspace(-1, 2, N)
    tape.grad({program.y: weights, program.z: 3})
    np.testing.assert_allclose(
        program.x.grad.to_numpy(), np.append(weights, 3) @ expected, rtol=1e-8, atol=1e-9
    )


def test_gradients_are_cleared_or_added_to() -> None:
    program = Program()
    expected = program.jacobian()
    tape = program.tape()
    program.x.grad.fill(7.0)
    tape.grad({program.z: None}, clear_gradients=False)
    np.testing.assert_allclose(program.x.grad.to_numpy(), 7 + expected[N], rtol=1e-8)
    tape.grad({program.y: np.ones(N)}, clear_gradients=False)  # what lies in y.grad now is no seed
    np.testing.assert_allclose(program.x.grad.to_numpy(), 7 + expected.sum(axis=0), rtol=1e-8)
    tape.grad({program.z: 2.0}, clear_gradients=True)
    np.testing.assert_allclose(program.x.grad.to_numpy(), 2 * expected[N], rtol=1e-8)
    tape = program.tape(clear_gradients=False)
    program.x.grad.fill(1.0)
    for _ in range(3):
        tape.grad({program.z: None})
    np.testing.assert_allclose(program.x.grad.to_numpy(), 1 + 3 * expected[N], rtol=1e-8)


def test_the_loss_again() -> None:
    program = Program()
    expected = program.jacobian()
    with ti.ad.Tape(program.z) as tape:
        for kernel in program.kernels:
            kernel()
    np.testing.assert_allclose(program.x.grad.to_numpy(), expected[N], rtol=1e-8)
    tape.grad()
    np.testing.assert_allclose(program.x.grad.to_numpy(), expected[N], rtol=1e-8)
    tape.grad(clear_gradients=False)
    np.testing.assert_allclose(program.x.grad.to_numpy(), 2 * expected[N], rtol=1e-8)
    tape.grad({program.y: np.eye(N)[2]})
    np.testing.assert_allclose(program.x.grad.to_numpy(), expected[2], rtol=1e-8)


def test_seeds_that_lie_in_the_gradients() -> None:
    program = Program()
    expected = program.jacobian()
    tape = program.tape()
    program.y.grad.from_numpy(np.arange(N))
    program.z.grad[None] = -1.0
    tape.grad()
    np.testing.assert_allclose(
        program.x.grad.to_numpy(), np.append(np.arange(N), -1) @ expected, rtol=1e-8
    )


def test_arrays_and_vectors() -> None:
    a = ti.ndarray(ti.f64, shape=N, needs_grad=True)
    c = ti.ndarray(ti.f64, shape=N, needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=(), needs_grad=True)
    start = np.linspace(0.2, 1.0, N)
    a.from_numpy(start)

    @ti.kernel
    def run(a: ti.types.ndarray(), c: ti.types.ndarray()):
        for i in range(N):
            c[i] = a[i] ** 2
        for i in range(N):
            v[None] += ti.Vector([a[i], ti.exp(c[i])])

    with ti.ad.Tape() as tape:
        run(a, c)
    for weight in (1.0, 2.0):
        tape.grad({v: ti.Vector([weight, 0.0])})
        np.testing.assert_allclose(a.grad.to_numpy(), weight)
    tape.grad({v: [0.0, 1.0], c: np.ones(N)})
    np.testing.assert_allclose(a.grad.to_numpy(), 2 * start * (1 + np.exp(start**2)), rtol=1e-12)
    tape.grad({c: np.arange(N)}, clear_gradients=False)
    np.testing.assert_allclose(
        a.grad.to_numpy(), 2 * start * (1 + np.arange(N) + np.exp(start**2)), rtol=1e-12
    )


def test_one_array_as_the_loss() -> None:
    a, loss = (ti.ndarray(ti.f64, shape=n, needs_grad=True) for n in (N, 1))
    a.fill(3.0)

    @ti.kernel
    def run(a: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in range(N):
            loss[0] += a[i] ** 2

    with ti.ad.Tape(loss) as tape:
        run(a, loss)
    tape.grad()
    np.testing.assert_allclose(a.grad.to_numpy(), 6.0)


def test_gradients_given_by_hand() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def forward():
        for i in x:
            y[i] = x[i]

    @ti.kernel
    def backward():
        for i in x:
            x.grad[i] += 10 * y.grad[i]

    @ti.kernel
    def spoil():
        for i in x:
            y[i] = 0.0

    @ti.ad.grad_replaced
    def call(spoils: bool) -> None:
        forward()

    @ti.ad.grad_for(call)
    def call_grad(spoils: bool) -> None:
        backward()
        if spoils:
            spoil()

    for spoils in (False, True):
        x.grad.fill(0)
        with ti.ad.Tape() as tape:
            call(spoils)
        tape.grad({y: np.ones(N)})
        np.testing.assert_allclose(x.grad.to_numpy(), 10.0)
        if not spoils:
            tape.grad({y: np.arange(N)})
            np.testing.assert_allclose(x.grad.to_numpy(), 10.0 * np.arange(N))
            continue
        with pytest.raises(ti.TaichiRuntimeError, match="after the tape was closed"):
            tape.grad({y: np.ones(N)})
    assert loss.grad[None] == 0.0


def test_a_field_without_gradient_on_the_way_to_an_output() -> None:
    x, y = variable(N), variable(N)
    middle = ti.field(ti.f64, shape=N, name="middle")

    @ti.kernel
    def first():
        for i in x:
            middle[i] = 2 * x[i]

    @ti.kernel
    def second():
        for i in x:
            y[i] = middle[i] ** 2

    with ti.ad.Tape() as tape:
        first()
        second()
    with pytest.warns(UserWarning, match="middle"):
        tape.grad({y: np.ones(N)})
    for _ in range(2):
        np.testing.assert_allclose(x.grad.to_numpy(), 8 * x.to_numpy())
        tape.grad({y: np.ones(N)})


class TestRefused:
    """Seeds that do not belong to their outputs: errors that name the field, and nothing is
    changed."""

    def refuse(
        self,
        program: Program,
        seeds: Any,
        message: str,
        error: type[Exception] = ti.TaichiTypeError,
    ) -> None:
        """Expect an error; gradients stay."""
        tape = program.tape()
        program.x.grad.fill(3.0)
        with pytest.raises(error, match=message):
            tape.grad(seeds)
        assert (program.x.grad.to_numpy() == 3.0).all()

    def test_shapes(self) -> None:
        program = Program()
        for seed, shape in (
            (np.ones(N + 1), r"\(6,\)"),
            (np.ones((N, 1)), r"\(5, 1\)"),
            (1.0, r"\(\)"),
        ):
            self.refuse(
                program,
                {program.y: seed},
                rf"field '{program.y.symbol}' has shape {shape}.* has shape \(5,\)",
            )
        self.refuse(
            program,
            {program.z: np.ones(2)},
            rf"field '{program.z.symbol}' has shape \(2,\).* has shape \(\)",
        )
        self.refuse(
            program, {program.y: None}, rf"field '{program.y.symbol}' has shape \(5,\): only"
        )

    def test_types(self) -> None:
        program = Program()
        self.refuse(
            program,
            {program.y: np.ones(N, complex)},
            rf"field '{program.y.symbol}' \(shape \(5,\), f64\).*complex128",
        )
        self.refuse(program, {program.z: "one"}, rf"field '{program.z.symbol}'")
        self.refuse(program, {program.y: None, 3: None}, "shape|output")
        self.refuse(program, {3: None}, "expected a field or an ndarray as an output, got int")
        self.refuse(program, program.y, "a dictionary of arrays by output as seeds, got Field")
        integers, plain = ti.field(ti.i32, shape=()), ti.field(ti.f64, shape=(), name="plain")
        self.refuse(program, {integers: None}, f"'{integers.symbol}' has no gradient")
        self.refuse(program, {plain: None}, "'plain' has no gradient")
        self.refuse(program, {program.y.grad: np.ones(N)}, "has no gradient")

    def test_memory_that_changed(self) -> None:
        program = Program()
        tape = program.tape()
        tape.grad({program.z: None})
        program.x[0] = 3.0
        with pytest.raises(ti.TaichiRuntimeError, match="after the tape was closed"):
            tape.grad({program.z: None})

    def test_losses(self) -> None:
        program = Program()
        with pytest.raises(RuntimeError, match="must be a 0-D field"), ti.ad.Tape(program.y):
            program.run()
        with pytest.raises(TypeError, match="the tape has no loss"):
            ti.ad.Tape(grad_check=[program.x])
        with pytest.raises(RuntimeError, match="with a loss"):
            ti.ad.check(program.tape(), program.x)
        with pytest.raises(AssertionError, match="must be entered"):
            ti.ad.Tape().grad({program.z: None})
        with (
            pytest.raises(ti.TaichiRuntimeError, match="is not differentiated"),
            ti.ad.Tape() as tape,
        ):
            program.run()
            tape.grad({program.z: None})
