"""Scalar expressions over the elements of tensors: what `te.compute` is given for its indices.

`te.compute` checks them, and makes IR of them. Numbers of Python's, indices and sizes have no type
of their own (`types`): what is computed of them alone takes the type of the float that it meets.
"""

from mlirad.te.expressions.branches import Branches, by_ranges
from mlirad.te.expressions.extents import (
    is_empty,
    is_number,
    is_of_sizes,
    same_extent,
    shown_extent,
)
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
    with_type,
)
from mlirad.te.expressions.types import (
    FLOAT,
    INDEX,
    common_type,
    default_float,
    default_integer,
    scalar_type,
)
