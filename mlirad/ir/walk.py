"""Visiting operations, and the few questions that several passes ask of them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.dialect.field import GetOp, is_access, split_access
from mlirad.ir.ops import Arith, Func, Llvm

# What tells arrays apart: a field's name, another array's value, a stack's kind and number.
Array: TypeAlias = str | ir.Value | tuple[str, int]


def operations(op: ir.Operation) -> Iterator[ir.Operation]:
    """Every operation nested in one, outer before inner, in order; what is in it is looked at when
    the walk goes on."""
    pending = [children(op.regions)]
    while pending:
        for child in pending[-1]:
            yield child
            regions = child.regions
            if len(regions):
                pending.append(children(regions))
                break
        else:
            pending.pop()


def with_inner(op: ir.Operation) -> list[ir.Operation]:
    """An operation, and every operation nested in it."""
    return [op, *operations(op)] if len(op.regions) else [op]


def children(regions: ir.RegionSequence) -> Iterator[ir.Operation]:
    """The operations of regions, in order, without those nested in them."""
    return (
        child.operation
        for region in regions
        for block in region.blocks
        for child in block.operations
    )


def block_operations(block: ir.Block) -> list[ir.Operation]:
    """The operations of one block, as a list that survives changes to the block."""
    return [child.operation for child in block.operations]


def functions(root: ir.Operation) -> list[ir.Operation]:
    """The functions that stand in an operation, or that it is, where they have a body."""
    inside = [
        op for region in root.regions for block in region.blocks for op in block_operations(block)
    ]
    candidates = [root] if root.name == Func.FUNC else [op for op in inside if op.name == Func.FUNC]
    return [op for op in candidates if len(op.regions[0].blocks)]


def llvm_functions(root: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the functions of LLVM's dialect in an operation that have a body."""
    for region in root.regions:
        for block in region.blocks:
            for op in block_operations(block):
                if op.name != Llvm.FUNC:
                    yield from llvm_functions(op)
                elif len(op.regions[0].blocks):
                    yield op


def entry_of(function: ir.Operation) -> ir.Block:
    """A function's first block."""
    return function.regions[0].blocks[0]


def is_defined_in(value: ir.Value, ancestor: ir.Operation) -> bool:
    """Return whether a value is defined somewhere inside an operation."""
    return is_inside(owner_operation(value), ancestor)


def is_inside(op: ir.Operation | None, ancestor: ir.Operation) -> bool:
    """Return whether an operation is nested in another, or is it."""
    while op is not None:
        if op == ancestor:
            return True
        op = op.parent.operation if op.parent is not None else None
    return False


def owner_operation(value: ir.Value) -> ir.Operation:
    """The operation that defines a value, or whose block it is an argument of."""
    if isinstance(value, ir.BlockArgument):
        return value.owner.owner.operation
    return value.owner.operation


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The operation that a value is a result of; None for an argument of a block."""
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation


def enclosing(op: ir.Operation) -> ir.Operation:
    """The operation that another stands in."""
    parent = op.parent
    assert parent is not None, f"{op.name} has no parent"
    return parent


def ancestors(op: ir.Operation, within: ir.Operation | None = None) -> Iterator[ir.Operation]:
    """Yield the operations around one, innermost first; those `within` another, if it is given."""
    while op.parent is not None:
        op = op.parent.operation
        if within is not None and op == within:
            return
        yield op


def function_of(op: ir.Operation) -> ir.Operation:
    """Return the function that an operation stands in, or that it is."""
    return next(owner for owner in (op, *ancestors(op)) if owner.name == Func.FUNC)


def is_function_argument(value: ir.Value) -> bool:
    """Return whether a value is an argument of a function, the same in all iterations."""
    return isinstance(value, ir.BlockArgument) and owner_operation(value).name == Func.FUNC


def conjuncts(condition: ir.Value) -> list[ir.Value]:
    """Return conditions, none of them an `and`, that hold together if and only if a condition
    does."""
    op = defining_op(condition)
    if op is None or op.name != Arith.ANDI:
        return [condition]
    return [leaf for operand in op.operands for leaf in conjuncts(operand)]


def captured_values(op: ir.Operation) -> list[ir.Value]:
    """Values from outside that the regions of an operation use, in order of first use."""
    inside: set[ir.Value] = set()
    for region in op.regions:
        for block in region.blocks:
            inside.update(block.arguments)
    used: dict[ir.Value, None] = {}
    for inner in operations(op):
        for operand in inner.operands:
            if operand not in inside:
                used.setdefault(operand)
        inside.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.arguments)
    return [value for value in used if value not in inside]


def array_root(array: ir.Value) -> Array:
    """Return a key that distinguishes arrays: a field's name, otherwise the value itself."""
    op = defining_op(array)
    if op is not None and GetOp.holds(op):
        return ir.FlatSymbolRefAttr(op.attributes["field"]).value
    return array


def fields_of(module: ir.Operation) -> tuple[str, ...]:
    """The names of the fields that a module uses, each once."""
    names = (
        ir.FlatSymbolRefAttr(op.attributes["field"]).value
        for op in operations(module)
        if GetOp.holds(op)
    )
    return tuple(dict.fromkeys(names))


def overlap_key(root: Array) -> object:
    """Return a key that arrays have in common if they may overlap: arguments may all be one."""
    is_argument = isinstance(root, ir.Value) and is_function_argument(root)
    return "an argument" if is_argument else root


def accesses(op: ir.Operation) -> Iterator[tuple[ir.Operation, Array, list[ir.Value]]]:
    """Every load, store and atomic nested in an operation, with the array it touches and its
    indices."""
    for inner in operations(op):
        if is_access(inner):
            array, indices = split_access(inner)
            yield inner, array_root(array), indices


def constant_integer(value: ir.Value) -> int | None:
    """The integer a value is known to be, or None."""
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    if op.name != Arith.CONSTANT:
        return None
    attribute = op.attributes["value"]
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None


def constant_float(value: ir.Value) -> float | None:
    """The float a value, or each element of a vector, is known to be, or None."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != Arith.CONSTANT:
        return None
    attribute = value.owner.operation.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    return attribute.value if isinstance(attribute, ir.FloatAttr) else None


def is_zero(value: ir.Value) -> bool:
    """Return whether a float is known to be 0."""
    return constant_float(value) == 0.0


def has_uses(value: ir.Value) -> bool:
    """Return whether anything reads a value."""
    return next(iter(value.uses), None) is not None


def users_of(value: ir.Value) -> list[ir.Operation]:
    """Return the operations that use a value, one for each use."""
    return [use.owner.operation for use in value.uses]


def replace(op: ir.Operation, values: Iterable[ir.Value]) -> None:
    """Let values stand for the results of an operation, and erase it."""
    for result, value in zip(op.results, values):
        result.replace_all_uses_with(value)
    op.erase()


@contextmanager
def before(op: ir.Operation) -> Iterator[None]:
    """Insert before an operation, at its location."""
    with ir.InsertionPoint(op), op.location:
        yield


@contextmanager
def behind(op: ir.Operation) -> Iterator[None]:
    """Insert behind an operation, at its location."""
    with ir.InsertionPoint.after(op), op.location:
        yield


@contextmanager
def at_end(block: ir.Block, location: ir.Location) -> Iterator[None]:
    """Insert at the end of a block."""
    with ir.InsertionPoint(block), location:
        yield


@contextmanager
def at_start(block: ir.Block, location: ir.Location) -> Iterator[None]:
    """Insert at the start of a block."""
    with ir.InsertionPoint.at_block_begin(block), location:
        yield


def attributes_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The attributes of an operation, by name."""
    return {name: op.attributes[name] for name in op.attributes}


def clone(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """Make an operation anew at the insertion point, of what stands for its operands; its results
    stand for those of the old one."""
    copy = op.clone()
    for inner in with_inner(copy):
        for position, operand in enumerate(inner.operands):
            if operand in values:
                inner.operands[position] = values[operand]
    values.update(zip(op.results, copy.results))
    return copy


def copy_with(op: ir.Operation, operands: Iterable[ir.Value]) -> ir.Operation:
    """Copy an operation to the insertion point, with other operands."""
    copy = op.clone()
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    return copy
