"""`print` and `assert` inside kernels."""
from __future__ import annotations

from typing import Any

from mlirad.bindings import ir
from mlirad.frontend import expression as ex
from mlirad.frontend.builder import emit_effect
from mlirad.frontend.expression import Expr
from mlirad.frontend.expressions import FormattedText
from mlirad.frontend.matrix import Matrix
from mlirad.frontend.translator import Translator


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _flatten(item: Any, spec: str, values: list[Expr]) -> str:
    """Text with one `{}` for every value known only at run time."""
    if isinstance(item, Matrix):
        rows = item.rows_list()
        return "[" + ", ".join(_flatten(row, spec, values) for row in rows) + "]"
    if isinstance(item, list | tuple):
        return "[" + ", ".join(_flatten(part, spec, values) for part in item) + "]"
    if isinstance(item, FormattedText):
        return "".join(_flatten(p[0], p[1], values) if isinstance(p, tuple) else _escaped(p) for p in item.parts)
    if isinstance(item, Expr):
        values.append(item)
        return "{" + spec.replace("%", "") + ("" if item.dtype.is_signed else "u") + "}"
    return _escaped(format(item, spec) if spec else str(item))


def emit_print(t: Translator, items: list[Any], separator: str = " ", end: str = "\n") -> None:
    """Print values as Python does."""
    values: list[Expr] = []
    text = _escaped(separator).join(_flatten(item, "", values) for item in items) + _escaped(end)
    emit_effect("field.print", [v.value for v in values], format=ir.StringAttr.get(text.replace("{{", "\1").replace(
        "}}", "\2")))


def emit_assert(t: Translator, condition: Any, message: Any) -> None:
    """Check a condition at run time; the launch raises TaichiAssertionError where it fails."""
    values: list[Expr] = []
    text = _flatten(message, "", values)
    emit_effect("field.assert", [ex.cast(condition, ex.u1).value, *[v.value for v in values]],
                message=ir.StringAttr.get(text.replace("{{", "\1").replace("}}", "\2")))
