"""The structured ops of `scf`, seen through classes: what they hold. `build` makes them."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.view import NamedOp
from mlirad.ir.ops import Scf

# of a `for` that came from a parallel loop: its iterations may run in any order, or together; what
# it carries are sums
ANY_ORDER = "field.any_order"
# of a `for` over the few iterations at an end of what was one loop, of which others are told about
AT_END = "field.at_end"
# of an op whose result is another one in each iteration of the innermost loop around it
DISTINCT = "field.distinct"
# of a buffer of a few iterations, no two of which write the same element
WRITE_BUFFER = "field.write_buffer"
SERIAL_LOOPS = (Scf.FOR, Scf.WHILE)
STRUCTURED = (Scf.FOR, Scf.WHILE, Scf.IF, Scf.PARALLEL)


def is_for(op: NamedOp) -> bool:
    """Return whether an op is a loop whose trips are known before it runs, one after another."""
    return op.name == Scf.FOR


def is_while(op: NamedOp) -> bool:
    """Return whether an op is a loop that runs as long as a condition holds."""
    return op.name == Scf.WHILE


def is_branch(op: NamedOp) -> bool:
    """Return whether an op runs one of its regions, or none."""
    return op.name == Scf.IF


def is_parallel(op: NamedOp) -> bool:
    """Return whether an op is a loop whose iterations run in any order."""
    return op.name == Scf.PARALLEL


def runs_in_any_order(op: ir.Operation) -> bool:
    """Return whether an op is a `for` over an axis of what was a parallel loop."""
    return is_for(op) and ANY_ORDER in op.attributes


def is_serial_loop(op: NamedOp) -> bool:
    """Return whether an op is a loop whose iterations run one after another."""
    return op.name in SERIAL_LOOPS


class StructuredOp:
    """An op whose regions are part of the function around it."""

    __slots__ = ("op",)

    def __init__(self, op: ir.Operation) -> None:
        self.op = op

    @property
    def blocks(self) -> list[ir.Block]:
        """The blocks of its regions."""
        return [region.blocks[0] for region in self.op.regions if len(region.blocks)]

    @property
    def results(self) -> list[ir.OpResult]:
        """Return the results of the op."""
        return list(self.op.results)


class For(StructuredOp):
    """`scf.for`."""

    __slots__ = ()

    @property
    def body(self) -> ir.Block:
        """An iteration."""
        return self.op.regions[0].blocks[0]

    @property
    def induction(self) -> ir.BlockArgument:
        """The loop's index."""
        return self.body.arguments[0]

    @property
    def carried(self) -> list[ir.BlockArgument]:
        """The carried values in an iteration."""
        return list(self.body.arguments)[1:]


class While(StructuredOp):
    """`scf.while`: its first block gives a condition, and what its second block, or the result,
    gets."""

    __slots__ = ()

    @property
    def before(self) -> ir.Block:
        """The block of the condition."""
        return self.op.regions[0].blocks[0]

    @property
    def after(self) -> ir.Block:
        """Return the block that runs if the condition holds."""
        return self.op.regions[1].blocks[0]


class If(StructuredOp):
    """`scf.if`."""

    __slots__ = ()

    @property
    def then(self) -> ir.Block:
        """Return the block that runs if the condition holds."""
        return self.op.regions[0].blocks[0]

    @property
    def otherwise(self) -> ir.Block:
        """Return the block that runs if the condition does not hold."""
        return self.op.regions[1].blocks[0]


class Parallel(StructuredOp):
    """`scf.parallel`, without reductions: a box."""

    __slots__ = ("body", "rank")

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.body: ir.Block = op.regions[0].blocks[0]
        self.rank = len(self.body.arguments)

    @property
    def lower(self) -> list[ir.Value]:
        """Return where each axis begins."""
        return list(self.op.operands)[: self.rank]

    @property
    def upper(self) -> list[ir.Value]:
        """Return where each axis ends."""
        return list(self.op.operands)[self.rank : 2 * self.rank]

    @property
    def steps(self) -> list[ir.Value]:
        """The steps along each axis."""
        return list(self.op.operands)[2 * self.rank : 3 * self.rank]

    @property
    def indices(self) -> list[ir.BlockArgument]:
        """The loop's indices."""
        return list(self.body.arguments)
