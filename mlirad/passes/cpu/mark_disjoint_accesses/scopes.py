"""The alias scopes of the accesses of a function."""

from __future__ import annotations

from math import gcd

import msgspec

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import operations
from mlirad.passes.cpu.mark_disjoint_accesses.slabs import Slab, Slabs, slab_sizes

MOST_CLASSES = 16
_POINTERS = {Llvm.LOAD: 0, Llvm.STORE: 1, Llvm.ATOMICRMW: 0}  # positions of the operand
_DYNAMIC = -(1 << 31)  # in place of an index that is an operand


class Residue(msgspec.Struct, frozen=True):
    """Integers that are `remainder` modulo `step`; a step of 0 for one integer, of 1 for any."""

    step: int
    remainder: int

    def __add__(self, other: Residue) -> Residue:
        return _residue(gcd(self.step, other.step), self.remainder + other.remainder)

    def __mul__(self, other: Residue) -> Residue:
        return _residue(
            gcd(self.step * other.step, self.step * other.remainder, other.step * self.remainder),
            self.remainder * other.remainder,
        )


ANY = Residue(1, 0)


def _residue(step: int, remainder: int) -> Residue:
    return Residue(step, remainder % step if step else remainder)


class Access(msgspec.Struct, frozen=True):
    """A load or store, its offset modulo a number, and the slab that it is in."""

    op: ir.Operation
    residue: Residue
    slab: Slab | None


class Part(msgspec.Struct, frozen=True):
    """Elements whose offset leaves a remainder, in a slab, as far as that is known."""

    remainder: int | None
    slab: Slab | None

    def is_apart(self, other: Part) -> bool:
        """Return whether no element is in both."""
        if None not in (self.remainder, other.remainder) and self.remainder != other.remainder:
            return True
        slab, its = self.slab, other.slab
        return slab is not None and its is not None and slab.is_apart(its)


class FunctionScopes:
    """Accesses of one function, by the pointer among its arguments that they are made from."""

    def __init__(self, function: ir.Operation, *, once: bool) -> None:
        self.name = symbol_of(function)
        self.residues: dict[ir.Value, Residue] = {}
        self.accesses: dict[int, list[Access]] = {}
        self.entry = function.regions[0].blocks[0]
        self.pointers = {
            value: number
            for number, value in enumerate(self.entry.arguments)
            if str(value.type) == "!llvm.ptr"
        }
        sizes = slab_sizes(function) if once else {}
        self.slabs = {number: Slabs(size, self.entry) for number, size in sizes.items()}
        self.dynamic = ir.DenseI32ArrayAttr.get([_DYNAMIC])
        for op in operations(function):
            position = _POINTERS.get(op.name)
            if position is not None:
                self._add(op, op.operands[position])

    def _add(self, op: ir.Operation, address: ir.Value) -> None:
        if isinstance(address, ir.BlockArgument):
            return
        address_op = address.owner.operation
        operands = list(address_op.operands)
        if (
            address_op.name != Llvm.GETELEMENTPTR
            or operands[0] not in self.pointers
            or len(operands) != 2
            or address_op.attributes["rawConstantIndices"] != self.dynamic
        ):
            return
        type_ = op.operands[0].type if op.name == Llvm.STORE else op.results[0].type
        if ir.TypeAttr(address_op.attributes["elem_type"]).value == type_:
            number, offset = self.pointers[operands[0]], operands[1]
            slab = self.slabs[number].slab_of(offset) if number in self.slabs else None
            self.accesses.setdefault(number, []).append(Access(op, self._residue(offset), slab))

    def _residue(self, value: ir.Value) -> Residue:
        if value not in self.residues:
            self.residues[value] = self._residue_of(value)
        return self.residues[value]

    def _residue_of(self, value: ir.Value) -> Residue:
        if isinstance(value, ir.BlockArgument):
            return ANY
        op = value.owner.operation
        if op.name == Llvm.MLIR_CONSTANT:
            return Residue(0, ir.IntegerAttr(op.attributes["value"]).value)
        if op.name not in (Llvm.ADD, Llvm.MUL):
            return ANY
        left, right = map(self._residue, op.operands)
        return left + right if op.name == Llvm.ADD else left * right

    def mark(self) -> None:
        """Give the accesses to each pointer their scopes."""
        for number, accesses in self.accesses.items():
            array_parts = _array_parts(accesses)
            if len(set(array_parts)) > MOST_CLASSES:
                array_parts = [Part(array_class.remainder, None) for array_class in array_parts]
            classes = {array_class: k for k, array_class in enumerate(dict.fromkeys(array_parts))}
            if not 1 < len(classes) <= MOST_CLASSES:
                continue
            domain = f'#llvm.alias_scope_domain<id = "{self.name}.{number}">'
            scopes = {
                array_class: ir.Attribute.parse(
                    f'#llvm.alias_scope<id = "{self.name}.{number}.{k}", domain = {domain}>'
                )
                for array_class, k in classes.items()
            }
            for access, array_part in zip(accesses, array_parts):
                distinct_scopes = [
                    scopes[array_class]
                    for array_class in classes
                    if array_part.is_apart(array_class)
                ]
                if distinct_scopes:
                    access.op.attributes["alias_scopes"] = ir.ArrayAttr.get([scopes[array_part]])
                    access.op.attributes["noalias_scopes"] = ir.ArrayAttr.get(distinct_scopes)


def _array_parts(accesses: list[Access]) -> list[Part]:
    """The part of the array that each access is in."""
    step = gcd(*(access.residue.step for access in accesses if access.residue != ANY))
    return [
        Part(access.residue.remainder % step, access.slab)
        if step > 1 and access.residue != ANY
        else Part(None, access.slab)
        for access in accesses
    ]
