"""Scalar expressions over the elements of tensors: what `te.compute` is given for its indices.

`te.compute` checks them, and makes IR of them. Numbers of Python's, indices and sizes have no type
of their own (`types`): what is computed of them alone takes the type of the float that it meets.
"""

from mlirad.te.expressions.branches import Branches, by_ranges
from mlirad.te.expressions.extents import is_of_sizes, same_extent, shown_extent
from mlirad.te.expressions.operands import Condition, Operand
from mlirad.te.expressions.order import Steps, in_order, unwound
from mlirad.te.expressions.tree import (
    Axis,
    Call,
    Expr,
    Extent,
    Number,
    Read,
    Reduction,
    Select,
    Size,
    Source,
    arithmetic,
    as_float,
    boolean,
    cast,
    common,
    comparison,
    expr,
    logic,
    number,
    power,
    select,
    typed,
    with_parts,
)
from mlirad.te.expressions.types import (
    FLOAT,
    INDEX,
    default_float,
    default_integer,
    promoted,
    scalar_type,
)

__all__ = [
    "FLOAT",
    "INDEX",
    "Axis",
    "Branches",
    "Call",
    "Condition",
    "Expr",
    "Extent",
    "Number",
    "Operand",
    "Read",
    "Reduction",
    "Select",
    "Size",
    "Source",
    "Steps",
    "arithmetic",
    "as_float",
    "boolean",
    "by_ranges",
    "cast",
    "common",
    "comparison",
    "default_float",
    "default_integer",
    "expr",
    "in_order",
    "is_of_sizes",
    "logic",
    "number",
    "power",
    "promoted",
    "same_extent",
    "scalar_type",
    "select",
    "shown_extent",
    "typed",
    "unwound",
    "with_parts",
]
