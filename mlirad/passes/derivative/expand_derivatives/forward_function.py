"""The function of `grad.jvp`: the kernel with tangents."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.marks.roles import Role
from mlirad.passes.derivative.expand_derivatives.function_frame import Frame
from mlirad.passes.derivative.expand_derivatives.plain_memory import move_body
from mlirad.passes.derivative.expand_derivatives.storage import Parameter, memory_of


class ForwardFunction(Frame):
    """A function that gives results, then their tangents."""

    def results(self, derivative: ir.Operation, primal: ir.Operation) -> list[ir.Value]:
        """Emit the body, and return results and tangents."""
        kernel, types = self.kernel, self.target.primal_type.results
        tangents = {p.position: self._tangent(p) for p in kernel.carriers}
        move_body(derivative, [*self.memories, *tangents.values()])
        positions = [kernel.result(number).position for number in range(len(types))]
        values = [
            self.give(self.memories[position], type_) for position, type_ in zip(positions, types)
        ]
        return values + [
            self.give(tangents[positions[number]], types[number])
            for number in self.target.carried_results()
        ]

    def _tangent(self, parameter: Parameter) -> ir.Value:
        if parameter.role is Role.ARGUMENT and parameter.source in self.target.active:
            return memory_of(next(self.extra), parameter, self.target.primal)
        return self.zeros(self.memories[parameter.position])
