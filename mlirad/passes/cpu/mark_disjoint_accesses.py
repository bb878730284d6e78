"""Tell LLVM which accesses to one array never meet: the components of a vector field, whatever the
index.

Where a loop reads one part of a vector field and writes another (`x[t + 1, i] = x[t, i] + v`),
LLVM's vectorizer guards the vector code by comparing the address ranges of all accesses. The
components of a vector lie between one another, so their ranges always overlap and the vector code
would never run. Offsets that differ modulo a number that divides all strides are never equal: each
such class becomes an alias scope.
"""

from __future__ import annotations

from math import gcd

from mlirad.bindings import ir
from mlirad.data_classes import data_class
from mlirad.ir.walk import operations

MOST_CLASSES = 16
_POINTERS = {"llvm.load": 0, "llvm.store": 1, "llvm.atomicrmw": 0}
_DYNAMIC = "array<i32: -2147483648>"


@data_class(frozen=True)
class Residue:
    """The integers that are `rest` modulo `step`; a step of 0 for one integer, of 1 for any."""

    step: int
    rest: int

    def __add__(self, other: Residue) -> Residue:
        return _residue(gcd(self.step, other.step), self.rest + other.rest)

    def __mul__(self, other: Residue) -> Residue:
        return _residue(
            gcd(self.step * other.step, self.step * other.rest, other.step * self.rest),
            self.rest * other.rest,
        )


ANY = Residue(1, 0)


def _residue(step: int, rest: int) -> Residue:
    return Residue(step, rest % step if step else rest)


def mark_disjoint_accesses(module: ir.Operation) -> None:
    """Give accesses to one pointer alias scopes by their offsets modulo the common divisor of its
    strides."""
    for function in operations(module):
        if function.name == "llvm.func" and function.regions[0].blocks:
            _Function(function).mark()


class _Function:
    """Accesses of one function, by the pointer among its arguments that they are made from."""

    def __init__(self, function: ir.Operation) -> None:
        self.name = ir.StringAttr(function.attributes["sym_name"]).value
        self.residues: dict[ir.Value, Residue] = {}
        self.accesses: dict[int, list[tuple[ir.Operation, Residue]]] = {}
        entry = function.regions[0].blocks[0]
        self.pointers = {
            value: number
            for number, value in enumerate(entry.arguments)
            if str(value.type) == "!llvm.ptr"
        }
        for op in operations(function):
            if op.name in _POINTERS:
                self._add(op)

    def _add(self, op: ir.Operation) -> None:
        address = op.operands[_POINTERS[op.name]]
        if isinstance(address, ir.BlockArgument):
            return
        made = address.owner.operation
        if (
            made.name != "llvm.getelementptr"
            or made.operands[0] not in self.pointers
            or len(made.operands) != 2
            or str(made.attributes["rawConstantIndices"]) != _DYNAMIC
        ):
            return
        type_ = op.operands[0].type if op.name == "llvm.store" else op.results[0].type
        if ir.TypeAttr(made.attributes["elem_type"]).value == type_:
            self.accesses.setdefault(self.pointers[made.operands[0]], []).append(
                (op, self._residue(made.operands[1]))
            )

    def _residue(self, value: ir.Value) -> Residue:
        if value not in self.residues:
            self.residues[value] = self._computed(value)
        return self.residues[value]

    def _computed(self, value: ir.Value) -> Residue:
        if isinstance(value, ir.BlockArgument):
            return ANY
        op = value.owner.operation
        if op.name == "llvm.mlir.constant":
            return Residue(0, ir.IntegerAttr(op.attributes["value"]).value)
        if op.name not in ("llvm.add", "llvm.mul"):
            return ANY
        left, right = map(self._residue, op.operands)
        return left + right if op.name == "llvm.add" else left * right

    def mark(self) -> None:
        """Give the accesses to each pointer their scopes."""
        for number, accesses in self.accesses.items():
            known = [(op, residue) for op, residue in accesses if residue != ANY]
            step = gcd(*(residue.step for _, residue in known))
            rests = sorted({residue.rest % step for _, residue in known}) if step > 1 else []
            if not 1 < len(rests) <= MOST_CLASSES:
                continue
            domain = f'#llvm.alias_scope_domain<id = "{self.name}.{number}">'
            scopes = {
                rest: ir.Attribute.parse(
                    f'#llvm.alias_scope<id = "{self.name}.{number}.{rest}", domain = {domain}>'
                )
                for rest in rests
            }
            for op, residue in known:
                own = residue.rest % step
                op.attributes["alias_scopes"] = ir.ArrayAttr.get([scopes[own]])
                op.attributes["noalias_scopes"] = ir.ArrayAttr.get(
                    [scopes[rest] for rest in rests if rest != own]
                )
