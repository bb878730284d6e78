"""Functions that take the derivative of another by `grad.vjp` and `grad.jvp`, and their values
against those of a tape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import mlirad as ti
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.grad import carries_derivative, type_of_jvp, type_of_vjp
from mlirad.ir.signature import function_type
from mlirad.mlir.run.derivatives import Program
from mlirad.pipeline.opt.parsing import Reading

Values = Sequence[np.ndarray]
_TYPES = {"vjp": type_of_vjp, "jvp": type_of_jvp}


def entry_type(text: str, entry: str) -> ir.FunctionType:
    """Return the type of a function of a module."""
    with context():
        module = Reading(text, "-", is_whole_file=False).module()
        ops = [op.operation for op in module.body.operations]
        named = [op for op in ops if str(op.attributes["sym_name"]) == f'"{entry}"']
        return function_type(named[0])


def active_arguments(text: str, entry: str) -> list[int]:
    """Return the numbers of the arguments that carry a derivative."""
    inputs = entry_type(text, entry).inputs
    return [number for number, type_ in enumerate(inputs) if carries_derivative(type_)]


def with_caller(
    text: str, entry: str, kind: str, active: Sequence[int] | None = None, name: str = "derivative"
) -> str:
    """Return the module with a function beside the entry that calls its derivative."""
    numbers = active_arguments(text, entry) if active is None else active
    type_ = _TYPES[kind](entry_type(text, entry), numbers)
    operands = [f"%a{number}" for number in range(len(type_.inputs))]
    parameters = ", ".join(f"{name}: {type_}" for name, type_ in zip(operands, type_.inputs))
    count, results = len(type_.results), ", ".join(map(str, type_.results))
    values = ", ".join(f"%r#{number}" for number in range(count))
    values = values if count != 1 else "%r"
    bound = f"%r:{count} = " if count > 1 else "%r = " * count
    return f"""{text}
func.func @{name}({parameters}) -> ({results}) {{
  {bound}grad.{kind} @{entry}({", ".join(operands)}) {{active = {[*numbers]}}} : {type_}
  return {values}{" : " * (count > 0)}{results}
}}
"""


class Derivatives:
    """A function, and its derivatives by a tape and by the function that its module has for it."""

    def __init__(self, text: str, entry: str, arguments: Sequence[np.ndarray | int]) -> None:
        self.text, self.entry, self.arguments = text, entry, arguments
        self.type = entry_type(text, entry)
        self.active = active_arguments(text, entry)
        self.memrefs = [k for k in self.active if isinstance(self.type.inputs[k], ir.MemRefType)]
        self.program = Program(ti.mlir.parse(text, entry), arguments)
        assert self.program.active == self.active

    def heads(self, seed: int) -> list[np.ndarray]:
        """Return adjoints of the outputs; those of arguments that are values are 0."""
        generator = np.random.default_rng(seed)
        heads = [_random(generator, array) for array in self.program.outputs]
        count = len(heads) - len(self.active)
        for number, head in zip(self.active, heads[count:]):
            if number not in self.memrefs:
                head[...] = 0
        return heads

    def reverse(self, heads: Values) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the adjoints of the active arguments, by the tape and by `grad.vjp`."""
        function = ti.mlir.parse(with_caller(self.text, self.entry, "vjp"), "derivative")
        count = len(heads) - len(self.active)
        buffers = {
            number: head.copy()
            for number, head in zip(self.active, heads[count:])
            if number in self.memrefs
        }
        primals = [_copy(value) for value in self.arguments]
        results = function(*primals, *buffers.values(), *heads[:count])
        for value, primal in zip(self.arguments, primals):
            np.testing.assert_array_equal(value, primal)
        listed = results if isinstance(results, list) else [] if results is None else [results]
        values = iter(listed)
        by_name = [buffers[k] if k in buffers else next(values) for k in self.active]
        return self.program.gradients(heads), by_name

    def forward(self, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the tangents of the results and of what is left in memrefs, by forward mode and
        by `grad.jvp`."""
        generator = np.random.default_rng(seed)
        function = ti.mlir.parse(with_caller(self.text, self.entry, "jvp"), "derivative")
        directions = [_random(generator, array) for array in self.program.inputs]
        tangents = [direction.copy() for direction in directions]
        results = function(*map(_copy, self.arguments), *tangents)
        listed = results if isinstance(results, list) else [] if results is None else [results]
        count = len(self.program.results)
        left = [t for k, t in zip(self.active, tangents) if k in self.memrefs]
        expected = self.program.tangents(directions)
        outputs = len(expected) - len(self.active)
        memory = [t for k, t in zip(self.active, expected[outputs:]) if k in self.memrefs]
        return [*expected[:outputs], *memory], [*listed[count:], *left]


def _copy(value: np.ndarray | int) -> np.ndarray | int:
    return value.copy() if isinstance(value, np.ndarray) else value


def _random(generator: np.random.Generator, array: ti.Ndarray) -> np.ndarray:
    return np.asarray(generator.uniform(-1, 1, array.shape), array.dtype.numpy)
