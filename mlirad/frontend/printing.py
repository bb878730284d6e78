"""`print` and `assert` inside kernels."""
from __future__ import annotations

from typing import Any

from mlirad.bindings import ir
from mlirad.frontend import expression as ex
from mlirad.frontend.builder import emit_effect
from mlirad.frontend.expression import Expr
from mlirad.frontend.text_format import escaped, flatten


def emit_print(items: list[Any], separator: str = " ", end: str = "\n") -> None:
    """Print values as Python does."""
    values: list[Expr] = []
    text = escaped(separator).join(flatten(item, "", values) for item in items) + escaped(end)
    emit_effect("field.print", [v.value for v in values], format=ir.StringAttr.get(text))


def emit_assert(condition: Any, message: Any) -> None:
    """Check a condition at run time; the launch raises TaichiAssertionError where it fails."""
    values: list[Expr] = []
    text = flatten(message, "", values, mark_floats=True)
    emit_effect("field.assert", [ex.cast(condition, ex.u1).value, *[v.value for v in values]],
                message=ir.StringAttr.get(text))
