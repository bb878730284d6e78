"""A kernel's syntax tree and its arguments to a module: layout, function, body."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from mlirad.bindings import ir
from mlirad.dialect.field import array_type
from mlirad.errors import TaichiCompilationError, TaichiSyntaxError
from mlirad.frontend.python.building.builder import Anchor, Builder, building, constant, mlir_type
from mlirad.frontend.python.building.captures import Capture
from mlirad.frontend.python.calls import call  # noqa: F401 - registers a node handler
from mlirad.frontend.python.places.array_arguments import ArrayArgument, ClampedArray
from mlirad.frontend.python.places.arrays import drop_unused_extents, extent
from mlirad.frontend.python.places.struct_places import make_local
from mlirad.frontend.python.places.triplets import Triplets
from mlirad.frontend.python.source.function_source import FunctionSource
from mlirad.frontend.python.source.jumps import returns_early
from mlirad.frontend.python.translation import (  # noqa: F401 - they register the node handlers
    choices,
    comprehensions,
    expressions,
    loops,
    statements,
)
from mlirad.frontend.python.translation.choices import joined_result
from mlirad.frontend.python.translation.packs import is_member, packs_of
from mlirad.frontend.python.translation.scopes import Flag, Frame
from mlirad.frontend.python.translation.statements import visit_block
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values.leaves import build_value, form_of, leaves
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct
from mlirad.ir import build
from mlirad.ir.signature import Attributes, argument_label
from mlirad.ir.walk import entry_of, has_uses, owner_operation
from mlirad.kernel.arguments import (
    Argument,
    ConstantArgument,
    NdarrayArgument,
    SameArgument,
    gradient_of,
)
from mlirad.kernel.axis_order import in_index_order
from mlirad.kernel.form import Form
from mlirad.kernel.module import KernelModule
from mlirad.types import DataType, i64

IS_GRAPH = "__is_graph__"  # of a function whose kernel is a graph: True, or its checkpoints


def build_kernel(
    source: FunctionSource,
    function: Callable[..., object],
    arguments: Sequence[tuple[str, Argument]],
    return_type: Any,
    builder: Builder,
    declare: Callable[[], None],
) -> KernelModule:
    """Translate a kernel for one choice of argument types.

    `declare` adds the layout trees once the body is known. Raises TaichiCompilationError and its
    kin with the line.
    """
    node, place = source.node, source.place_of(source.node)
    with ir.Location.file(place.file, place.line, place.column), building(builder):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            kernel = _Kernel(source, function, builder, return_type)
            try:
                with _deep_recursion():
                    kernel.translate(arguments)
            except TaichiCompilationError as error:
                if error.source is not None:
                    raise
                raise error.at(place) from error.__cause__
            finally:
                builder.finish(node.name)
        with ir.InsertionPoint(module.body):
            declare()
    return KernelModule(
        module,
        node.name,
        builder.launch_seed is not None,
        tuple(kernel.results),
        kernel.result_form,
        tuple(kernel.arrays),
        tuple(builder.arrays),
        tuple(kernel.gradients),
        tuple(name for _, name in builder.captured.values()),
        unused=frozenset(kernel.unused),
        emptied=tuple(builder.emptied),
    )


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Let Python call deeper: a long sum is a deep tree, and functions are inlined into
    functions."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class _Passed(msgspec.Struct, frozen=True):
    """An array argument, or the gradient of one, which nothing may use."""

    name: str
    value: ir.Value
    argument: NdarrayArgument
    is_gradient: bool = False


class _Kernel:
    """The translation of a kernel."""

    def __init__(
        self,
        source: FunctionSource,
        function: Callable[..., object],
        builder: Builder,
        return_type: Any,
    ):
        self.source, self.function = source, function
        self.builder, self.return_type = builder, return_type
        self.results: list[DataType] = []
        self.result_form: Form | None = None
        self.passed: list[_Passed] = []
        self.gradients: list[str] = []  # the array arguments whose gradients it uses
        self.marks: list[Attributes] = []  # of the function's arguments
        self.members: set[str] = set()  # the parameters that belong to packs
        self.unused: list[str] = []  # the members of packs that it does not use

    @property
    def arrays(self) -> list[NdarrayArgument]:
        """The arrays that it takes."""
        return [passed.argument for passed in self.passed]

    def translate(self, arguments: Sequence[tuple[str, Argument]]) -> None:
        """Create the function at the insertion point."""
        name = self.source.node.name
        self.members = {parameter for parameter, _ in arguments if is_member(parameter)}
        op = build.function(name, [], is_private=False)
        self.builder.entry = entry = entry_of(op)
        self.builder.is_graph = hasattr(self.function, IS_GRAPH)
        t = Translator(self.builder)
        frame = Frame(name, self.source, True, self.return_type)
        t.frames.append(frame)
        with ir.InsertionPoint(entry):
            anchor = owner_operation(constant(0, i64))
            frame.entry_anchor = Anchor(anchor, self.builder.region, 0)
            self.builder.capture = partial(self._capture, frame)
            marks = self.marks
            for parameter, argument in arguments:
                frame.define(parameter, self._parameter(frame, entry, parameter, argument, marks))
            for name, pack in packs_of([parameter for parameter, _ in arguments], frame).items():
                frame.define(name, pack)
                t.runs_in_order |= isinstance(pack, Triplets) and pack.has_gradient
            if returns_early(self.source.node.body):
                frame.live = Flag()
            with self.builder.stream(lambda: constant(-1, i64)):
                self._translate_body(t)
            values = self._result_values(frame)
            build.return_([v.value for v in values])
        self.results = [v.dtype for v in values]
        self._put_seed_last(entry)
        self._drop_unused(entry, marks)
        marks += [{} for _ in range(len(entry.arguments) - len(marks))]
        op.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(
                [a.type for a in entry.arguments], [mlir_type(v.dtype) for v in values]
            )
        )
        if marks:
            labels = [{**mark, **argument_label(number)} for number, mark in enumerate(marks)]
            op.attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(ir.DictAttr.get, labels)))

    def _translate_body(self, t: Translator) -> None:
        checkpoints: Any = getattr(self.function, IS_GRAPH, True)
        if isinstance(checkpoints, bool):
            visit_block(t, self.source.node.body)
            return
        from mlirad.frontend.python.translation.checkpoints import Gate

        self.builder.gate = gate = Gate(checkpoints)
        visit_block(t, self.source.node.body)
        gate.finish()

    def _parameter(
        self, frame: Frame, entry: ir.Block, name: str, argument: Argument, marks: list[Attributes]
    ) -> Any:
        location = ir.Location.current
        if isinstance(argument, ConstantArgument):
            return argument.value
        if isinstance(argument, SameArgument):
            return frame.lookup(argument.name)
        if isinstance(argument, NdarrayArgument):
            needs_grad = argument.needs_grad and argument.dtype.is_float
            marks.append({"field.needs_grad": ir.UnitAttr.get()} if needs_grad else {})
            return self._array(entry, name, argument, needs_grad, marks)
        values = [
            Expr(entry.add_argument(mlir_type(dtype), location), dtype) for dtype in argument.dtypes
        ]
        marks += [{} for _ in values]
        value = build_value(argument.form, iter(values))
        is_variable = name in frame.source.mutable or isinstance(value, Struct)
        return make_local(value) if is_variable else value

    def _array(
        self,
        entry: ir.Block,
        name: str,
        argument: NdarrayArgument,
        needs_grad: bool,
        marks: list[Attributes],
    ) -> ArrayArgument:
        """An array, and behind it its gradient if it has one."""
        shape, layout = [-1] * argument.ndim + list(argument.element_shape), argument.layout
        type_ = array_type(mlir_type(argument.dtype), shape)
        value = entry.add_argument(type_, ir.Location.current)
        places = in_index_order(range(argument.ndim), layout)
        extents = tuple(extent(value, place) for place in places)
        kind = ClampedArray if argument.boundary == "clamp" else ArrayArgument
        array = kind(value, argument.dtype, extents, argument.element_shape, (), name)
        array.layout = layout
        self.passed.append(_Passed(name, value, argument))
        if needs_grad:
            marks.append({"field.gradient": ir.UnitAttr.get()})
            value = entry.add_argument(type_, ir.Location.current)
            array.gradient = replace(array, value=value, name=f"{name}.grad")
            self.passed.append(_Passed(name, value, gradient_of(argument), is_gradient=True))
        return array

    def _capture(self, frame: Frame, value: Any, argument: NdarrayArgument) -> ArrayArgument:
        """The array of the kernel that an ndarray is: an argument, or a hidden one behind these."""
        builder = self.builder
        if id(value) in builder.passed:
            builder.passed_captures[id(value)] = value
            array: ArrayArgument = frame.scopes[0][builder.passed[id(value)]]
            return array
        if id(value) not in builder.captured:
            places = builder.reads.captures(value) or [Capture("an array", value)]
            name = builder.capture_name(places[0])
            builder.captured[id(value)] = value, name
            assert builder.entry is not None
            with frame.entry_anchor.inserting():
                needs_grad = argument.needs_grad and argument.dtype.is_float
                self.marks.append({"field.needs_grad": ir.UnitAttr.get()} if needs_grad else {})
                array = self._array(builder.entry, name, argument, needs_grad, self.marks)
            frame.scopes[0][f"captured {name}"] = array
        array = frame.scopes[0][f"captured {builder.captured[id(value)][1]}"]
        return array

    def _put_seed_last(self, entry: ir.Block) -> None:
        """Move the argument that is the seed behind those of arrays that the body uses."""
        seed = self.builder.launch_seed
        if seed is not None and ir.BlockArgument(seed).arg_number + 1 < len(entry.arguments):
            last = entry.add_argument(seed.type, ir.Location.current)
            seed.replace_all_uses_with(last)
            entry.erase_argument(ir.BlockArgument(seed).arg_number)

    def _drop_unused(self, entry: ir.Block, marks: list[Attributes]) -> None:
        """Remove the arguments for gradients, and for members of packs, that nothing uses."""
        for position in reversed(range(len(self.passed))):
            passed = self.passed[position]
            if passed.is_gradient and has_uses(passed.value):
                self.gradients.append(passed.name)
            elif passed.is_gradient or (
                passed.name in self.members
                and passed.name not in self.gradients
                and drop_unused_extents(passed.value)
            ):
                number = ir.BlockArgument(passed.value).arg_number
                del self.passed[position], marks[number]
                entry.erase_argument(number)
                if not passed.is_gradient:
                    self.unused.append(passed.name)

    def _result_values(self, frame: Frame) -> list[Expr]:
        result = joined_result(frame)
        if result is None:
            if self.return_type is not None:
                raise TaichiSyntaxError(
                    "Kernel has a return type but does not have a return statement"
                )
            return []
        self.result_form = form_of(result)
        return leaves(result, "the result of a kernel")
