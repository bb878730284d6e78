"""The names that `ti.loop_config(name=)` gives to loops, in IR, in code and in errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError, TaichiTypeError
from mlirad.frontend.python.translation.translator import Translator
from mlirad.ir.reports.loop_names import LOOP_NAME, in_loop, named_location


def name_attribute(t: Translator, name: object, *, is_inside: bool) -> dict[str, ir.Attribute]:
    """Return the attribute that holds the name of a loop. Raises TaichiTypeError for what is no
    text."""
    if name is None:
        return {}
    if not isinstance(name, str):
        raise TaichiTypeError(f"expected a string as the name of a loop, got {type(name).__name__}")
    if is_inside:
        t.builder.warn(
            f"ti.loop_config(name={name!r}) has no effect: the loop is nested inside another "
            "for-loop or a branch"
        )
    return {LOOP_NAME: ir.StringAttr.get(name)}


@contextmanager
def loop_of_name(name: object, *, is_inside: bool) -> Iterator[None]:
    """Add the name of a loop to errors in it, as a note, and to the location of its ops, unless it
    `is_inside` another."""
    if not isinstance(name, str):
        yield
        return
    try:
        with nullcontext() if is_inside else named_location(name):
            yield
    except TaichiCompilationError as error:
        error.add_note(in_loop(name))
        raise
