"""Systems of linear equations with matrices that a kernel multiplies by, of Krylov's kind.

Conjugate gradients are those of Hestenes and Stiefel, the stabilized biconjugate ones van der
Vorst's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import sqrt
from typing import Any
from weakref import WeakKeyDictionary

from mlirad.checks import flag, instance, number, whole
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.declaration import field
from mlirad.lang.field.kinds import ScalarField
from mlirad.linalg.matrix_free_kernels import combine, copy, dot
from mlirad.linalg.steps import is_recording, step
from mlirad.linalg.vectors import Numbers, add_to_gradient, take_gradient, write
from mlirad.runtime.program import Program, program
from mlirad.types import f32, f64

# Fields that iterations work with, kept for the next call: a kernel is compiled for each field.
_Key = tuple[tuple[int, ...], Any, bool]
_IDLE: WeakKeyDictionary[Program, dict[_Key, list[Any]]] = WeakKeyDictionary()


class LinearOperator:
    """A square matrix given by a product: `matvec_kernel(x, Ax)` sets the field Ax to the matrix
    times the field x. Raises TaichiTypeError if the argument cannot be called."""

    def __init__(self, matvec_kernel: Callable[[Any, Any], None]) -> None:
        if not callable(matvec_kernel):
            raise TaichiTypeError(
                "expected a kernel of two fields as matvec_kernel, got "
                f"{type(matvec_kernel).__name__}"
            )
        self._matvec: Any = matvec_kernel

    def matvec(self, x: Any, Ax: Any) -> None:
        """Multiply. Raises TaichiRuntimeError if the shapes differ."""
        if x.shape != Ax.shape:
            raise TaichiRuntimeError(f"x has shape {x.shape}, but Ax has shape {Ax.shape}")
        self._matvec(x, Ax)


def MatrixFreeCG(
    A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True
) -> bool:
    """Solve A x = b by the method of conjugate gradients. A must be symmetric and positive
    definite.

    On a tape, derivatives are those of the exact solution. They pass to b and to the fields that
    the kernel of A reads.

    Args:
        A: the linear operator.
        b: the right-hand side, a field of f32 or f64.
        x: the start vector, a field that is set to the solution.
        tol: the iteration stops when the norm of the residual is below it.
        maxiter: the maximum number of iterations.
        quiet: print nothing.

    Returns:
        Whether the residual is below `tol`.

    Raises:
        TaichiTypeError: b or x is not a field of scalars of f32 or f64.
        TaichiRuntimeError: the shapes differ; on a tape, A is not given by a kernel; in the
            reverse, the iteration does not converge.
    """
    tol, maxiter, quiet = _check(A, b, x, tol, maxiter, quiet)
    if not (is_recording() and x.grad is not None):
        return _conjugate_gradients(A, b, x, tol, maxiter, quiet)
    if not hasattr(A._matvec, "grad"):
        raise TaichiRuntimeError(
            "on a tape the matrix of MatrixFreeCG must be a kernel, or a function with "
            "ti.ad.grad_for"
        )
    solution_and_norm: list[tuple[Numbers, float]] = []

    def run() -> bool:
        is_done = _conjugate_gradients(A, b, x, tol, maxiter, quiet)
        solution_and_norm[:] = [(x.to_numpy(), sqrt(dot(b, b)))]
        return is_done

    def reverse() -> None:
        solution, size = solution_and_norm[0]
        head = take_gradient(x)
        with _work(b, 2) as (right, adjoint):
            write(right, head)
            adjoint.fill(0)
            allowed = tol * sqrt(dot(right, right)) / (size or 1.0)
            if not _conjugate_gradients(A, right, adjoint, allowed, maxiter, True):
                raise TaichiRuntimeError(
                    f"the derivative of MatrixFreeCG: {maxiter} iterations do not reach a residual "
                    f"of {allowed:g}"
                )
            result = adjoint.to_numpy()
        _pass_to_matrix(A, solution, result, b)
        add_to_gradient(b, result)

    return step("MatrixFreeCG", run, reverse)


def MatrixFreeBICGSTAB(
    A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True
) -> bool:
    """Solve A x = b by the stabilized method of biconjugate gradients, for any square A.

    Args:
        A: the linear operator.
        b: the right-hand side, a field of f32 or f64.
        x: the start vector, a field that is set to the solution.
        tol: the iteration stops when the norm of the residual is below it.
        maxiter: the maximum number of iterations.
        quiet: print nothing.

    Returns:
        Whether the residual is below `tol`.

    Raises:
        TaichiTypeError: b or x is not a field of scalars of f32 or f64.
        TaichiRuntimeError: the shapes differ, or a tape needs the derivative, which would need the
            transpose of A.
    """
    tol, maxiter, quiet = _check(A, b, x, tol, maxiter, quiet)
    if is_recording() and x.grad is not None:
        raise TaichiRuntimeError(
            "MatrixFreeBICGSTAB has no derivative: use MatrixFreeCG, or ti.linalg.SparseSolver, or "
            "decorate the function that calls it with ti.ad.no_grad"
        )
    return _bicgstab(A, b, x, tol, maxiter, quiet)


def _pass_to_matrix(A: LinearOperator, solution: Numbers, adjoint: Numbers, like: Any) -> None:
    """Add to the gradients of what A's kernel reads: minus the adjoint times the derivative of A
    times the solution."""
    with _work(like, 2, True) as (at, product):
        write(at, solution)
        write(product.grad, -adjoint)
        A._matvec.grad(at, product)
        at.grad.fill(0)
        product.grad.fill(0)


def _conjugate_gradients(
    A: LinearOperator, b: Any, x: Any, tol: float, maxiter: int, quiet: bool
) -> bool:
    with _work(b, 3) as (residual, direction, product):
        _residual(A, b, x, residual)
        copy(direction, residual)
        size = dot(residual, residual)
        for iteration in range(maxiter):
            if sqrt(size) < tol or size == 0.0:
                break
            A._matvec(direction, product)
            curvature = dot(direction, product)
            if not curvature > 0.0:  # not a positive definite matrix, or not a number
                return False
            alpha, before = size / curvature, size
            combine(x, x, alpha, direction)
            combine(residual, residual, -alpha, product)
            size = dot(residual, residual)
            _report(quiet, iteration, size)
            combine(direction, residual, size / before, direction)
    return sqrt(size) < tol or size == 0.0


def _bicgstab(A: LinearOperator, b: Any, x: Any, tol: float, maxiter: int, quiet: bool) -> bool:
    with _work(b, 5) as (residual, shadow, direction, step_by, turned):
        _residual(A, b, x, residual)
        copy(shadow, residual)
        copy(direction, residual)
        size = dot(residual, residual)
        along = size
        for iteration in range(maxiter):
            if sqrt(size) < tol:
                break
            A._matvec(direction, step_by)
            below = dot(shadow, step_by)
            if along == 0.0 or below == 0.0:  # it has broken down
                break
            alpha = along / below
            combine(x, x, alpha, direction)
            combine(residual, residual, -alpha, step_by)
            A._matvec(residual, turned)
            length = dot(turned, turned)
            omega = dot(turned, residual) / length if length else 0.0
            combine(x, x, omega, residual)
            combine(residual, residual, -omega, turned)
            size = dot(residual, residual)
            _report(quiet, iteration, size)
            if omega == 0.0:
                break
            before, along = along, dot(residual, shadow)
            combine(direction, direction, -omega, step_by)
            combine(direction, residual, (along / before) * (alpha / omega), direction)
    return sqrt(size) < tol


def _residual(A: LinearOperator, b: Any, x: Any, residual: Any) -> None:
    A._matvec(x, residual)
    combine(residual, b, -1.0, residual)


def _report(quiet: bool, iteration: int, size: float) -> None:
    if not quiet:
        print(f"iteration {iteration + 1}: residual {sqrt(size):e}")


def _check(
    A: object, b: Any, x: Any, tol: object, maxiter: object, quiet: object
) -> tuple[float, int, bool]:
    instance(A, LinearOperator, "A", "a ti.linalg.LinearOperator")
    for name, vector in (("b", b), ("x", x)):
        is_field: bool = isinstance(vector, ScalarField)
        if not is_field or vector.dtype not in (f32, f64):
            raise TaichiTypeError(
                f"expected {name} as a field of scalars of f32 or f64, got {vector!r}"
            )
    if b.dtype != x.dtype:
        raise TaichiTypeError(f"b has type {b.dtype}, but x has type {x.dtype}")
    if b.shape != x.shape:
        raise TaichiRuntimeError(f"b has shape {b.shape}, but x has shape {x.shape}")
    return number(tol, "tol"), whole(maxiter, "maxiter", low=0), flag(quiet, "quiet")


@contextmanager
def _work(like: Any, count: int, needs_grad: bool = False) -> Iterator[list[Any]]:
    """Fields of the shape and type of another."""
    idle = _IDLE.setdefault(program(), {})
    key = tuple(like.shape), like.dtype, needs_grad
    pool = idle.setdefault(key, [])
    while len(pool) < count:
        pool.append(field(like.dtype, like.shape, needs_grad=needs_grad))
    fields = [pool.pop() for _ in range(count)]
    try:
        yield fields
    finally:
        pool += reversed(fields)
