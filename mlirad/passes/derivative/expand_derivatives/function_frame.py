"""The parts common to both kinds of derivatives: memory for the arrays of the kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.snode import module_of
from mlirad.ir import build as b
from mlirad.ir.marks.roles import Role
from mlirad.ir.ops import Memref
from mlirad.ir.requirements import symbol_of
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import ancestors, block_operations, entry_of, operations
from mlirad.passes.derivative.expand_derivatives.kernel import Kernel
from mlirad.passes.derivative.expand_derivatives.storage import (
    Parameter,
    allocate,
    allocate_like,
    clear,
    memory_of,
    release,
    value_of,
)
from mlirad.passes.derivative.expand_derivatives.target import Target, free_name


class Frame(ABC):
    """A function under construction: `constants` are the globals that the kernel reads."""

    def __init__(
        self,
        target: Target,
        function: ir.Operation,
        kernel: Kernel,
        constants: Sequence[ir.Operation],
    ) -> None:
        self.target, self.function, self.kernel = target, function, kernel
        self.constants = {symbol_of(op): op for op in constants}
        arguments = list(entry_of(function).arguments)
        count = len(target.primal_type.inputs)
        self.arguments, self.extra = arguments[:count], iter(arguments[count:])
        self.memories: list[ir.Value] = []
        self.temporary: list[ir.Value] = []  # memory that nothing outside knows

    def fill(self, derivative: ir.Operation, primal: ir.Operation) -> None:
        """Make the body of the kernel's derivative, and of the kernel."""
        entry = entry_of(self.function)
        with ir.InsertionPoint(entry), self.function.location:
            end = b.return_()
        with ir.InsertionPoint(end), self.function.location:
            for parameter in self.kernel.parameters:
                self.memories.append(self._memory(parameter))
            results = self.results(derivative, primal)
            for memory in self.temporary:
                release(memory)
            b.return_(results)
        end.erase()
        self._hoist_variables()

    @abstractmethod
    def results(self, derivative: ir.Operation, primal: ir.Operation) -> list[ir.Value]:
        """Emit the body, and return what the function gives."""

    def _memory(self, parameter: Parameter) -> ir.Value:
        source = parameter.source
        if parameter.role is Role.ARGUMENT and isinstance(source, int):
            return memory_of(self.arguments[source], parameter, self.target.primal)
        if parameter.role is Role.CONSTANT and isinstance(source, str):
            return self._constant(self.constants[source])
        memory = allocate(parameter, self.memories)
        self.temporary.append(memory)
        return memory

    def _constant(self, constant: ir.Operation) -> ir.Value:
        """Return the memory of a constant, which the module has, or now gets."""
        type_ = ir.TypeAttr(constant.attributes["type"]).value
        block = module_of(self.function).regions[0].blocks[0]
        ops = [op for op in block_operations(block) if "sym_name" in op.attributes]
        name = next((symbol_of(op) for op in ops if str(op) == str(constant)), None)
        if name is None:
            copy = constant.clone(ip=ir.InsertionPoint.at_block_begin(block))
            name = free_name(symbol_of(constant), {symbol_of(op) for op in ops})
            copy.attributes["sym_name"] = ir.StringAttr.get(name)
        attributes = {"name": ir.FlatSymbolRefAttr.get(name)}
        return ir.Operation.create(Memref.GET_GLOBAL, [type_], [], attributes).result

    def zeros(self, memory: ir.Value) -> ir.Value:
        """Return new memory like some, of zeros."""
        zeros = allocate_like(memory)
        clear(zeros, in_parallel=True)
        self.temporary.append(zeros)
        return zeros

    def give(self, memory: ir.Value, type_: ir.Type) -> ir.Value:
        """Return what memory holds as a result of the function, which may be the memory."""
        if isinstance(type_, ir.MemRefType | ir.RankedTensorType):
            self.temporary.remove(memory)
        return value_of(memory, type_, self.target.primal)

    def _hoist_variables(self) -> None:
        """Move stack memory out of serial loops: there it is allocated in every iteration."""
        for op in list(operations(self.function)):
            if op.name == Memref.ALLOCA and not op.operands:
                around = (loop for loop in ancestors(op, self.function) if is_parallel(loop))
                block = entry_of(next(around, self.function))
                op.move_before(block_operations(block)[0])
