"""A module as text that people read, and `mlirad-opt`."""

from mlirad.bindings import ir
from mlirad.dialect.snode import roots


def module_text(module: ir.Operation, *, locations: bool = False, trees: bool = True) -> str:
    """Return a module of ours as text, its layout trees behind its functions.

    Without `trees`, a comment names those that are left out. Such a text is for reading only: a
    field that is used is placed nowhere. The module is changed: its trees move, or go.
    """
    layouts = roots(module)
    names = [f"@{ir.StringAttr(tree.attributes['sym_name']).value}" for tree in layouts]
    body = module.regions[0].blocks[0]
    for tree in layouts:
        if trees:
            body.append(tree)
        else:
            tree.erase()
    text = module.get_asm(enable_debug_info=locations, assume_verified=True).rstrip()
    if names and not trees:
        text += f"\n// layout trees left out: {', '.join(names)}"
    return f"{text}\n"
