"""Second derivatives of sums of products of numbers that are 0, infinite, or NaN, against the
guarded sums that they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mlirad as ti

TABLE = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan], np.float32)
PAIRS = np.array(list(itertools.product(TABLE, TABLE)), np.float32)  # a number and its tangent
LONG, SHORT = len(PAIRS), 21  # the numbers of a sum of the gradient whose products are of all pairs
Numbers = tuple[np.ndarray, np.ndarray]  # and their tangents


def operands(shape: tuple[int, int, int], special: list[int]) -> dict[str, Numbers]:
    """Numbers and tangents of `left @ right` and of the seeds of its gradient. If there are special
    rows or columns, those of the seeds and of a factor hold all pairs of the table."""
    random = np.random.default_rng(5)
    rows, inner, columns = shape
    arrays = {
        name: random.integers(-3, 4, (2, *sizes)).astype(np.float32)
        for name, sizes in (
            ("left", (rows, inner)),
            ("right", (inner, columns)),
            ("seeds", (rows, columns)),
        )
    }
    for array in (arrays["right"], arrays["seeds"]) if columns == SHORT else ():
        array[:, :, special] = PAIRS.T[:, :, None]
    for array in (arrays["left"], arrays["seeds"]) if rows == SHORT else ():
        array[:, special, :] = PAIRS.T[:, None, :]
    return {name: (array[0], array[1]) for name, array in arrays.items()}


def guarded(factor: Numbers, adjoint: Numbers) -> Numbers:
    """The products of numbers and adjoints that count as 0 where the adjoint is 0, and their
    tangents."""
    with np.errstate(invalid="ignore"):
        product = factor[0] * adjoint[0]
        first = np.where(adjoint[1] == 0, 0, adjoint[1] * factor[0])
        second = np.where(factor[1] == 0, 0, factor[1] * adjoint[0])
        is_none = np.isnan(product) & (adjoint[0] == 0)
        return np.where(is_none, 0, product), np.where(is_none, 0, first + second)


def expected_derivatives(arrays: dict[str, Numbers]) -> list[np.ndarray]:
    """What `second_derivatives` gives."""
    left, right, seeds = (np.stack(arrays[name]) for name in arrays)
    of_left = guarded(right[:, None, :, :], seeds[:, :, None, :])
    of_right = guarded(left[:, :, :, None], seeds[:, :, None, :])
    with np.errstate(invalid="ignore"):
        return [of_left[0].sum(2), of_right[0].sum(0), of_left[1].sum(2), of_right[1].sum(0)]


def second_derivatives(shape: tuple[int, int, int], arrays: dict[str, Numbers]) -> list[np.ndarray]:
    """The gradients of `seeds * (left @ right)` with respect to both factors, and what `hvp` gives
    of them."""
    rows, inner, columns = shape
    left, right, seeds, product = (
        ti.field(ti.f32, shape, needs_grad=True)
        for shape in ((rows, inner), (inner, columns), (rows, columns), (rows, columns))
    )
    loss = ti.field(ti.f32, (), needs_grad=True)
    fields = [left, right, seeds]

    @ti.kernel
    def multiply():
        for i, j in product:
            total = 0.0
            for k in range(inner):
                total += left[i, k] * right[k, j]
            product[i, j] = total

    @ti.kernel
    def weigh():
        for i, j in product:
            loss[None] += seeds[i, j] * product[i, j]

    def forward() -> None:
        multiply()
        weigh()

    for field, (numbers, _) in zip(fields, arrays.values()):
        field.from_numpy(numbers)
    for _ in range(2):  # once more with what is known of infinities
        tangents = ti.ad.hvp(forward, loss, fields, [tangent for _, tangent in arrays.values()])
    return [left.grad.to_numpy(), right.grad.to_numpy(), *(np.asarray(t) for t in tangents[:2])]


def check(shape: tuple[int, int, int], arrays: dict[str, Numbers]) -> None:
    """Compare with the guarded sums."""
    expected = expected_derivatives(arrays)
    for number, array in enumerate(second_derivatives(shape, arrays)):
        np.testing.assert_allclose(array, expected[number], 1e-5, 1e-4, err_msg=str(number))


@pytest.mark.parametrize(
    ("shape", "special", "threads"),
    [
        ((LONG, LONG, SHORT), [], 1),
        ((LONG, LONG, SHORT), [4], 1),
        ((SHORT, LONG, LONG), [3], 1),
        ((SHORT, LONG, LONG), [3, 17], 2),
    ],
    ids=["finite", "columns", "rows", "threads"],
)
def test_infinite_products(shape: tuple[int, int, int], special: list[int], threads: int) -> None:
    ti.init(default_fp=ti.f32, cpu_max_num_threads=threads, offline_cache=False)
    arrays = operands(shape, special)
    assert bool(special) != all(np.isfinite(array).all() for array in expected_derivatives(arrays))
    check(shape, arrays)


def test_tangents_that_are_infinite_without_a_guard() -> None:
    """A tangent times an infinite factor of an adjoint of 0: no NaN tells that it is nothing."""
    ti.init(default_fp=ti.f32, cpu_max_num_threads=1, offline_cache=False)
    shape = (LONG, LONG, SHORT)
    arrays = operands(shape, [])
    for number, (seed, infinity) in enumerate(((0.0, np.inf), (1.5, 0.0))):
        arrays["seeds"][number][:, 4] = seed
        arrays["right"][number][7, 4] = infinity
    expected = expected_derivatives(arrays)
    assert np.isfinite(expected[2]).all()
    check(shape, arrays)
