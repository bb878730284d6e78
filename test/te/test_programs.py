"""Small programs of all kinds, over matrices of ten rows: both modes, and second derivatives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from te.derivatives import check, given, reduced

import mlirad as ti
from mlirad import te

A, B, ROW, ONE = given(10, 10, name="a"), given(10, 10, name="b"), given(10), given(1)
SQUARE = (10, 10)
Program = Callable[[], tuple[te.Tensor, list[te.Tensor]]]


def _expressions() -> dict[str, Program]:
    k, m = reduced(10, 10)

    def of(element: Callable[..., object], *inputs: te.Tensor, shape: tuple[int, ...] = SQUARE):
        return lambda: (te.compute(shape, element), list(inputs))

    return {
        "elements": of(lambda i, j: te.exp(0.3 * A[i, j]) * A[i, j], A),
        "sums of rows": of(lambda i: te.sum(A[i, k] ** 2, axis=k), A, shape=(10,)),
        "a product": of(lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), A, B),
        "its square": of(lambda i, j: te.sum(A[k, i] * A[k, j], axis=k), A),
        "a max of products": of(lambda i, j: te.max(A[i, k] * B[k, j] + A[k, i], axis=k), A, B),
        "a min over both": of(lambda: te.min(A[k, m] * B[m, k], axis=(k, m)), A, B, shape=()),
        "a product of sums": of(lambda i, j: te.prod(A[i, k] + B[k, j], axis=k), A, B),
        "a diagonal, clamped": of(
            lambda i, j: te.sum(A[k, k] - A[te.min(j + k, 9), j] * A[i, k], axis=k), A
        ),
        "clamped below": of(
            lambda i, j: te.sum(A[te.max(i - k, 0), te.min(te.max(j - 3, k), 9)] ** 2, axis=k), A
        ),
        "backwards": of(lambda i: ROW[9 - i] * ROW[i] ** 2, ROW, shape=(10,)),
        "ii->i": of(lambda i: A[i, i] * te.sin(A[i, i]), A, shape=(10,)),
        "a triangle": of(
            lambda i, j: te.sum(A[i, k] * B[k, j], axis=k, where=k <= te.min(i, j)), A, B
        ),
        "a choice": of(lambda i, j: te.select(i < j, A[i, j] * B[j, i], A[j, i] ** 2), A, B),
        "a choice by data": of(
            lambda i, j: te.select(A[i, j] > B[i, j], A[j, i] ** 2, B[i, j] ** 3), A, B
        ),
        "distances": of(lambda i, j: te.sum(te.abs(A[i, k] - B[j, k]), axis=k), A, B),
        "fixed rows": of(lambda i, j: A[0, j] * A[i, 9] * A[3, 7], A),
        "sums within sums": of(
            lambda i, j: te.sum(A[i, k] * te.sum(B[k, m] * A[m, j], axis=m), axis=k), A, B
        ),
        "one number": of(lambda i, j: A[i, j] * te.tanh(ONE[0]) + ONE[0], A, ONE),
        "quotients of indices": of(
            lambda i, j: A[i // 3, (i + j) % 7] * A[(2 * i + j) // 4, j % 3 + 2 * (j % 2)], A
        ),
        "a window": of(
            lambda i: te.sum(A[i + k // 2, 9 - k] * ROW[k], axis=k, where=i + k // 2 < 10),
            A,
            ROW,
            shape=(10,),
        ),
        "rows less their mean": of(
            lambda i, j: (
                A[i, j]
                / te.sqrt(1.0 + te.sum((A[i, k] - te.sum(A[i, m], axis=m) / 10) ** 2, axis=k))
            ),
            A,
        ),
        "log softmax": of(
            lambda i, j: (
                A[i, j] - te.log(te.sum(te.exp(A[i, k] - te.max(A[i, m], axis=m)), axis=k))
            ),
            A,
        ),
    }


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


@pytest.mark.parametrize("name", _expressions())
def test_expressions(name: str) -> None:
    output, inputs = _expressions()[name]()
    third = list(_expressions()).index(name) % 3 == 0
    check(output, inputs, second=third)
