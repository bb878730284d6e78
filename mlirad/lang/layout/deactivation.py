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
    is_much = block.program.threads.recorder is None and _touched(block) >= _MUCH
    _deactivate(block)
    if is_much:
        _give_back(block)


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


def _touched(block: SNode) -> int:
    """The bytes of fields below that may differ from 0."""
    elements = [field.memory.elements for field in block.fields() if field.memory is not None]
    return sum(one.copy_bytes() for one in elements if isinstance(one, SparseElements))


def _give_back(block: SNode) -> None:
    """Give back the memory of trees, or of a tree, in which everything is 0."""
    trees = [block] if block.parent_node is not None else block.children
    for tree in trees:
        is_tree = isinstance(tree, SNode) and tree.kind in (Kind.POINTER, Kind.DYNAMIC)
        if isinstance(tree, SNode) and is_tree and tree.parent_node is tree.root:
            for field in tree.fields():
                if field.memory is not None:
                    field.memory.allocation.clear()
            for one in tree.sparse_blocks():
                if one.activity in tree.program.fields:
                    tree.program.fields[one.activity].allocation.clear()


def deactivate_all_snodes() -> None:
    """Make all cells of all sparse blocks of the program inactive."""
    deactivate_all(program().trees.root)
