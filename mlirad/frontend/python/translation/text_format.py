"""Texts with values known only at run time: f-strings, `str.format` and `%`."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.dialect.field import escape_braces
from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import current
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct, members_of

_SPEC = re.compile(r"[-+ #0]*\d*(?:\.\d+)?(l{0,2})([a-zA-Z]?)")
_PERCENT = re.compile(r"%(?:%|([-+ #0]*\d*(?:\.\d+)?[a-zA-Z]))")


class FormattedText:
    """A text with holes: strings, and pairs of value and format."""

    def __init__(self, pieces: Sequence[str | tuple[object, str]]) -> None:
        self.pieces = pieces

    def plain(self) -> Any:
        """The text itself if every value is known, else this object."""
        if any(isinstance(p, tuple) and _is_late(p[0]) for p in self.pieces):
            return self
        try:
            return "".join(format(*p) if isinstance(p, tuple) else p for p in self.pieces)
        except ValueError:  # a format of C's, like `{:i}`
            return self


def _is_late(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_is_late(item) for item in value)
    return isinstance(value, Expr | Matrix | Struct | FormattedText) or array_ref(value) is not None


def format_braces(
    text: str, positional: Sequence[object], named: Mapping[str, object]
) -> FormattedText:
    """`text.format(...)`; automatic numbers go on beside explicit ones. Raises TaichiSyntaxError
    for missing values."""
    pieces: list[Any] = []
    following = 0
    used: set[Any] = set()
    for literal, name, spec, conversion in string.Formatter().parse(text):
        if literal:
            pieces.append(literal)
        if name is None:
            continue
        if conversion:
            raise TaichiSyntaxError(f"'!{conversion}' is not supported in a format")
        if not name or name.isdigit():
            number = int(name) if name else following
            following += not name
            used.add(number)
            if number >= len(positional):
                continue
            pieces.append((positional[number], spec or ""))
        elif name in named:
            used.add(name)
            pieces.append((named[name], spec or ""))
        else:
            raise TaichiSyntaxError(f"Keyword '{name}' not found.")
    expected = 1 + max((key for key in used if isinstance(key, int)), default=-1)
    if expected != len(positional):
        raise TaichiSyntaxError(
            f"Expected {expected} positional argument(s), but received {len(positional)} instead."
        )
    for name in named:
        if name not in used:
            raise TaichiSyntaxError(f"Keyword '{name}' not used.")
    return FormattedText(pieces)


def format_percent(text: str, values: object) -> Any:
    """`text % values`."""
    items = list(values) if isinstance(values, tuple) else [values]
    pieces: list[Any] = []
    end = 0
    for match in _PERCENT.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        spec = match.group(1)
        if spec is None:
            pieces.append("%")
            continue
        if not items:
            raise TaichiSyntaxError("not enough values for a format")
        value = items.pop(0)
        pieces.append(
            (
                value,
                "" if spec in ("d", "i", "u", "s") and _is_late(value) else spec.replace("s", ""),
            )
        )
    pieces.append(text[end:])
    if items:
        raise TaichiSyntaxError("too many values for a format")
    return FormattedText(pieces).plain()


def checked_spec(value: Expr, spec: str) -> str:
    """A format for C's `printf`, without length. Raises TaichiTypeError if it does not suit the
    type."""
    match = _SPEC.fullmatch(spec)
    allowed = "eEfFgGaA" if value.dtype.is_float else "di" if value.dtype.is_signed else "u"
    if match is None or (match.group(2) and match.group(2) not in allowed):
        raise TaichiTypeError(f"'{spec}' doesn't match '{value.dtype}'.")
    plain = spec.replace("l", "")
    if value.dtype.is_float:
        return plain if match.group(2) or not plain else f"{plain}f"
    return plain.rstrip("diu")


def flatten(item: object, spec: str, values: list[Expr], mark_floats: bool = False) -> str:
    """Text with one `{}` for every value known only at run time; their braces are `\\1` and `\\2`
    elsewhere."""
    if isinstance(item, Matrix):
        return (
            "["
            + ", ".join(flatten(row, spec, values, mark_floats) for row in item.rows_list())
            + "]"
        )
    if isinstance(item, Struct | dict):
        members = [
            f"{escape_braces(repr(key))}: {flatten(value, spec, values, mark_floats)}"
            for key, value in (item if isinstance(item, dict) else members_of(item)).items()
        ]
        return escape_braces("{") + ", ".join(members) + escape_braces("}")
    if isinstance(item, list | tuple):
        return (
            "[" + ", ".join(flatten(element, spec, values, mark_floats) for element in item) + "]"
        )
    if isinstance(item, FormattedText):
        return "".join(
            flatten(p[0], p[1], values, mark_floats) if isinstance(p, tuple) else escape_braces(p)
            for p in item.pieces
        )
    if spec and isinstance(item, int | float) and not isinstance(item, bool):
        item = ex.expression(item)
    if isinstance(item, Expr):
        values.append(item)
        hole = checked_spec(item, spec)
        if item.dtype.is_float and mark_floats:
            hole = hole or "f"
        return (
            "{" + hole + ("u" if item.dtype.is_integer and not item.dtype.is_signed else "") + "}"
        )
    if array_ref(item) is not None and not current().static_arguments:
        raise TaichiTypeError(
            "a kernel cannot print a whole field or array: print elements x[i] here, or "
            "print(x) outside the kernel"
        )
    return escape_braces(format(item, spec) if spec else str(item))
