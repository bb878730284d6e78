"""A module as text that people read, and `mlirad-opt`."""

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.snode import roots
from mlirad.ir.assembly import shorten


class TextForm(msgspec.Struct, frozen=True):
    """The form of a text: with `locations`, the line of each op; without `trees`, no layouts. Our
    ops have their short forms, but if it is `generic`, all ops have the generic form."""

    locations: bool = False
    trees: bool = True
    generic: bool = False


def module_text(module: ir.Operation, form: TextForm) -> str:
    """Return a module of ours as text, its layout trees behind its functions.

    If they are left out, a comment names them. Such a text is for reading only: a field that is
    used is placed nowhere. The module is changed: its trees move, or go.
    """
    layouts = roots(module)
    names = [f"@{ir.StringAttr(tree.attributes['sym_name']).value}" for tree in layouts]
    body = module.regions[0].blocks[0]
    for tree in layouts:
        if form.trees:
            body.append(tree)
        else:
            tree.erase()
    text = module.get_asm(
        enable_debug_info=form.locations, assume_verified=True, print_generic_op_form=form.generic
    ).rstrip()
    if not form.generic:
        text = shorten(text)
    if names and not form.trees:
        text += f"\n// layout trees left out: {', '.join(names)}"
    return f"{text}\n"
