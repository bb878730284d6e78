"""Derivatives of the singular value and polar decompositions, from their results alone.

With `A = U S Vᵀ` and `P = Uᵀ dA V`, the rotations turn by `dU = U Ω`, `dV = V Φ`, where for each
pair i < j

    Ω_ij + Φ_ij = (P_ij + P_ji) / (s_j - s_i),    Ω_ij - Φ_ij = (P_ij - P_ji) / (s_j + s_i),
    dS_ii = P_ii

(Papadopoulo and Lourakis, "Estimating the Jacobian of the Singular Value Decomposition", ECCV 2000;
in reverse mode Ionescu, Vantzos and Sminchisescu, "Matrix Backpropagation for Deep Networks with
Structured Layers", ICCV 2015). Where a divisor vanishes, U and V are not unique and have no
derivative. As in the first paper, the quotient is then 0: the solution of least norm. What the
rotations do not follow is taken by S beside its diagonal, so that `U S Vᵀ` moves with A there too.
Divisors count as vanished below 64 units in the last place of the largest singular value.

With `A = R S`, `R` a rotation, `dR = R Ω`, and the axial vector ω of Ω solves `(tr(S) 1 - S) ω =
a`, where a is that of `Rᵀ dA - dAᵀ R`: for any singular values of which no two add up to 0. Where
two do, R is not continuous, and its derivatives are infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from mlirad.frontend.python.building.builder import current
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import matrix as fm
from mlirad.frontend.python.values.scalar import Scalar
from mlirad.lang.matrix import Matrix, Vector

Matrices = Sequence[fm.Matrix]
Solve = Callable[[fm.Matrix, fm.Matrix], fm.Matrix]
MANTISSAS = {16: 10, 32: 23, 64: 52}  # bits of floats, by their width
EPSILON = {width: 2.0**-bits for width, bits in MANTISSAS.items()}
PAIRS = {2: ((0, 1),), 3: ((0, 1), (0, 2), (1, 2))}


def in_type_of_matrix(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute wholly in the type of the first argument, a matrix or several: literals would
    otherwise widen it to the default float type, whose tolerances rounding in a narrower type
    exceeds."""

    @wraps(function)
    def call(matrices: fm.Matrix | Matrices, *arguments: Any) -> Any:
        first = matrices if isinstance(matrices, fm.Matrix) else matrices[0]
        with current().literals_as(first.entries[0].dtype):
            return function(matrices, *arguments)

    return call


class _Pair:
    """Two singular values: quotients by their difference and by their sum."""

    def __init__(self, S: fm.Matrix, i: int, j: int) -> None:
        self.small = fn.abs(S[0, 0]) * (64 * EPSILON[S[0, 0].dtype.bits])
        self.difference, self.sum = S[j, j] - S[i, i], S[j, j] + S[i, i]

    def quotient(self, value: Scalar, divisor: Scalar, otherwise: Scalar) -> Any:
        """`value / divisor`, or something else where the divisor vanishes."""
        vanishes = fn.abs(divisor) <= self.small
        return fn.select(vanishes, otherwise, value / fn.select(vanishes, 1.0, divisor))

    def if_vanishing(self, divisor: Scalar, value: Scalar) -> Any:
        """A value where the divisor vanishes, else 0."""
        return fn.select(fn.abs(divisor) <= self.small, value, 0.0)


@in_type_of_matrix
def svd_adjoint(result: Matrices, adjoint: Matrices) -> Any:
    """The adjoint of A, from the factors and theirs."""
    (U, S, V), (U_bar, S_bar, V_bar) = result, adjoint
    turned_u, turned_v = U.transpose() @ U_bar, V.transpose() @ V_bar
    P = [[S_bar[i, j] for j in range(U.n)] for i in range(U.n)]
    for i, j in PAIRS[U.n]:
        pair = _Pair(S, i, j)
        u, v = turned_u[i, j] - turned_u[j, i], turned_v[i, j] - turned_v[j, i]
        symmetric = pair.quotient((u + v) * 0.5, pair.difference, (S_bar[i, j] + S_bar[j, i]) * 0.5)
        skew = pair.quotient((u - v) * 0.5, pair.sum, (S_bar[i, j] - S_bar[j, i]) * 0.5)
        P[i][j], P[j][i] = symmetric + skew, symmetric - skew
    return U @ Matrix(P) @ V.transpose()


@in_type_of_matrix
def svd_tangent(result: Matrices, tangent: fm.Matrix) -> Any:
    """The tangents of the factors, from theirs and that of A."""
    U, S, V = result
    P = U.transpose() @ tangent @ V
    zero = fn.zero(P[0, 0])
    turn_u, turn_v = ([[zero] * U.n for _ in range(U.n)] for _ in range(2))
    moved = [[P[i, j] for j in range(U.n)] for i in range(U.n)]
    for i, j in PAIRS[U.n]:
        pair = _Pair(S, i, j)
        symmetric, skew = (P[i, j] + P[j, i]) * 0.5, (P[i, j] - P[j, i]) * 0.5
        even, odd = (
            pair.quotient(symmetric, pair.difference, 0.0),
            pair.quotient(skew, pair.sum, 0.0),
        )
        turn_u[i][j], turn_u[j][i] = even + odd, -even - odd
        turn_v[i][j], turn_v[j][i] = even - odd, odd - even
        remainder, skew_remainder = (
            pair.if_vanishing(pair.difference, symmetric),
            pair.if_vanishing(pair.sum, skew),
        )
        moved[i][j], moved[j][i] = remainder + skew_remainder, remainder - skew_remainder
    return U @ Matrix(turn_u), Matrix(moved), V @ Matrix(turn_v)


@in_type_of_matrix
def polar_adjoint(result: Matrices, adjoint: Matrices, solve: Solve) -> Any:
    """The adjoint of A, from the factors and theirs."""
    (R, S), (R_bar, S_bar) = result, adjoint
    return R @ (S_bar + _rotation(S, R.transpose() @ R_bar - S_bar @ S, solve))


@in_type_of_matrix
def polar_tangent(result: Matrices, tangent: fm.Matrix, solve: Solve) -> Any:
    """The tangents of the factors, from theirs and that of A."""
    R, S = result
    Z = R.transpose() @ tangent
    turn = _rotation(S, Z, solve)
    return R @ turn, Z - turn @ S


def _rotation(S: fm.Matrix, Z: fm.Matrix, solve: Solve) -> Any:
    """The skew matrix Ω with `Ω S + S Ω = Z - Zᵀ`."""
    if S.n == 2:
        w = (Z[1, 0] - Z[0, 1]) / S.trace()
        return Matrix([[fn.zero(w), -w], [w, fn.zero(w)]])
    moment = Matrix(
        [[S.trace() - S[i, j] if i == j else -S[i, j] for j in range(3)] for i in range(3)]
    )
    x, y, z = solve(
        moment, Vector([Z[2, 1] - Z[1, 2], Z[0, 2] - Z[2, 0], Z[1, 0] - Z[0, 1]])
    ).entries
    zero = fn.zero(x)
    return Matrix([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
