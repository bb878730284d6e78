"""Kernels on the vectors of iterative solvers."""

# mypy: disable-error-code="index, valid-type, no-untyped-def, attr-defined"

from mlirad.frontend.python.calls.specials import grouped
from mlirad.frontend.python.values.annotations import Template
from mlirad.frontend.python.values.functions import cast
from mlirad.lang.kernels.kernel import kernel
from mlirad.types import f64


@kernel
def dot(x: Template, y: Template) -> f64:
    """The sum of products, in f64."""
    total = cast(0.0, f64)
    for I in grouped(x):
        total += cast(x[I], f64) * cast(y[I], f64)
    return total


@kernel
def combine(z: Template, x: Template, a: f64, y: Template):
    """`z = x + a y`, where z may be x or y."""
    for I in grouped(x):
        z[I] = x[I] + cast(a * y[I], x.dtype)


@kernel
def copy(z: Template, x: Template):
    """`z = x`."""
    for I in grouped(x):
        z[I] = x[I]
