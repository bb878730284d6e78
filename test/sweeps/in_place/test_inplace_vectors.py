"""Vectors and matrices of fields, updated in place; against finite differences."""

from __future__ import annotations

import pytest
from gradients import check, integers, matrices, scalar, vectors

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_a_component_found_at_run_time() -> None:
    v, loss = vectors(3, N), scalar()
    axis = integers(0, 2, 1, 1, 0)

    @ti.kernel
    def turn():
        for i in v:
            k = axis[i]
            v[i][k] *= v[i][(k + 1) % 3]
            axis[i] = (k + 1) % 3
            v[i][axis[i]] = ti.sin(v[i][k]) * v[i][axis[i]]

    @ti.kernel
    def end():
        for i in v:
            loss[None] += v[i].norm_sqr() * v[i][axis[i]]

    check(lambda: (turn(), turn(), turn(), end()), [v], loss)


def test_matrices_in_place() -> None:
    m, v, loss = matrices(2, 2, N), vectors(2, N, seed=1), scalar()

    @ti.kernel
    def step():
        for i in m:
            m[i] = m[i] @ m[i].transpose() * 0.3
            v[i] = m[i] @ v[i]
            m[i] += 0.1 * v[i].outer_product(v[i])
            m[i][0, 1], m[i][1, 0] = m[i][1, 0] * m[i][0, 0], m[i][0, 1]

    @ti.kernel
    def end():
        for i in m:
            loss[None] += m[i].determinant() + v[i].dot(m[i] @ v[i])

    check(lambda: (step(), step(), step(), end()), [m, v], loss)


def test_a_matrix_inverted_in_place_in_a_loop() -> None:
    m, loss = matrices(2, 2, 2), scalar()

    @ti.kernel
    def step():
        for i in m:
            for _ in range(3):
                m[i] = (m[i] + ti.Matrix([[2.0, 0.0], [0.0, 3.0]])).inverse() @ m[i]
            loss[None] += m[i].sum() ** 2

    check(lambda: (step(), step()), [m], loss)


def test_swizzles_and_slices_in_place() -> None:
    v, loss = vectors(3, N), scalar()

    @ti.kernel
    def step():
        for i in v:
            v[i].xy = v[i].yx * v[i].zz
            v[i].z *= v[i].x
            w = v[i] * 2.0
            w.zx += v[i].xy
            v[i] = w / w.norm()

    @ti.kernel
    def end():
        for i in v:
            loss[None] += v[i].x * v[i].y + v[i].z ** 3

    check(lambda: (step(), step(), end()), [v], loss)
