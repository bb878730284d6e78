"""What `te.build` gives: a function of arrays, compiled for the program that calls it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import context, te
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError, TaichiRuntimeTypeError
from mlirad.ir import build as b
from mlirad.ir.walk import before, block_operations, entry_of, functions
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.array_arguments import copy_of
from mlirad.kernel.module import KernelModule
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer, write_back
from mlirad.lang.arguments.overlaps import overlap
from mlirad.lang.read_only import check_writeable
from mlirad.pipeline.mode import PRIMAL
from mlirad.pipeline.runner import run_pipeline
from mlirad.runtime.program import Program, program
from mlirad.runtime.variant import Variant
from mlirad.te.emission import dtype_of_type
from mlirad.te.sizes import Sizes, evaluator
from mlirad.te.tensor import Tensor
from mlirad.types import DataType

SIMPLIFY = "canonicalize,cse,merge-te-computes,canonicalize,cse"
LOWER = "lower-te-to-field,canonicalize,cse"


@dataclass(frozen=True)
class Defined:
    """A tensor that the function defines: an output, by its number, or one in between, of which
    the extents are known."""

    dtype: DataType
    rank: int
    extents: tuple[Callable[[Sequence[int]], int], ...]
    output: int | None


@dataclass(frozen=True)
class Compiled:
    """The function in one program."""

    program: Program
    variant: Variant
    defined: list[Defined]


class Built:
    """A function that takes an array for each input and gives one for each output.

    `function(*arrays, out=None)`: arrays of NumPy or torch, or `ti.ndarray`, with the shapes and
    types of the inputs. It gives NumPy arrays, a list where `te.build` was given one, or writes to
    the arrays of `out`, which lie apart from all others in memory. Raises TaichiRuntimeTypeError
    where an array does not fit, TaichiRuntimeError within a tape, which does not record it yet.
    """

    def __init__(
        self,
        module: ir.Module,
        name: str,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        sizes: Sequence[str],
        gives_list: bool,
    ) -> None:
        self.__name__ = name
        self.module = module
        self.outputs, self.inputs = list(outputs), list(inputs)
        self._gives_list = gives_list
        self._sizes = Sizes(self.inputs, sizes)
        self._compiled: Compiled | None = None
        self._spare: dict[tuple[tuple[int, ...], str], list[Any]] = {}

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        compiled = self._compiled
        current = program()
        if current.threads.recorder is not None:
            raise TaichiRuntimeError(
                f"{self.__name__}: called while derivatives are taken, which do not pass through "
                "functions of tensor expressions yet: build te.differentiate, and call that"
            )
        if compiled is None or compiled.program is not current or compiled.variant.codes.is_stale:
            compiled = self._compile(current)
        arrays = tuple(np.asarray(a) if isinstance(a, np.generic) else a for a in arrays)
        sizes = self._sizes.of(self.__name__, arrays)
        results = self._results(sizes, out)
        defined = [self._array(one, sizes, results) for one in compiled.defined]
        names = [one.name for one in self.inputs] + [""] * len(defined)
        buffers = [array_buffer(a, name, False) for a, name in zip([*arrays, *defined], names)]
        check_writeable(compiled.variant, buffers, reverse=False)
        if out is not None:
            self._check_apart(buffers)
        values = [None] * len(arrays) + list(sizes) + [None] * len(defined)
        compiled.variant.launch(PRIMAL, values, buffers)
        write_back(buffers, compiled.variant.notes.written_arrays)
        self._give_back(compiled, defined)
        if out is not None:
            return out
        return results if self._gives_list else results[0]

    def explain(self) -> list[str]:
        """What the compiler chose, with the lines of the definitions: lanes, tiles."""
        compiled = self._compiled
        if compiled is None or compiled.program is not program():
            compiled = self._compile(program())
        return compiled.variant.stages.remarks(PRIMAL)

    def _check_apart(self, buffers: Sequence[ArrayBuffer]) -> None:
        """Raise TaichiRuntimeTypeError where an array that is written shares memory with another:
        an element may then be read when it is another one's already."""
        for number, one in enumerate(buffers[len(self.inputs) :], len(self.inputs)):
            if any(overlap(one, other) for other in buffers[:number]):
                raise TaichiRuntimeTypeError(
                    f"{self.__name__}: an array of out= shares memory with another array: pass one "
                    "of its own"
                )

    def _results(self, sizes: Sequence[int], out: Any) -> list[Any]:
        given = [None] * len(self.outputs) if out is None else out
        listed = list(given) if isinstance(given, tuple | list) else [given]
        if len(listed) != len(self.outputs):
            raise TaichiRuntimeTypeError(
                f"{self.__name__}: out= names {len(listed)} arrays for {len(self.outputs)} outputs"
            )
        made = []
        for one, array in zip(self.outputs, listed):
            shape = self._sizes.shape(one.shape, sizes)
            if array is None:
                array = np.empty(shape, one.dtype.numpy)
            self._sizes.check(self.__name__, one, array, shape)
            made.append(array)
        return made

    def _array(self, one: Defined, sizes: Sequence[int], results: Sequence[Any]) -> Any:
        if one.output is not None:
            return results[one.output]
        shape = tuple(extent(sizes) for extent in one.extents)
        spare = self._spare.get((shape, one.dtype.name))
        return spare.pop() if spare else np.empty(shape, one.dtype.numpy)

    def _give_back(self, compiled: Compiled, defined: Sequence[Any]) -> None:
        for one, array in zip(compiled.defined, defined):
            if one.output is None:
                self._spare.setdefault((array.shape, one.dtype.name), []).append(array)

    @in_turn
    def _compile(self, current: Program) -> Compiled:
        compiled = self._made(current)
        self._compiled = compiled
        return compiled

    def _made(self, current: Program) -> Compiled:
        with context(), self.module.operation.location:
            module = copy_of(self.module)
            run_pipeline(module.operation, f"builtin.module({SIMPLIFY})")
            (function,) = functions(module.operation)
            entry = entry_of(function)
            _copy_what_is_given(entry)
            *ops, last = block_operations(entry)
            outputs = list(last.operands)
            defined = [
                _defined(op, outputs, len(self.inputs), entry)
                for op in ops
                if te.defines_tensor(op)
            ]
            arrays = [
                *(_argument(one.dtype, one.ndim) for one in self.inputs),
                *(_argument(one.dtype, one.rank) for one in defined),
            ]
            run_pipeline(module.operation, f"builtin.module({LOWER})")
        kernel = KernelModule(module, self.__name__, False, (), None, tuple(arrays))
        return Compiled(current, Variant(kernel, current, []), defined)


def _copy_what_is_given(entry: ir.Block) -> None:
    """Let every output have a definition of its own: inputs, and what is an output twice, are
    copied."""
    end = block_operations(entry)[-1]
    known: set[ir.Value] = set(entry.arguments)
    for position, value in enumerate(list(end.operands)):
        if value in known:
            with before(end):
                end.operands[position] = _copy(value)
        known.add(value)


def _copy(value: ir.Value) -> ir.Value:
    type_ = ir.RankedTensorType(value.type)
    axes = [axis for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]
    sizes = [b.make("tensor.dim", b.index_type(), [value, b.index(axis)]) for axis in axes]
    return te.compute("copy", type_, sizes, lambda indices: te.read(value, indices))


def _argument(dtype: DataType, rank: int) -> NdarrayArgument:
    return NdarrayArgument(dtype, rank, (), False, is_cut=True)


def _defined(op: ir.Operation, outputs: Sequence[ir.Value], first: int, entry: ir.Block) -> Defined:
    places = [k for k, value in enumerate(outputs) if value == op.results[0]]
    type_ = ir.RankedTensorType(op.results[0].type)
    dtype = dtype_of_type(type_.element_type)
    if places:
        return Defined(dtype, type_.rank, (), places[0])
    arguments: dict[ir.Value, int] = {v: k - first for k, v in enumerate(entry.arguments)}
    sizes = iter(op.operands)
    extents = tuple(
        evaluator(next(sizes), arguments)
        if type_.is_dynamic_dim(axis)
        else _constant(type_.get_dim_size(axis))
        for axis in range(type_.rank)
    )
    return Defined(dtype, type_.rank, extents, None)


def _constant(value: int) -> Callable[[Sequence[int]], int]:
    return lambda sizes: value
