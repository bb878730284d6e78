"""Powers with small constant exponents as products, roots and quotients.

Exponents are those by which the result is at most 4 units in the last place off: integers to 5, and
1.5, 2.5, 3.5; of negative ones, to -4 and -2.5. What has a negative exponent is 0 if it would be
smaller than the least normal number. What an op was marked with holds of those that it becomes, so
that they round alike in all modes (`ir/marks/rounding.py`).
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import update_marks
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import before, constant_float, operations, replace

_EXPONENTS = frozenset({1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, -1.0, -1.5, -2.0, -2.5, -3.0, -4.0})


def lower_constant_powers(root: ir.Operation) -> None:
    """Replace powers with small constant exponents by products, roots and quotients."""
    for op in [op for op in operations(root) if op.name == Math.POWF]:
        exponent = constant_float(op.operands[1])
        if exponent in _EXPONENTS:
            with before(op):
                value = _Power(op).power(exponent)
            replace(op, [value])


class _Power:
    """Powers of one base, by ops that round as one op does."""

    def __init__(self, op: ir.Operation) -> None:
        self.base, self.type, self.marks = op.operands[0], op.results[0].type, update_marks(op)

    def power(self, exponent: float) -> ir.Value:
        """The power of an exponent."""
        integer_part, half = divmod(abs(exponent), 1.0)
        value = self._integer_power(int(integer_part))
        if half:
            value = self._make(Arith.MULF, value, self._make(Math.SQRT, self.base))
        return value if exponent > 0 else self._make(Arith.DIVF, b.number(1.0, self.type), value)

    def _integer_power(self, exponent: int) -> ir.Value:
        """Raise the base to an exponent of at least 1, by squaring."""
        if exponent == 1:
            return self.base
        root = self._integer_power(exponent // 2)
        square = self._make(Arith.MULF, root, root)
        return self._make(Arith.MULF, square, self.base) if exponent % 2 else square

    def _make(self, name: str, *operands: ir.Value) -> ir.Value:
        return b.make(name, self.type, operands, **self.marks)
