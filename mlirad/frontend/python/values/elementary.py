"""The functions of the table (`ir/elementary/table.py`), public as `ti.sin` and `ti.math.sin`."""

from mlirad.frontend.python.values.float_functions import on_floats as _on_floats
from mlirad.ir.elementary.table import ELEMENTARY as _ELEMENTARY

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
) = map(_on_floats, _ELEMENTARY)
