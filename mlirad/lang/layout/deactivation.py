"""`deactivate_all`: kernels that make all cells of sparse blocks inactive, as a user's would, so
that what records launches records them."""

from mlirad.dialect.field_layout import Kind
from mlirad.frontend.python.calls.sparse import deactivate, deactivate_fields
from mlirad.frontend.python.calls.specials import Special, grouped
from mlirad.lang.kernels.kernel import kernel
from mlirad.lang.layout.tree import Leaf, SNode
from mlirad.lang.types_namespace import template
from mlirad.runtime.derivative_kind import ADJOINT
from mlirad.runtime.memory.memory import SparseElements
from mlirad.runtime.program import program

_MUCH = 1 << 26  # bytes: less is set to 0 faster than it is given back and taken again


@kernel
def deactivate_cells(block: template(), how: template()) -> None:  # type: ignore[valid-type]
    """Make the cells of a pointer or bitmasked block inactive."""
    for cell in grouped(block):
        how(block, cell)


@kernel
def empty_lists(
    block: template(),  # type: ignore[valid-type]
    around: template(),  # type: ignore[valid-type]
    how: template(),  # type: ignore[valid-type]
) -> None:
    """Empty the lists of a dynamic block in the active cells around it."""
    for cell in grouped(around):
        how(block, cell)


@kernel
def empty_list(block: template(), how: template()) -> None:  # type: ignore[valid-type]
    """Empty the list of a dynamic block with nothing around it."""
    how(block, [])


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
    around, how = block.parent_node, _clear_derivatives(block)
    if block.kind is not Kind.DYNAMIC:
        deactivate_cells(block, how)
    elif around is None or around.parent_node is None:
        empty_list(block, how)
    else:
        empty_lists(block, around, how)


def _clear_derivatives(block: SNode) -> Special:
    """Clear the derivatives below a block that becomes 0 as a whole, also where fields are not
    active; what then deactivates its cells. In a bitmasked block there may be cells that keep what
    they hold. A recorder clears derivatives itself, but for gradients that the program uses."""
    if any(above.kind is Kind.BITMASKED for above in block.path()):
        return deactivate
    recorder = block.program.threads.recorder
    for primal, derivative in _derivatives(block):
        if recorder is None or (
            primal.existing(ADJOINT) is derivative and recorder.empties_gradient(primal.symbol)
        ):
            derivative.fill(0)
    return deactivate_fields if recorder is None else deactivate


def _derivatives(block: SNode) -> list[tuple[Leaf, Leaf]]:
    """The derivatives that lie below a block, each with its field: not those that were placed
    elsewhere."""
    return [
        (field, derivative)
        for field in block.fields()
        for derivative in field.with_derivatives()
        if derivative is not field
        and derivative.memory is not None
        and derivative.memory.nesting is not None
    ]


def _is_much(tree: SNode) -> bool:
    """Return whether all of a tree becomes 0 that holds much."""
    if tree.parent_node is not tree.root or tree.kind not in (Kind.POINTER, Kind.DYNAMIC):
        return False
    elements = [field.memory.elements for field in tree.fields() if field.memory is not None]
    sparse = [array for array in elements if isinstance(array, SparseElements)]
    return any(array.copy_takes(_MUCH // len(sparse)) for array in sparse)


def _give_back(tree: SNode) -> None:
    """Make all of a tree 0 by giving its memory back."""
    for field in tree.fields():
        if field.memory is not None:
            field.memory.allocation.clear()
    for _, derivative in _derivatives(tree):
        derivative.fill(0)
    for block in tree.sparse_blocks():
        if block.activity in tree.program.fields:
            tree.program.fields[block.activity].allocation.clear()


def deactivate_all_snodes() -> None:
    """Deactivate all cells of all sparse blocks of the program."""
    deactivate_all(program().trees.root)
