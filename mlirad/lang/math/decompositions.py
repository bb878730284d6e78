"""Decompositions of small matrices: `ti.solve`, `ti.eig`, `ti.sym_eig`, `ti.svd`,
`ti.polar_decompose`."""

from __future__ import annotations

from functools import reduce
from typing import Any

from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python.calls.specials import static, static_assert
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import matrix as fm
from mlirad.lang.kernels.kernel import func
from mlirad.lang.math.decomposition_rules import (
    EPSILON,
    MANTISSAS,
    in_type_of_matrix,
    polar_adjoint,
    polar_tangent,
    svd_adjoint,
    svd_tangent,
)
from mlirad.lang.matrix import Matrix, Vector
from mlirad.types import TypeLike, i16, i32, i64

PAIRS = ((0, 1), (0, 2), (1, 2))
SWEEPS = 8
_INTEGERS = {16: i16, 32: i32, 64: i64}
_BIASES = {16: 15, 32: 127, 64: 1023}  # of exponents


def _cast(matrix: fm.Matrix, dt: TypeLike | None) -> Any:
    """The matrix in a float type; without one, in its own or the default float type."""
    if dt is not None:
        return matrix.cast(dt)
    return matrix * 1.0


def _magnitude(M: fm.Matrix) -> tuple[Any, Any]:
    """The power of two at the largest entry, and its reciprocal: what is computed of `M` times the
    second neither overflows nor vanishes, and rounds as without it."""
    bits = M[0, 0].dtype.bits
    mantissa, bias = MANTISSAS[bits], _BIASES[bits]
    largest = reduce(fn.max, [fn.abs(entry) for entry in M.entries])
    exponent = fn.bit_cast(largest, _INTEGERS[bits]) >> mantissa
    exponent = fn.min(fn.max(exponent, 1), 2 * bias - 1)
    power, reciprocal = (
        fn.bit_cast(fn.cast(e << mantissa, _INTEGERS[bits]), M[0, 0].dtype)
        for e in (exponent, 2 * bias - exponent)
    )
    return power, reciprocal


def solve(A: fm.Matrix, b: fm.Matrix, dt: TypeLike | None = None) -> Any:
    """Solve `A @ x == b` by Gaussian elimination with row pivoting. The code is unrolled, so n
    should be small.

    Args:
        A: an n×n matrix.
        b: a vector of n entries.
        dt: the float type to compute in, by default the type of `A * 1.0`.

    Returns:
        The vector x. If A is singular, its entries are infinite or NaN.

    Raises:
        TaichiCompilationError: the shapes do not fit.
    """
    if A.ndim != 2 or A.n != A.m or b.n != A.n:
        raise TaichiCompilationError(
            f"ti.solve: expected a square matrix and a vector, got shapes {A.shape} and {b.shape}"
        )
    n = A.n
    rows = [[*row, right] for row, right in zip(_cast(A, dt).rows_list(), _cast(b, dt).entries)]
    for k in range(n):
        for i in range(k + 1, n):
            larger = fn.abs(rows[i][k]) > fn.abs(rows[k][k])
            swapped = [
                (fn.select(larger, q, p), fn.select(larger, p, q)) for p, q in zip(rows[k], rows[i])
            ]
            rows[k], rows[i] = [p for p, _ in swapped], [q for _, q in swapped]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [q - factor * p for p, q in zip(rows[k], rows[i])]
    x: list[Any] = [None] * n
    for k in reversed(range(n)):
        right = rows[k][n]
        for j in range(k + 1, n):
            right = right - rows[k][j] * x[j]
        x[k] = right / rows[k][k]
    return Vector(x)


@func
def _eig2(M):  # type: ignore[no-untyped-def]
    power, reciprocal = _magnitude(M)
    M = M * reciprocal
    unity, zero = fn.one(M[0, 0]), fn.zero(M[0, 0])
    half, deviation = (M[0, 0] + M[1, 1]) * (unity / 2), (M[0, 0] - M[1, 1]) * (unity / 2)
    gap = deviation * deviation + M[0, 1] * M[1, 0]
    root = fn.sqrt(fn.abs(gap))
    real, imaginary = fn.select(gap >= 0, root, zero), fn.select(gap >= 0, zero, root)
    values = Matrix([[half + real, imaginary], [half - real, -imaginary]])
    vectors = Matrix([[unity, zero], [zero, zero], [zero, unity], [zero, zero]])
    if M[0, 1] != 0 or M[1, 0] != 0 or imaginary != 0:
        for j in static(range(2)):
            x = Vector([M[0, 1], zero, values[j, 0] - M[0, 0], values[j, 1]])
            y = Vector([values[j, 0] - M[1, 1], values[j, 1], M[1, 0], zero])
            larger = fn.select(x.norm_sqr() > y.norm_sqr(), x, y).normalized()
            for k in static(range(4)):
                vectors[k, j] = larger[k]
    elif M[1, 1] > M[0, 0]:
        vectors = Matrix([[zero, unity], [zero, zero], [unity, zero], [zero, zero]])
    return values * power, vectors


@func
def eig(A, dt=None):  # type: ignore[no-untyped-def]
    """Compute the eigenvalues and eigenvectors of a 2×2 matrix, in a kernel.

    Args:
        A: the matrix.
        dt: the float type to compute in, by default the type of `A * 1.0`.

    Returns:
        The eigenvalues, a 2×2 matrix whose rows are real and imaginary part; and the eigenvectors,
        the columns of a 4×2 matrix in which real and imaginary parts alternate.

    Raises:
        TaichiCompilationError: the matrix has another shape.
    """
    static_assert(A.n == 2 and A.m == 2, "Eigen solver only supports 2D matrices.")
    return _eig2(_cast(A, dt))


@in_type_of_matrix
def _sym_eig2(M: fm.Matrix) -> Any:
    mean, half = (M[0, 0] + M[1, 1]) * 0.5, (M[0, 0] - M[1, 1]) * 0.5
    off = M[0, 1]
    square = half * half + off * off
    least = mean * EPSILON[mean.dtype.bits]
    round_ = square <= least * least  # any rotation will do, and only 1 costs no rounding
    root = fn.select(round_, 0.0, fn.sqrt(fn.select(round_, 1.0, square)))
    swap = half < 0
    x = fn.select(round_, 1.0, fn.select(swap, off, half + root))
    y = fn.select(round_, 0.0, fn.select(swap, root - half, off))
    scale = fn.rsqrt(x * x + y * y)
    c, s = x * scale, y * scale
    return Vector([mean + root, mean - root]), Matrix([[c, -s], [s, c]])


@func
def _sym_eig3(M):  # type: ignore[no-untyped-def]
    """Jacobi's rotations: each zeroes one entry beside the diagonal."""
    S, V, unity = M, Matrix.identity(M[0, 0].dtype, 3), fn.one(M[0, 0])
    for _ in range(SWEEPS):
        for p, q in static(PAIRS):
            if S[p, q] != 0:
                zeta = (S[q, q] - S[p, p]) / (2 * S[p, q])
                t = fn.select(zeta >= 0, unity, -unity) / (
                    fn.abs(zeta) + fn.sqrt(unity + zeta * zeta)
                )
                c = unity / fn.sqrt(unity + t * t)
                s = c * t
                for k in static(range(3)):
                    left, right = S[k, p], S[k, q]
                    S[k, p], S[k, q] = c * left - s * right, s * left + c * right
                for k in static(range(3)):
                    left, right = S[p, k], S[q, k]
                    S[p, k], S[q, k] = c * left - s * right, s * left + c * right
                    left, right = V[k, p], V[k, q]
                    V[k, p], V[k, q] = c * left - s * right, s * left + c * right
    values = Vector([S[0, 0], S[1, 1], S[2, 2]])
    for p, q in static(PAIRS):
        if values[p] < values[q]:
            values[p], values[q] = values[q], values[p]
            for k in static(range(3)):
                V[k, p], V[k, q] = V[k, q], -V[k, p]
    return values, V


@func
def sym_eig(A, dt=None):  # type: ignore[no-untyped-def]
    """Compute the eigenvalues and eigenvectors of a symmetric 2×2 or 3×3 matrix, in a kernel.

    Args:
        A: the matrix.
        dt: the float type to compute in, by default the type of `A * 1.0`.

    Returns:
        The eigenvalues, a vector with the largest first; and the eigenvectors, the columns of a
        matrix.

    Raises:
        TaichiCompilationError: the matrix has another shape.
    """
    static_assert(
        A.n == A.m and A.n in (2, 3), "Symmetric eigen solver only supports 2D and 3D matrices."
    )
    M = _cast(A, dt)
    power, reciprocal = _magnitude(M)
    if static(A.n == 2):
        values, vectors = _sym_eig2(M * reciprocal)
        return values * power, vectors
    values, vectors = _sym_eig3(M * reciprocal)
    return values * power, vectors


@in_type_of_matrix
def _rotation_and_stretch(M: fm.Matrix) -> Any:
    x, y = M[0, 0] + M[1, 1], M[1, 0] - M[0, 1]
    square = x * x + y * y
    singular = square == 0
    scale = fn.rsqrt(fn.select(singular, 1.0, square))
    c, s = fn.select(singular, 1.0, x * scale), fn.select(singular, 0.0, y * scale)
    R = Matrix([[c, -s], [s, c]])
    return R, R.transpose() @ M


@func
def _polar2(M):  # type: ignore[no-untyped-def]
    power, reciprocal = _magnitude(M)
    R, S = _rotation_and_stretch(M * reciprocal)
    return R, S * power


@func
def _svd2(M):  # type: ignore[no-untyped-def]
    power, reciprocal = _magnitude(M)
    R, S = _rotation_and_stretch(M * reciprocal)
    values, V = _sym_eig2(S)
    values, zero = values * power, fn.zero(power)
    return R @ V, Matrix([[values[0], zero], [zero, values[1]]]), V


@in_type_of_matrix
def _unit(v: fm.Matrix) -> Any:
    """A vector of length 1 but for rounding, made more so. A quotient by the norm would be too
    long on average: a norm of 1 + ulp rounds to 1, one of 1 - ulp does not."""
    return v + v * ((1.0 - v.norm_sqr()) * 0.5)


@func
def _hestenes(M):  # type: ignore[no-untyped-def]
    """Hestenes' rotations: each makes two columns of `M @ V` orthogonal."""
    B, V, unity, zero = M, Matrix.identity(M[0, 0].dtype, 3), fn.one(M[0, 0]), fn.zero(M[0, 0])
    tiny = fn.cast(static(1e-31 if M[0, 0].dtype.bits == 64 else 1e-14), M[0, 0].dtype)
    for _ in range(SWEEPS):
        for p, q in static(PAIRS):
            off = B[:, p].dot(B[:, q])
            if off * off > tiny * B[:, p].norm_sqr() * B[:, q].norm_sqr():
                zeta = (B[:, q].norm_sqr() - B[:, p].norm_sqr()) / (2 * off)
                t = fn.select(zeta >= 0, unity, -unity) / (
                    fn.abs(zeta) + fn.sqrt(unity + zeta * zeta)
                )
                c = unity / fn.sqrt(unity + t * t)
                s = c * t
                for k in static(range(3)):
                    left, right = B[k, p], B[k, q]
                    B[k, p], B[k, q] = c * left - s * right, s * left + c * right
                    left, right = V[k, p], V[k, q]
                    V[k, p], V[k, q] = c * left - s * right, s * left + c * right
    for p, q in static(PAIRS):
        if B[:, p].norm_sqr() < B[:, q].norm_sqr():
            for k in static(range(3)):
                B[k, p], B[k, q] = B[k, q], -B[k, p]
                V[k, p], V[k, q] = V[k, q], -V[k, p]
    axis = _unit(V[:, 0])
    other = _unit(V[:, 1] - axis * axis.dot(V[:, 1]))
    V = Matrix.cols([axis, other, axis.cross(other)])
    B = M @ V
    first = Vector([unity, zero, zero])
    largest = B[:, 0].norm()
    if largest > 0:
        first = B[:, 0] / largest
    residual = B[:, 1] - first * first.dot(B[:, 1])
    middle = residual.norm()
    second = fn.select(
        fn.abs(first[0]) < 0.5, Vector([unity, zero, zero]), Vector([zero, unity, zero])
    )
    if middle * static(1 << 8) > B[:, 1].norm():  # else it is what rounding left
        second = residual / middle
    second = _unit((second - first * first.dot(second)).normalized())
    third = first.cross(second)
    U = Matrix.cols([first, second, third])
    values = [largest, second.dot(B[:, 1]), third.dot(B[:, 2])]
    return U, Matrix([[values[0], zero, zero], [zero, values[1], zero], [zero, zero, values[2]]]), V


@func
def _svd3(M):  # type: ignore[no-untyped-def]
    power, reciprocal = _magnitude(M)
    U, S, V = _hestenes(M * reciprocal)
    return U, S * power, V


@func
def _svd_vjp(M, result, adjoint):  # type: ignore[no-untyped-def]
    return svd_adjoint(result, adjoint)


@func
def _svd_jvp(M, result, tangent):  # type: ignore[no-untyped-def]
    return svd_tangent(result, tangent)


@func
def svd(A, dt=None):  # type: ignore[no-untyped-def]
    """Compute the singular value decomposition of a 2×2 or 3×3 matrix, in a kernel.

    If two singular values coincide, U and V have no derivative; `lang/math/decomposition_rules.py`
    says what is used instead.

    Args:
        A: the matrix.
        dt: the float type to compute in, by default the type of `A * 1.0`.

    Returns:
        U, S and V with `A == U @ S @ V.transpose()`. U and V are rotations, and S is diagonal; its
        last value has the sign of the determinant.

    Raises:
        TaichiCompilationError: the matrix has another shape.
    """
    static_assert(A.n == A.m and A.n in (2, 3), "SVD only supports 2D and 3D matrices.")
    if static(A.n == 2):
        return _svd2(_cast(A, dt))
    return _svd3(_cast(A, dt))


@func
def _polar3(M):  # type: ignore[no-untyped-def]
    U, S, V = _svd3(M)
    stretch = V @ S @ V.transpose()
    return U @ V.transpose(), (stretch + stretch.transpose()) / 2


@func
def _polar_vjp(M, result, adjoint):  # type: ignore[no-untyped-def]
    return polar_adjoint(result, adjoint, solve)


@func
def _polar_jvp(M, result, tangent):  # type: ignore[no-untyped-def]
    return polar_tangent(result, tangent, solve)


for _function in (_svd2, _svd3):
    _function.def_vjp(_svd_vjp)
    _function.def_jvp(_svd_jvp)
for _function in (_polar2, _polar3):
    _function.def_vjp(_polar_vjp)
    _function.def_jvp(_polar_jvp)


@func
def polar_decompose(A, dt=None):  # type: ignore[no-untyped-def]
    """Compute the polar decomposition of a 2×2 or 3×3 matrix, in a kernel.

    The derivatives are infinite or NaN if two singular values add up to 0. (The last singular value
    has the sign of the determinant.)

    Args:
        A: the matrix.
        dt: the float type to compute in, by default the type of `A * 1.0`.

    Returns:
        R and S with `A == R @ S`, where R is a rotation and S is symmetric.

    Raises:
        TaichiCompilationError: the matrix has another shape.
    """
    static_assert(
        A.n == A.m and A.n in (2, 3), "Polar decomposition only supports 2D and 3D matrices."
    )
    if static(A.n == 2):
        return _polar2(_cast(A, dt))
    return _polar3(_cast(A, dt))
