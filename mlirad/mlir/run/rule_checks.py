"""The derivative of one op against differences: what `ti.mlir.check_derivative` does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mlirad.ad import hvp
from mlirad.errors import TaichiRuntimeTypeError
from mlirad.ir.ops import Arith
from mlirad.lang.field.declaration import field
from mlirad.lang.ndarray import ndarray
from mlirad.mlir.function import MlirFunction
from mlirad.mlir.run.comparison import Comparison
from mlirad.mlir.run.derivatives import Program
from mlirad.mlir.source import parse
from mlirad.runtime.memory.values import Values
from mlirad.types import DataType, from_mlir

POINTS = 9
_SIGNATURE = re.compile(
    r"\((?P<inputs>[^()]*)\)\s*->\s*(?:\((?P<results>[^()]+)\)|(?P<result>\S+))"
)
_SECOND = {8: (1e-5, 1e-5), 4: (1e-2, 3e-2), 2: (0.1, 0.2)}  # the step, and the share


def check_derivative(
    name: str,
    signature: str,
    *points: Any,
    attributes: str = "",
    functions: str = "",
    order: int = 2,
    seed: int = 0,
) -> list[Comparison]:
    """Compare the derivative of an op with central differences, in reverse and in forward mode, on
    the machine that `ti.init` chose.

        ti.mlir.check_derivative("geometry.hypot3", "(f64, f64, f64) -> f64")

    Args:
        name: the name of the op.
        signature: the types of its operands and results, as MLIR writes them.
        points: for each operand a list of values, all of the same length; by default values between
            0.3 and 2.
        attributes: the attributes of the op, as MLIR writes them.
        functions: the text of functions that the derivative calls.
        order: 2 also compares the second derivative, forward over reverse, with differences of the
            first; 1 does not.
        seed: the seed of random numbers.

    Returns:
        The comparisons.

    Raises:
        AssertionError: some derivatives differ; the message lists them.
        TaichiRuntimeTypeError: the points do not fit.
        TaichiCompilationError: the op has no derivative, or not a valid one.
    """
    inputs, outputs = _types(signature)
    arrays = _points(inputs, points)
    texts = _Texts(name, inputs, outputs, attributes, len(arrays[0]) if arrays else 1)
    program = Program(parse(functions + texts.function(), "op"), arrays)
    comparisons = program.compare(seed)
    if order > 1 and comparisons:
        comparisons += _second(parse(functions + texts.loss(), "loss"), arrays, seed)
    wrong = [str(comparison) for comparison in comparisons if not comparison.agrees]
    if wrong:
        raise AssertionError("\n".join([f"the derivative of '{name}' differs:", *wrong]))
    return comparisons


def _types(signature: str) -> tuple[list[str], list[str]]:
    match = _SIGNATURE.fullmatch(signature.strip())
    if match is None:
        raise TaichiRuntimeTypeError(f"the types '{signature}', expected (f64, f64) -> f64")
    inputs, results = match["inputs"], match["results"] or match["result"]
    return [t.strip() for t in inputs.split(",") if t.strip()], results.replace(" ", "").split(",")


def _points(types: Sequence[str], points: Sequence[Any]) -> list[Values]:
    """Return the values of operands; integers are passed as i64."""
    if points and len(points) != len(types):
        raise TaichiRuntimeTypeError(f"points for {len(points)} operands, expected {len(types)}")
    arrays = [
        np.asarray(points[k] if points else _default(type_, k), _passed(type_).numpy)
        for k, type_ in enumerate(types)
    ]
    if len({array.shape for array in arrays}) > 1 or any(a.ndim != 1 for a in arrays):
        raise TaichiRuntimeTypeError("points of several shapes, expected lists of one length")
    return arrays


def _passed(type_: str) -> DataType:
    return from_mlir(type_ if type_.startswith("f") else "i64")


def _default(type_: str, number: int) -> Values:
    if not type_.startswith("f"):
        return np.arange(POINTS) % 2
    return np.roll(np.linspace(0.3, 1.7, POINTS), 2 * number) + 0.07 * number


class _Texts:
    """Functions that apply an op to all elements of some arrays."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: str,
        count: int,
    ) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.attributes, self.count = attributes, count

    def function(self) -> str:
        """Return a function that gives the op's results as arrays."""
        memories = [f"memref<{self.count}x{type_}>" for type_ in self.outputs]
        stores = [f"memref.store %r#{k}, %o{k}[%i] : {memory}" for k, memory in enumerate(memories)]
        allocs = [f"%o{k} = memref.alloc() : {memory}" for k, memory in enumerate(memories)]
        names = ", ".join(f"%o{k}" for k in range(len(memories)))
        return f"""
            func.func @op({", ".join(self._parameters())}) -> ({", ".join(memories)}) {{
              {self._constants()}
              {_lines(allocs)}
              scf.for %i = %c0 to %n step %c1 {{
                {_lines(self._application())}
                {_lines(stores)}
              }}
              return {names} : {", ".join(memories)}
            }}"""

    def loss(self) -> str:
        """Return a function that gives the sum of squares of the op's results of floats."""
        squares = [
            line
            for number, (k, type_) in enumerate(_floats(self.outputs))
            for line in _square(number, k, type_)
        ]
        return f"""
            func.func @loss({", ".join(self._parameters())}) -> f64 {{
              {self._constants()}
              %z = arith.constant 0.0 : f64
              %t = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %z) -> f64 {{
                {_lines(self._application())}
                {_lines(squares)}
                scf.yield %s{len(squares) // 3} : f64
              }}
              return %t : f64
            }}"""

    def _parameters(self) -> Iterator[str]:
        for k, type_ in enumerate(self.inputs):
            yield f"%x{k}: memref<{self.count}x{_passed(type_)}>"

    def _constants(self) -> str:
        constants = {"c0": 0, "c1": 1, "n": self.count}
        return _lines([f"%{name} = arith.constant {v} : index" for name, v in constants.items()])

    def _application(self) -> list[str]:
        """The lines that load an element of each operand, and apply the op."""
        loads = [line for k, type_ in enumerate(self.inputs) for line in self._load(k, type_)]
        names = ", ".join(f"%v{k}" for k in range(len(self.inputs)))
        results = f"({', '.join(self.outputs)})"
        attributes = f"{{{self.attributes}}} " * bool(self.attributes)
        types = f"({', '.join(self.inputs)}) -> {results}"
        return [*loads, f'%r:{len(self.outputs)} = "{self.name}"({names}) {attributes}: {types}']

    def _load(self, k: int, type_: str) -> list[str]:
        passed = _passed(type_)
        memory = f"memref<{self.count}x{passed}>"
        if type_ == str(passed):
            return [f"%v{k} = memref.load %x{k}[%i] : {memory}"]
        cast = Arith.INDEX_CAST if type_ == "index" else Arith.TRUNCI
        return [
            f"%w{k} = memref.load %x{k}[%i] : {memory}",
            f"%v{k} = {cast} %w{k} : {passed} to {type_}",
        ]


def _floats(types: Sequence[str]) -> list[tuple[int, str]]:
    return [(k, type_) for k, type_ in enumerate(types) if type_.startswith("f")]


def _square(number: int, result: int, type_: str) -> list[str]:
    """The lines that add a result's square to a sum."""
    is_wide = type_ == "f64"
    extended = f"arith.extf %r#{result} : {type_} to f64"
    return [
        f"%e{number} = {f'arith.addf %r#{result}, %z : f64' if is_wide else extended}",
        f"%q{number} = arith.mulf %e{number}, %e{number} : f64",
        f"%s{number + 1} = arith.addf %s{number}, %q{number} : f64",
    ]


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines)


def _second(function: MlirFunction, points: Sequence[Values], seed: int) -> list[Comparison]:
    """Compare second derivatives, of the sum of squares of results, with differences of first
    ones, along random directions."""
    program = _SecondOrder(function, points)
    generator = np.random.default_rng(seed)
    along = [np.asarray(generator.uniform(-1, 1, v.shape), v.dtype) for v in program.values]
    products = program.products(0.0, along)
    size, share = _SECOND[min(values.itemsize for values in program.values)]
    comparisons = []
    for number, k in enumerate(program.active):
        head = generator.uniform(-1, 1, points[k].shape)
        above, below = (program.gradients(sign * size, along)[number] for sign in (1, -1))
        value = float(np.vdot(head, products[number].astype(np.float64)))
        difference = float(np.vdot(head, above - below)) / (2 * size)
        scale = max(abs(difference), abs(value), 1.0)
        comparisons.append(Comparison(f"argument {k}", value, value, difference, share * scale))
    return comparisons


class _SecondOrder:
    """A function that gives a number, whose Hessian is taken in fields that hold its arguments."""

    def __init__(self, function: MlirFunction, points: Sequence[Values]) -> None:
        self.function = function
        self.active = [k for k, values in enumerate(points) if values.dtype.kind == "f"]
        self.values = [points[k] for k in self.active]
        self.arrays = [ndarray(v.dtype, v.shape, needs_grad=v.dtype.kind == "f") for v in points]
        for array, values in zip(self.arrays, points):
            array.from_numpy(values)
        self.fields = [field(v.dtype, v.shape, needs_grad=True) for v in self.values]
        self.number = ndarray(np.float64, (), needs_grad=True)
        self.loss = field(np.float64, (), needs_grad=True)

    def run(self) -> None:
        """Compute the number."""
        for k, source in zip(self.active, self.fields):
            self.arrays[k].copy_from(source)
        self.function(*self.arrays, out=self.number)
        self.loss.copy_from(self.number)

    def products(self, step: float, along: Sequence[Values]) -> list[Values]:
        """Return the Hessian times a direction, at points a step along it."""
        for source, values, direction in zip(self.fields, self.values, along):
            source.from_numpy(values + values.dtype.type(step) * direction)
        return list(hvp(self.run, self.loss, self.fields, list(along)))

    def gradients(self, step: float, along: Sequence[Values]) -> list[Values]:
        """Return the gradients at points a step along a direction."""
        self.products(step, along)
        adjoints = [f.grad for f in self.fields]
        return [a.to_numpy().astype(np.float64) for a in adjoints if a is not None]
