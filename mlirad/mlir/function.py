"""A function of a module of MLIR, called on numbers and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect.turn import in_turn
from mlirad.errors import (
    SourceLocation,
    TaichiCompilationError,
    TaichiRuntimeTypeError,
    located,
)
from mlirad.ir.marks.roles import Role
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.module_text import TextForm, module_text
from mlirad.ir.walk import functions
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.kernel.array_arguments import copy_of
from mlirad.kernel.module import KernelModule
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.arguments.overlaps import are_apart, overlap
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch, gradient_positions
from mlirad.lang.kernels.read_only import check_writeable
from mlirad.lang.ndarray import MAX_EXTENT, Ndarray
from mlirad.mlir.allocations import new_array, new_memory
from mlirad.mlir.parameters import Parameter, Place, parameters_of
from mlirad.pipeline.mode import PRIMAL, REVERSE
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.functions import require_derivatives
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program, program
from mlirad.te.programs.bound_kernels import BoundKernels
from mlirad.te.programs.programs import TensorModule


class MlirFunction:
    """A function in MLIR: call it as `function(*arguments, out=None)`.

    A memref or tensor argument is an array of its shape and element type (NumPy, torch, or
    `ti.ndarray`), which the function may write. A float argument is a Python float, or an array
    without axes if derivatives pass through it. An integer argument is an integer. No two arrays
    may share memory. Results are NumPy arrays (without axes for numbers), or the arrays passed as
    `out`, in a list if there are several.

    Tapes, forward mode and checkpointed loops record calls like those of kernels.

    Raises:
        TaichiRuntimeTypeError: an argument does not fit.
    """

    def __init__(
        self, module: ir.Module, name: str, file: str, tensors: TensorModule | None = None
    ) -> None:
        self.__name__, self.module, self.file = name, module, file
        function, *_ = functions(module.operation)
        self._function, self.definitions = function, tensors  # if it is only these
        self.parameters = parameters_of(function, module.operation)
        by_role = {role: [p for p in self.parameters if p.role is role] for role in Role}
        self.arguments = sorted(by_role[Role.ARGUMENT], key=lambda parameter: parameter.source)
        self.results = sorted(by_role[Role.RESULT], key=lambda parameter: parameter.source)
        self._variant: Variant | None = None
        self._checked: set[Variant] = set()  # which lose no derivative

    @property
    def place(self) -> str:
        """Return the file and line where the function is defined."""
        return str(self._function.location)

    @property
    def line(self) -> SourceLocation | None:
        """Return the line where the function is defined, if there is one."""
        return source_location(self._function.location)

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        if len(arguments) != len(self.arguments):
            raise self._error(f"expected {len(self.arguments)} arguments, got {len(arguments)}")
        current = program()
        if current.trees.pending:
            current.trees.materialize()
        variant, is_recorded = self._variant_in(current), current.threads.recorder is not None
        values_of = {
            p.source: self._take(p, value, is_recorded)
            for p, value in zip(self.arguments, arguments)
        }
        results = self._results(values_of, out)
        buffers = [self._buffer(p, values_of, results, is_recorded) for p in self._arrays()]
        self._check_apart(buffers)
        check_writeable(variant, buffers, reverse=is_recorded)
        if is_recorded and (active := gradient_positions(variant, buffers)):
            variant = self._with_gradients(variant, active)
        values = [None if p.is_array else values_of[p.source] for p in self.parameters]
        Launch(self, variant, values, buffers).execute()
        if out is not None:
            return out
        return results[0] if len(results) == 1 else results or None

    def ir(self, stage: str = "field", *, reverse: bool = False, **form: bool) -> str:
        """Return the function at a stage of compilation, as text that `mlirad-opt` reads.

        Args:
            stage: a stage of kernels; a function that consists of definitions of tensors also has
                the stage "te".
            reverse: the reverse of the function.
            form: the keywords of `kernel.ir`, such as `locations`.

        Raises:
            ValueError: the stage is unknown.
        """
        if stage == "te" and self.definitions is not None:
            return module_text(self.module.operation, TextForm(**form))
        mode = REVERSE if reverse else PRIMAL
        return self._variant_in(program()).stages.dump(stage, mode, TextForm(**form))

    def result_shapes(self, arguments: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the results for some arguments."""
        values_of = {p.source: self._take(p, v, False) for p, v in zip(self.arguments, arguments)}
        return [self._shape(parameter, values_of) for parameter in self.results]

    def _arrays(self) -> list[Parameter]:
        return [parameter for parameter in self.parameters if parameter.is_array]

    def _take(self, parameter: Parameter, value: Any, with_gradient: bool) -> int | ArrayBuffer:
        """Return an argument as a launch passes it: an array that fits, or an integer."""
        name = f"argument {parameter.source}"
        if not parameter.is_array:
            try:
                return index(value)
            except TypeError:
                raise self._error(f"{name} is a {type(value).__name__}, expected an int") from None
        if not parameter.shape and isinstance(value, int | float | np.number):
            value = np.array(value, parameter.dtype.numpy)
        return self._checked_buffer(parameter, name, value, parameter.shape or (), with_gradient)

    def _checked_buffer(
        self,
        parameter: Parameter,
        name: str,
        array: Any,
        shape: Sequence[int],
        with_gradient: bool,
    ) -> ArrayBuffer:
        """Return the memory of an array. Raises TaichiRuntimeTypeError if it has not the type, or
        the extents that are known."""
        if (problem := _problem_of(array)) is not None:
            raise self._error(f"{name} {problem}")
        buffer = array_buffer(array, name, with_gradient)
        dims, dtype = tuple(buffer.dims), buffer.dtype
        if dtype != parameter.dtype.numpy:
            raise self._error(f"{name} is of {dtype}, expected {parameter.dtype}")
        fits = len(dims) == len(shape) and all(e in (-1, d) for d, e in zip(dims, shape))
        if not fits:
            expected = ", ".join("?" if extent < 0 else str(extent) for extent in shape)
            raise self._error(f"{name} has the shape {dims}, expected ({expected})")
        return buffer

    def _shape(
        self, parameter: Parameter, values_of: Mapping[int, int | ArrayBuffer]
    ) -> tuple[int, ...]:
        """Return the shape of a result or a buffer, by the integers and extents of arguments."""

        def size(place: Place) -> int:
            value = values_of[self.parameters[place[0]].source]
            return value if isinstance(value, int) else value.dims[place[1]]

        shape = parameter.shape_in(size)
        if not all(0 <= extent < MAX_EXTENT for extent in shape):
            raise _shape_error(self, parameter, shape)
        return shape

    def _results(self, values_of: Mapping[int, int | ArrayBuffer], out: Any) -> list[Any]:
        """Return the arrays of the results, new ones unless `out` names them."""
        if out is None:
            return [new_array(p, self._shape(p, values_of), self._place(p)) for p in self.results]
        arrays = list(out) if isinstance(out, tuple | list) else [out]
        if len(arrays) != len(self.results):
            raise self._error(f"out= names {len(arrays)} arrays for {len(self.results)} results")
        return arrays

    def _buffer(
        self,
        parameter: Parameter,
        values_of: Mapping[int, int | ArrayBuffer],
        results: Sequence[Any],
        with_gradient: bool,
    ) -> ArrayBuffer:
        """Return the memory of a parameter that is an array."""
        name = _name(parameter)
        if parameter.role is Role.ARGUMENT:
            value = values_of[parameter.source]
            assert isinstance(value, ArrayBuffer)
            return value
        if parameter.role is Role.CONSTANT:
            return array_buffer(parameter.value, name, False)
        shape = self._shape(parameter, values_of)
        if parameter.role is Role.RESULT:
            array = results[self.results.index(parameter)]
            return self._checked_buffer(parameter, name, array, shape, with_gradient)
        memory = new_memory(parameter, shape, self._place(parameter))
        return array_buffer(memory, name, with_gradient)

    def _check_apart(self, buffers: Sequence[ArrayBuffer]) -> None:
        if are_apart(buffers):
            return
        for k, buffer in enumerate(buffers):
            for other in buffers[:k]:
                if overlap(buffer, other):
                    raise self._error(f"{other.name} and {buffer.name} share memory: pass copies")

    def _place(self, parameter: Parameter) -> str:
        return f"{parameter.line or self.file}: @{self.__name__}: {_name(parameter)}"

    def _error(self, problem: str) -> TaichiRuntimeTypeError:
        return TaichiRuntimeTypeError(f"{self.file}: @{self.__name__}: {problem}")

    def _with_gradients(self, variant: Variant, active: Sequence[int]) -> Variant:
        """Return the kernel with gradients of arrays. Raises TaichiCompilationError if it would
        lose a derivative."""
        graded = variant.with_gradients(frozenset(active))
        if self.definitions is None and graded not in self._checked:
            require_derivatives(graded.kernel.module)
            if not _can_go_back(graded):
                graded = self._serial(variant, frozenset(active), graded)
            self._checked.add(graded)
        return graded

    def _serial(self, variant: Variant, active: frozenset[int], graded: Variant) -> Variant:
        """Return the kernel whose loops are serial, from now on, if its reverse can put back what
        loops overwrite, and else the parallel one, which forward mode runs."""
        module = self.module
        self.module, self._variant = _serial_copy(self.module), None
        serial = self._variant_in(variant.program).with_gradients(active)
        if _can_go_back(serial):
            return serial
        self.module, self._variant = module, variant
        return graded

    def _variant_in(self, current: Program) -> Variant:
        """Return the kernel in a program."""
        variant = self._variant
        if variant is None or variant.program is not current or variant.codes.is_stale:
            self._variant = variant = _variant_of(self, current)
            self._checked.clear()  # those of a program that has ended
        return variant


def _problem_of(array: Any) -> str | None:
    """Return why an object is no array that functions take, if so."""
    if isinstance(array, Field):
        return "is a field, expected an array, as a ti.ndarray"
    if isinstance(array, Ndarray) and array.layout is not None:
        return (
            f"has layout {array.layout}, expected an array with its axes in order: copy it to "
            "one by copy_from"
        )
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        return f"is a {type(array).__name__}, expected an array"
    return None


@in_turn
def _variant_of(function: MlirFunction, current: Program) -> Variant:
    """Return the kernel of a function in a program."""
    if function.definitions is not None:
        places = tuple(range(len(function.parameters)))
        return BoundKernels(function.definitions, current).on(places).variant
    arrays = tuple(
        NdarrayArgument(p.dtype, len(p.shape or ()), (), False)
        for p in function.parameters
        if p.is_array
    )
    module, name = copy_of(function.module), function.__name__
    return Variant(KernelModule(module, name, False, (), None, arrays), current, [])


@in_turn
def _serial_copy(module: ir.Module) -> ir.Module:
    """Return a module in which no loop is parallel."""
    with module.context:
        copy = copy_of(module)
        run_pipeline(copy.operation, "serialize-inner-loops{outer=true}")
    return copy


def _can_go_back(graded: Variant) -> bool:
    """Return whether a reverse can put back what a kernel overwrites."""
    try:
        for piece in graded.pieces():
            piece.notes.footprints()
    except TaichiCompilationError:
        return False
    return True


def _name(parameter: Parameter) -> str:
    """Return what messages call a parameter."""
    numbered = parameter.role in (Role.ARGUMENT, Role.RESULT)
    return f"{parameter.role} {parameter.source}" if numbered else f"a {parameter.role}"


def _shape_error(
    function: MlirFunction, parameter: Parameter, shape: tuple[int, ...]
) -> TaichiRuntimeTypeError:
    """Return the error for memory of a shape that none can have."""
    problem = f"@{function.__name__}: {_name(parameter)} would have the shape {shape}"
    return TaichiRuntimeTypeError(
        located(problem, parameter.line or SourceLocation(function.file, 1, 1))
    )
