"""`deactivate_all`: kernels that make all cells of sparse blocks inactive, as a user's would, so
that what records launches records them."""

from mlirad.dialect.field_layout import Kind
from mlirad.frontend.python.sparse import deactivate
from mlirad.frontend.python.specials import grouped
from mlirad.lang.kernel import kernel
from mlirad.lang.layout.tree import SNode
from mlirad.lang.types_namespace import template
from mlirad.runtime.memory.memory import SparseElements
from mlirad.runtime.program import program

_MUCH = 1 << 26  # bytes: less is set to 0 faster than it is given back and taken again


@kernel
def deactivate_cells(block: template()) -> None:  # type: ignore[valid-type]
    """Make the cells of a pointer or bitmasked block inactive."""
    for cell in grouped(block):
        deactivate(block, cell)


@kernel
def empty_lists(block: template(), around: template()) -> None:  # type: ignore[valid-type]
    """Empty the lists of a dynamic block in the active cells around it."""
    for cell in grouped(around):
        deactivate(block, cell)


@kernel
def empty_list(block: template()) -> None:  # type: ignore[valid-type]
    """Empty the list of a dynamic block with nothing around it."""
    deactivate(block, [])


def deactivate_all(block: SNode) -> None:
    """Make all cells of a block and of those below inactive; what lies in cells of pointer and
    dynamic blocks becomes 0."""
    block.program.trees.materialize()
    is_root = block.parent_node is None
    for tree in block.children if is_root else [block]:
        if isinstance(tree, SNode):
            if block.program.threads.recorder is None and _is_much(tree):
                _give_back(tree)
            else:
                _deactivate(tree)


def _deactivate(block: SNode) -> None:
    if block.kind in (Kind.DENSE, Kind.BITMASKED):
        for child in block.children:
            if isinstance(child, SNode):
                _deactivate(child)
    if block.activity is None or block.activity not in block.program.fields:
        return
    around = block.parent_node
    if block.kind is not Kind.DYNAMIC:
        deactivate_cells(block)
    elif around is None or around.parent_node is None:
        empty_list(block)
    else:
        empty_lists(block, around)


def _is_much(tree: SNode) -> bool:
    """Whether all of a tree becomes 0 that holds much."""
    if tree.parent_node is not tree.root or tree.kind not in (Kind.POINTER, Kind.DYNAMIC):
        return False
    elements = [field.memory.elements for field in tree.fields() if field.memory is not None]
    sparse = [one for one in elements if isinstance(one, SparseElements)]
    return any(one.copy_takes(_MUCH // len(sparse)) for one in sparse)


def _give_back(tree: SNode) -> None:
    """Make all of a tree 0 by giving its memory back."""
    for field in tree.fields():
        if field.memory is not None:
            field.memory.allocation.clear()
    for one in tree.sparse_blocks():
        if one.activity in tree.program.fields:
            tree.program.fields[one.activity].allocation.clear()


def deactivate_all_snodes() -> None:
    """Make all cells of all sparse blocks of the program inactive."""
    deactivate_all(program().trees.root)
