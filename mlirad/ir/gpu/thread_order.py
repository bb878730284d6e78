"""The order in which a CPU runs the threads of a block, or the blocks of a grid: kernels promise
none."""

from mlirad.bindings import ir
from mlirad.ir import build as b

ORDERS = ("ascending", "descending", "shuffled")

# Primes p of which (p - 1) / 2 is prime, above the size of any block or grid: multiplication by one
# permutes the numbers below n, and is not the identity where n > 2.
_PRIMES = (2147485343, 2147485547, 2147486399, 2147489207, 2147502419)


class ThreadOrder:
    """A bijection of the numbers below a count: which of them is the k-th to run."""

    def __init__(self, order: str, seed: int) -> None:
        assert order in ORDERS
        self.order = order
        self._factor = _PRIMES[seed % len(_PRIMES)]
        self._offset = seed + 1

    def at(self, position: ir.Value, count: ir.Value) -> ir.Value:
        """The number of what runs at a position."""
        if self.order == "descending":
            return b.sub(b.sub(count, b.index(1)), position)
        if self.order == "shuffled":
            factor = _remainder(b.index(self._factor), count)
            return _remainder(b.add(b.mul(factor, position), b.index(self._offset)), count)
        return position


def _remainder(value: ir.Value, modulus: ir.Value) -> ir.Value:
    return b.rem(value, modulus)
