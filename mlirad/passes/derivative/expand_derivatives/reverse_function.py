"""The function of `grad.vjp`: the kernel, as far as its reverse reads what it leaves, then the
reverse.

The reverse expects of an array that is redone what it held before the kernel, and of others what
the kernel left there (see `check-access-rules`). In the end memory is as it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.bindings import ir
from mlirad.dialect.field import is_read, split_access
from mlirad.ir.marks.roles import Role
from mlirad.ir.walk import entry_of, operations
from mlirad.passes.derivative.expand_derivatives.function_frame import Frame
from mlirad.passes.derivative.expand_derivatives.plain_memory import move_body
from mlirad.passes.derivative.expand_derivatives.storage import (
    Parameter,
    allocate_like,
    keep,
)

_REDONE = "grad.redone"


class ReverseFunction(Frame):
    """A function that gives adjoints."""

    def results(self, derivative: ir.Operation, primal: ir.Operation) -> list[ir.Value]:
        """Emit the body, and return the adjoints of values."""
        adjoints = self._adjoints()
        redone = _redone(derivative)
        copies: dict[int, ir.Value] = {}
        if _reads_behind(derivative, self.kernel.written - redone):
            copies = {
                p.position: self._copy(p.position)
                for p in self.kernel.parameters
                if p.role is Role.ARGUMENT and p.position in self.kernel.written
            }
            move_body(primal, self.memories)
            self._give_back(copies, redone)
        move_body(derivative, [*self.memories, *adjoints.values()])
        self._give_back(copies, copies.keys() - redone)
        types, memrefs = self.target.primal_type.inputs, self.target.memrefs()
        return [
            self.give(adjoints[self.kernel.argument(k).position], types[k])
            for k in self.target.active
            if k not in memrefs
        ]

    def _adjoints(self) -> dict[int, ir.Value]:
        """Return the memory of the adjoint of each array that has one."""
        carriers, target = self.kernel.carriers, self.target
        buffers = {self.kernel.argument(k).position: next(self.extra) for k in target.memrefs()}
        heads = {self.kernel.result(k).position: next(self.extra) for k in target.carried_results()}
        return {
            p.position: buffers[p.position] if p.position in buffers else self._adjoint(p, heads)
            for p in carriers
        }

    def _adjoint(self, parameter: Parameter, heads: Mapping[int, ir.Value]) -> ir.Value:
        memory = self.memories[parameter.position]
        if parameter.position not in heads:
            return self.zeros(memory)
        adjoint = allocate_like(memory)
        keep(heads[parameter.position], adjoint, self.target.primal)
        self.temporary.append(adjoint)
        return adjoint

    def _copy(self, position: int) -> ir.Value:
        copy = allocate_like(self.memories[position])
        keep(self.memories[position], copy, self.target.primal)
        self.temporary.append(copy)
        return copy

    def _give_back(self, copies: dict[int, ir.Value], positions: set[int]) -> None:
        """Let memory hold what it held before the kernel ran."""
        for position in sorted(copies.keys() & positions):
            keep(copies[position], self.memories[position], self.target.primal)


def _redone(function: ir.Operation) -> set[int]:
    """Return the arrays, by position, whose writes the reverse does again."""
    if _REDONE not in function.attributes:
        return set()
    return {ir.IntegerAttr(number).value for number in ir.ArrayAttr(function.attributes[_REDONE])}


def _reads_behind(function: ir.Operation, positions: set[int]) -> bool:
    """Return whether a reverse reads what the kernel left in one of some arrays."""
    arguments = entry_of(function).arguments
    arrays = [arguments[position] for position in positions]
    return any(is_read(op) and split_access(op)[0] in arrays for op in operations(function))
