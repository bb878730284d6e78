"""Print every decision of a program, to compare those of its modes.

Assumes `mark-rounding`, before anything is differentiated. A line names the decision by its place
in the program's source, and has the bits of the floats that it is made of.
"""

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import is_atomic
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import DECISION
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import before, operations


def insert_decision_prints(root: ir.Operation) -> None:
    """Print a line for every marked decision: its op, its place, and the bits of its operands."""
    for op in [op for op in operations(root) if DECISION in op.attributes and not len(op.regions)]:
        place = source_location(op.location)
        where = "" if place is None else f" {place.line}:{place.column}"
        floats = [value for value in op.operands if isinstance(value.type, ir.FloatType)]
        if is_atomic(op):
            floats = floats[:1]
        text = f"decision {op.name}{where}" + " {u}" * len(floats) + "\n"
        with before(op):
            bits = [
                b.bitcast(value, b.integer_type(ir.FloatType(value.type).width)) for value in floats
            ]
            field.print_(text, bits)
