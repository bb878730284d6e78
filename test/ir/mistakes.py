"""Mistakes in what is done to MLIR's objects: mypy reports each at its line (test_stubs.py)."""

from mlirad.bindings import PassManager, ir
from mlirad.dialect.field import AtomicOp, is_array
from mlirad.ir import build as b
from mlirad.ir.walk import operations


def mistaken(op: ir.Operation, value: ir.Value, block: ir.Block, type_: ir.Type) -> None:
    """One mistake a line."""
    ir.Operation.create()  # an operation without a name
    ir.Operation.create("a.b", result=[])  # an unknown keyword
    ir.Operation.create("a.b", [type_], value)  # one operand where a list is wanted
    ir.Operation.create("a.b", [value])  # a value where a type is wanted
    ir.Operation.create("a.b", [], [op])  # an operation where a value is wanted
    ir.Operation.create("a.b", [], [], {"kind": "add"})  # a text where an attribute is wanted
    print(op.attributes["kind"].value)  # an attribute of no known kind
    print(op.attributes["kind"] + "s")  # an attribute used as a text
    op.attributes["kind"] = "add"  # a text used as an attribute
    ir.StringAttr.get(3)  # a number as a text
    ir.IntegerAttr.get(3)  # a number without its type
    print(ir.StringAttr(op.attributes["kind"]).value + 1)  # a text used as a number
    op.operand(0)  # a method that there is not
    print(op.operands["a"])  # a position that is none
    print(op.parent.name)  # of an operation that has no parent
    print(value.owner.name)  # of an argument, the owner is a block
    print(value.type.width)  # a type of no known kind
    print(value.operands)  # a value where an operation is wanted
    list(operations(value))  # the same
    op.move_before(block)  # a block where an operation is wanted
    block.operations.append(op)  # a list that cannot be changed
    ir.InsertionPoint(value)  # a value has no place
    print(op.regions[0].operations)  # a region where a block is wanted
    op.replace_all_uses_with(value)  # an operation where its result is wanted
    ir.Block.create_at_start(op, [])  # an operation where a region is wanted
    ir.Module.parse("").erase()  # a module where an operation is wanted
    PassManager.parse("any()").run(ir.Module.parse(""))  # the same
    is_array(value)  # a value where its type is wanted
    b.add(value)  # an operand too few
    b.make("a.b", type_, [value], kind="add")  # a text where an attribute is wanted
    AtomicOp(value)  # a value where an operation is wanted
    print(AtomicOp(op).number)  # an operand of another name
    print(AtomicOp(op).kind + "s")  # an attribute used as a text
    print(AtomicOp(op).array.attributes)  # a value where an operation is wanted
