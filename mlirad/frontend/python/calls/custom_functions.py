"""Calls of functions with derivatives of their own: one op, with regions for the value and for its
derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect.grad import CustomOp, yield_
from mlirad.errors import SourceLocation, TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.building.builder import mlir_type
from mlirad.frontend.python.calls.parameters import Binding, Bindings
from mlirad.frontend.python.places.arrays import Array
from mlirad.frontend.python.places.place import Place
from mlirad.frontend.python.places.variables import Variable
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.translation.translator import Translator
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.leaves import kind_of, leaves, like, widest
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Expr
from mlirad.frontend.python.values.struct import Struct, members_of
from mlirad.types import DataType, i64

Inline = Callable[[Function, Bindings], Any]


class _Arguments:
    """The arguments of one call, by kind: floats, integers, and what is known while compiling."""

    def __init__(self, function: Function, bindings: Bindings) -> None:
        self.values: Bindings = {}
        self.dtypes: dict[str, list[DataType]] = {}
        operands: dict[str, list[Expr]] = {}
        for name in [a.arg for a in function.source.node.args.args]:
            binding = bindings[name]
            if isinstance(binding.value, list) and binding.value and not binding.by_reference:
                binding = Binding(Matrix(binding.value))
            _check_argument(function, name, binding)
            self.values[name] = binding
            if not binding.by_reference and _is_at_run_time(binding.value):
                subject = f"'{function.__name__}': argument '{name}'"
                operands[name] = leaves(binding.value, subject)
                self.dtypes[name] = [leaf.dtype for leaf in operands[name]]
        self.floats = [name for name, dtypes in self.dtypes.items() if dtypes[0].is_float]
        self.integers = [name for name in self.dtypes if name not in self.floats]
        self.dtype = (
            widest(dtype for name in self.floats for dtype in self.dtypes[name])
            if self.floats
            else i64
        )
        self.operands = [
            ex.cast(leaf, self.dtype).value for name in self.floats for leaf in operands[name]
        ]
        self.count = len(self.operands)
        self.operands += [
            ex.cast(leaf, i64).value for name in self.integers for leaf in operands[name]
        ]
        self.types = [operand.type for operand in self.operands]

    def from_block(self, values: Sequence[ir.Value]) -> Bindings:
        """The arguments, as the first values of a block."""
        result: Bindings = {}
        scalars = iter(values)
        for names, dtype in ((self.floats, self.dtype), (self.integers, i64)):
            for name in names:
                result[name] = Binding(self.value_like(name, scalars, dtype))
        return {name: result.get(name, binding) for name, binding in self.values.items()}

    def value_like(self, name: str, values: Iterator[ir.Value], dtype: DataType) -> Any:
        """A value of the shape and type of an argument, from values of a type."""
        return like(
            self.values[name].value,
            [ex.cast(Expr(next(values), dtype), d) for d in self.dtypes[name]],
        )


class _Result:
    """The result of the function: its structure, and its scalars."""

    def __init__(self, function: Function, value: object) -> None:
        if value is None:
            raise TaichiSyntaxError(
                f"'{function.__name__}' has its own derivatives, but returns nothing"
            )
        self.value = tuple(value) if isinstance(value, list) else value
        self.outputs = self.value if isinstance(self.value, tuple) else (self.value,)
        self.leaves = leaves(
            self.value, f"the result of '{function.__name__}', which has its own derivatives,"
        )
        if not all(leaf.dtype.is_float for leaf in self.leaves):
            raise TaichiTypeError(
                f"'{function.__name__}' has its own derivatives, so it must return floats, not "
                f"{next(leaf.dtype for leaf in self.leaves if not leaf.dtype.is_float)}"
            )
        self.dtype = widest(leaf.dtype for leaf in self.leaves)
        self.types = [mlir_type(self.dtype)] * len(self.leaves)

    def from_block(self, values: Sequence[ir.Value]) -> Any:
        return like(
            self.value,
            [ex.cast(Expr(v, self.dtype), leaf.dtype) for v, leaf in zip(values, self.leaves)],
        )


def call_custom(t: Translator, function: Function, bindings: Bindings, inline: Inline) -> Any:
    """Translate a call to one `grad.custom`; without a float argument, inline it.

    Raises TaichiTypeError or TaichiSyntaxError, at the function in question, if a derivative
    takes or returns something else than it has to.
    """
    arguments = _Arguments(function, bindings)
    if not arguments.floats:
        return inline(function, bindings)
    draft = ir.Operation.create(CustomOp.OPERATION_NAME, [], arguments.operands, regions=3)
    with _compute_only(t, function.__name__):
        with _region(t, function, draft, 0, arguments.types) as values:
            result = _Result(function, inline(function, arguments.from_block(values)))
            yield_([ex.cast(leaf, result.dtype).value for leaf in result.leaves])
        _translate_derivatives(t, function, draft, arguments, result, inline)
    sizes = [arguments.count, len(arguments.operands) - arguments.count]
    op = ir.Operation.create(
        CustomOp.OPERATION_NAME,
        result.types,
        arguments.operands,
        {
            "function": ir.StringAttr.get(function.__name__),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes),
        },
        regions=3,
    )
    for source, target in zip(draft.regions, op.regions):
        for body in list(source.blocks):
            body.append_to(target)
    draft.erase()
    return result.from_block(list(op.results))


def _translate_derivatives(
    t: Translator,
    function: Function,
    draft: ir.Operation,
    arguments: _Arguments,
    result: _Result,
    inline: Inline,
) -> None:
    if function.vjp is not None:
        vjp = Function(function.vjp.function, function.owner)
        types = [*arguments.types, *result.types, *result.types]
        with _region(t, vjp, draft, 1, types) as values:
            yield_([v.value for v in _adjoints(arguments, result, vjp, inline, values)])
    if function.jvp is not None:
        jvp = Function(function.jvp.function, function.owner)
        types = [*arguments.types, *result.types, *arguments.types[: arguments.count]]
        with _region(t, jvp, draft, 2, types) as values:
            yield_([v.value for v in _tangents(arguments, result, jvp, inline, values)])


@contextmanager
def _region(
    t: Translator, function: Function, op: ir.Operation, number: int, types: Sequence[ir.Type]
) -> Iterator[list[ir.Value]]:
    """Fill a region with a function that sees nothing but the values of some types."""
    block = ir.Block.create_at_start(op.regions[number], list(types), [op.location] * len(types))
    with ir.InsertionPoint(block), t.builder.enter_isolated(function.__name__):
        yield list(block.arguments)


@contextmanager
def _compute_only(t: Translator, name: str) -> Iterator[None]:
    """Translate code that only computes: memory, printing and random numbers are refused, no loop
    is parallel."""
    outer, in_parallel = t.builder.custom, t.in_parallel
    t.builder.custom, t.in_parallel = name, True
    try:
        yield
    finally:
        t.builder.custom, t.in_parallel = outer, in_parallel


def _adjoints(
    arguments: _Arguments, result: _Result, vjp: Function, inline: Inline, values: list[ir.Value]
) -> list[Expr]:
    """The adjoints of the float arguments, in the type of `grad.custom`'s floats."""
    first, count = len(arguments.operands), len(result.leaves)
    bindings = [
        *arguments.from_block(values[:first]).values(),
        Binding(result.from_block(values[first : first + count])),
        Binding(result.from_block(values[first + count :])),
    ]
    names = arguments.floats
    returned = inline(
        vjp, _bind(vjp, bindings, "its arguments, its result and the adjoint of the result")
    )
    if len(names) == 1 and not isinstance(returned, tuple):
        returned = (returned,)
    if not isinstance(returned, tuple | list) or len(returned) != len(names):
        raise TaichiTypeError(
            f"'{vjp.__name__}' returns {_count(returned)} adjoints, expected {len(names)}, of "
            f"{_list_names(names)}{_note_without_adjoints(arguments)}",
            _place(vjp),
        )
    flat: list[Expr] = []
    for name, adjoint in zip(names, returned):
        flat += _leaves_like(vjp, f"the adjoint of '{name}'", adjoint, arguments.values[name].value)
    return [ex.cast(leaf, arguments.dtype) for leaf in flat]


def _tangents(
    arguments: _Arguments, result: _Result, jvp: Function, inline: Inline, values: list[ir.Value]
) -> list[Expr]:
    """The tangents of the results, in the type of `grad.custom`'s results."""
    first, count = len(arguments.operands), len(result.leaves)
    scalars = iter(values[first + count :])
    bindings = [
        *arguments.from_block(values[:first]).values(),
        Binding(result.from_block(values[first : first + count])),
    ]
    bindings += [
        Binding(arguments.value_like(n, scalars, arguments.dtype)) for n in arguments.floats
    ]
    parameters = f"its arguments, its result and the tangents of {_list_names(arguments.floats)}"
    returned = inline(jvp, _bind(jvp, bindings, parameters))
    if not isinstance(result.value, tuple):
        returned = (returned,)
    if not isinstance(returned, tuple | list) or len(returned) != len(result.outputs):
        raise TaichiTypeError(
            f"'{jvp.__name__}' returns {_count(returned)} tangents, expected "
            f"{len(result.outputs)}, one for each result",
            _place(jvp),
        )
    flat: list[Expr] = []
    for number, (output, tangent) in enumerate(zip(result.outputs, returned)):
        flat += _leaves_like(jvp, f"the tangent of result {number}", tangent, output)
    return [ex.cast(leaf, result.dtype) for leaf in flat]


def _bind(rule: Function, bindings: Sequence[Binding], parameters: str) -> Bindings:
    """The parameters of a derivative by name."""
    names = [a.arg for a in rule.source.node.args.args]
    if len(names) != len(bindings):
        raise TaichiSyntaxError(
            f"'{rule.__name__}' takes {len(names)} arguments, expected {len(bindings)}: those of "
            f"the function, {parameters.removeprefix('its arguments, ')}",
            _place(rule),
        )
    return dict(zip(names, bindings))


def _leaves_like(rule: Function, subject: str, value: object, model: object) -> list[Expr]:
    """The scalars of a value that has to have the shape of another; None stands for zeros."""
    if value is None:
        return [ex.expression(0.0)] * len(leaves(model, subject))
    if isinstance(value, list):
        value = Matrix(value)
    if kind_of(value) != kind_of(model):
        raise TaichiTypeError(
            f"'{rule.__name__}' returns {kind_of(value)} as {subject}, expected {kind_of(model)}",
            _place(rule),
        )
    return leaves(value, subject)


def _count(returned: object) -> int:
    return len(returned) if isinstance(returned, tuple | list) else int(returned is not None)


def _place(rule: Function) -> SourceLocation:
    return rule.source.place_of(rule.source.node)


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _note_without_adjoints(arguments: _Arguments) -> str:
    """A note for messages on arguments that have no adjoint."""
    constants = [
        name
        for name, binding in arguments.values.items()
        if name not in arguments.floats and not binding.by_reference
    ]
    return f" (here {_list_names(constants)} is not a float and has none)" if constants else ""


def _check_argument(function: Function, name: str, binding: Binding) -> None:
    """Raise TaichiTypeError for an argument that is neither a value nor known while compiling."""
    value = binding.value
    if isinstance(value, Array):
        reason = "is an array: pass the elements that it reads"
    elif binding.by_reference and (isinstance(value, Variable | Place) or _is_at_run_time(value)):
        reason = (
            "is passed by reference (ti.template()) but is known only at run time: pass it by value"
        )
    elif isinstance(value, tuple) and any(_is_at_run_time(item) for item in value):
        reason = "is a tuple of values: pass them one by one, or as a vector"
    else:
        return
    raise TaichiTypeError(
        f"'{function.__name__}' has its own derivatives, but its argument '{name}' {reason}"
    )


def _is_at_run_time(value: object) -> bool:
    """Return whether a value is an operand: an Expr, or any float."""
    if isinstance(value, Matrix):
        return any(_is_at_run_time(entry) for entry in value.entries)
    if isinstance(value, Struct):
        return any(_is_at_run_time(member) for member in members_of(value).values())
    return isinstance(value, Expr | float) or (
        ex.is_scalar(value) and not isinstance(value, int) and ex.dtype_of(value).is_float
    )
