"""`print` and `assert` inside kernels."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.translation.text_format import flatten
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.scalar import Expr, Scalar


def _words(values: list[Expr]) -> list[ir.Value]:
    """Values for a text: as they are if they have one type, else as words."""
    if len({v.dtype.mlir for v in values}) < 2:
        return [v.value for v in values]
    return [field.spell(v.value) for v in values]


def emit_print(items: Sequence[object], separator: str = " ", end: str = "\n") -> None:
    """Print values as Python does."""
    values: list[Expr] = []
    text = field.escape_braces(separator).join(
        flatten(item, "", values) for item in items
    ) + field.escape_braces(end)
    effects.print_(text, _words(values))


def emit_assert(condition: Scalar, message: object) -> None:
    """Check a condition at run time; the launch raises TaichiAssertionError if it fails."""
    values: list[Expr] = []
    text = flatten(message, "", values, mark_floats=True)
    field.assert_(ex.cast(condition, ex.u1).value, text, _words(values))
