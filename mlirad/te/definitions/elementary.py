"""The functions of the table (`ir/elementary/table.py`), public as `te.sin`."""

from mlirad.ir.elementary.operators import ROUNDINGS as _ROUNDINGS
from mlirad.ir.elementary.table import ELEMENTARY as _ELEMENTARY
from mlirad.te.definitions.float_functions import of_floats as _of_floats

# in the order of the table
(
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    copysign,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    hypot,
    log,
    log10,
    log1p,
    log2,
    rsqrt,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
) = map(_of_floats, _ELEMENTARY)
ceil, floor, _, round, trunc = map(_of_floats, _ROUNDINGS)
