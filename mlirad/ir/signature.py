"""Labels of the parameters of a kernel, from the frontend to the launch.

    func.func @f(%a: !field.array<f32, [-1]> {field.argument = 0}, %n: i32 {field.argument = 1})

becomes, with tangents and lowered,

    func.func @f(%p: !llvm.ptr {field.argument = 0, field.array = !field.array<f32, [-1]>},
                 %e: index {field.argument = 0, field.extent = 0}, %n: i32 {field.argument = 1},
                 %t: !llvm.ptr {field.argument = 0, field.tangent = 0, field.array = ...}, ...,
                 %x: !llvm.ptr {field.symbol = @x}, %r: !llvm.ptr {field.results = [f32]})

A pass that adds parameters labels them by one of the functions here; a pass that replaces a
parameter hands its label on. Hand-written functions may have no labels: they are not launched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.ir.walk import block_operations, entry_of

_ARGUMENT, _EXTENT, _TANGENT = "field.argument", "field.extent", "field.tangent"
_ADJOINT, _RESULTS, _ERRORS = "field.adjoint", "field.results", "field.errors"
_WRITTEN, _ARRAY = "field.written", "field.array"
_FIELD, _CHECKS = "field.symbol", "field.checks"
NEEDS_GRAD = "field.needs_grad"  # an array with an adjoint
_SCRATCH, _RESULT, _BEGUN = "field.scratch", "field.result", "field.begun"
_WORKERS, _OWN, _SHARED = "field.workers", "field.own", "field.shared"
_PAGES = "field.pages"
# of a `snode.place` and of an address: one of paged memory (see `ir/memory/pages.py`)
PAGED = "field.paged"

# of a field's address: how many elements lie between those of one number of its first axis and the
# next, where no other number's are among them
SLAB = "field.slab"
# of pointers, as LLVM knows them
NOALIAS, ALIGN = "llvm.noalias", "llvm.align"

Attributes = dict[str, ir.Attribute]


class Argument(msgspec.Struct, frozen=True):
    """A scalar of a launch, the address of an array, or, of an `extent`, one of its sizes.

    Arguments are numbered as the kernel's function takes them before it is lowered. The array may
    be that of the argument's adjoint, and one of its, or of the adjoint's, tangents; `is_written`
    is known of its address.
    """

    number: int
    extent: int | None = None
    is_adjoint: bool = False
    tangent: int | None = None
    is_written: bool = False


class FieldAddress(msgspec.Struct, frozen=True):
    """The address of a field, perhaps one of paged memory."""

    symbol: str
    is_paged: bool = False


class CheckBits(msgspec.Struct, frozen=True):
    """The address of a byte for each element of a field (see `insert-access-checks`), which belong
    to the thread."""

    symbol: str


class Begun(msgspec.Struct, frozen=True):
    """The address of a byte: 1 where a field counts as 0 before the launch, whatever memory holds,
    and the launch sets all of it; or a box of it (see `insert-first-updates`)."""

    symbol: str
    is_box: bool = False


class Results(msgspec.Struct, frozen=True):
    """The address of 8 bytes for each result."""


class Errors(msgspec.Struct, frozen=True):
    """The address of the record of failures (see `lower-field-assert`)."""


class Result(msgspec.Struct, frozen=True):
    """The address of the 8 bytes of one result."""

    number: int


class Scratch(msgspec.Struct, frozen=True):
    """The address of so many bytes that belong to the launch."""

    size: int


class WorkersState(msgspec.Struct, frozen=True):
    """The address of the state of the threads that share parallel loops."""


class Pages(msgspec.Struct, frozen=True):
    """The address of the header of all pages; whether the launch `may_take` some."""

    may_take: bool


Label = (
    Argument
    | FieldAddress
    | CheckBits
    | Begun
    | Results
    | Errors
    | Result
    | Scratch
    | WorkersState
    | Pages
)


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a lowered kernel: its type, and what it is for."""

    type: str
    label: Label


Signature = tuple[Parameter, ...]


# Labels of new parameters.


def argument_label(number: int) -> Attributes:
    """The label of an argument of a kernel's function."""
    return {_ARGUMENT: _integer(number)}


def own_label() -> Attributes:
    """The label of an array that only the launch itself uses."""
    return {_OWN: ir.UnitAttr.get()}


def is_own(label: Attributes) -> bool:
    """Return whether only the launch itself uses an array."""
    return _OWN in label


def shared_label(number: int) -> Attributes:
    """The label of memory by which the parts of a kernel share a local, as an argument of its
    function."""
    return {**argument_label(number), _SHARED: ir.UnitAttr.get()}


def is_shared(label: Attributes) -> bool:
    """Return whether an argument is memory by which the parts of a kernel share a local."""
    return _SHARED in label


def extent_label(array: Attributes, axis: int) -> Attributes:
    """The label of one of the extents of an array, whose label is given."""
    labels = {name: array[name] for name in (_ARGUMENT, _ADJOINT, _TANGENT) if name in array}
    return {**labels, _EXTENT: _integer(axis)} if _ARGUMENT in labels else {}


def written_label(array: Attributes) -> Attributes:
    """Return the addition to the label of the address of an array that the kernel may write to."""
    return {_WRITTEN: ir.UnitAttr.get()} if _ARGUMENT in array else {}


def array_label(array: Attributes, type_: ir.Type) -> Attributes:
    """Return the addition to the label of the address of an array of a type."""
    return {_ARRAY: ir.TypeAttr.get(type_)} if _ARGUMENT in array else {}


def array_type_of(label: Attributes) -> ir.Type | None:
    """Return the type of the array whose address has a label, if it says so."""
    return ir.TypeAttr(label[_ARRAY]).value if _ARRAY in label else None


def adjoint_label(array: Attributes) -> Attributes:
    """The label of the adjoint of an array."""
    labels = {_ARGUMENT: array[_ARGUMENT]} if _ARGUMENT in array else {}
    return {**labels, _ADJOINT: ir.UnitAttr.get()}


def tangent_label(array: Attributes, number: int) -> Attributes:
    """The label of tangents of an array, or of an adjoint."""
    labels = {name: array[name] for name in (_ARGUMENT, _ADJOINT) if name in array}
    return {**labels, _TANGENT: _integer(number)}


def field_label(place: ir.Operation) -> Attributes:
    """The label of the address of a field, by its `snode.place`: that may be marked as memory of
    the launch, which the runtime has no field for."""
    paged = {PAGED: place.attributes[PAGED]} if PAGED in place.attributes else {}
    for name in (_ERRORS, _CHECKS, _BEGUN, _RESULT, _SCRATCH):
        if name in place.attributes:
            return {name: place.attributes[name], **paged}
    symbol = ir.StringAttr(place.attributes["sym_name"]).value
    return {_FIELD: ir.FlatSymbolRefAttr.get(symbol), **paged}


def is_field(label: Attributes) -> bool:
    """Return whether a label is that of a field of the program: it lies in its tree."""
    return _FIELD in label


def results_label(types: Iterable[ir.Type]) -> Attributes:
    """The label of the address of results of some types."""
    return {_RESULTS: ir.ArrayAttr.get([ir.TypeAttr.get(type_) for type_ in types])}


def result_types_of(label: Attributes) -> list[ir.Type]:
    """Return the types of the results whose address has a label."""
    listed = list(ir.ArrayAttr(label[_RESULTS])) if _RESULTS in label else []
    return [ir.TypeAttr(item).value for item in listed]


def workers_label() -> Attributes:
    """The label of the address of the state of the threads that share parallel loops."""
    return {_WORKERS: ir.UnitAttr.get()}


def pages_label(*, may_take: bool) -> Attributes:
    """The label of the address of the header of all pages, for a launch that may take some."""
    return {_PAGES: ir.BoolAttr.get(may_take)}


def paged_label() -> Attributes:
    """Return the addition to the label of an address of paged memory."""
    return {PAGED: ir.UnitAttr.get()}


def checked_symbol(mark: Attributes) -> str | None:
    """Return the field whose check bits a `snode.place` is marked as."""
    return ir.FlatSymbolRefAttr(mark[_CHECKS]).value if _CHECKS in mark else None


def marked_as_errors() -> Attributes:
    """Return the mark of the `snode.place` of the record of failures."""
    return {_ERRORS: ir.UnitAttr.get()}


def marked_as_checks(symbol: str) -> Attributes:
    """Return the mark of the `snode.place` of a field's check bits."""
    return {_CHECKS: ir.FlatSymbolRefAttr.get(symbol)}


def marked_as_begun(symbol: str, *, is_box: bool = False) -> Attributes:
    """Return the mark of the `snode.place` that says whether a field, or a box of it, counts as
    0."""
    name = ir.FlatSymbolRefAttr.get(symbol)
    return {_BEGUN: ir.ArrayAttr.get([name]) if is_box else name}


def is_begun(mark: Attributes) -> bool:
    """Return whether a `snode.place` says whether a field counts as 0."""
    return _BEGUN in mark


def marked_as_result(number: int) -> Attributes:
    """Return the mark of the `snode.place` of a result."""
    return {_RESULT: _integer(number)}


def marked_as_scratch(size: int) -> Attributes:
    """Return the mark of the `snode.place` of scratch bytes of a launch."""
    return {_SCRATCH: _integer(size)}


# Reading.


def result_number_of(mark: Attributes) -> int | None:
    """Return the number of the result that a `snode.place` is marked as."""
    return _number(mark, _RESULT)


def function_type(function: ir.Operation) -> ir.FunctionType:
    """The type of a function."""
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def set_signature(
    function: ir.Operation, results: Iterable[ir.Type], labels: Sequence[Attributes] = ()
) -> None:
    """Give a function the type of its block's arguments and of results, and labels, if any."""
    inputs = [argument.type for argument in entry_of(function).arguments]
    type_ = ir.FunctionType.get(inputs, list(results))
    function.attributes["function_type"] = ir.TypeAttr.get(type_)
    if labels:
        function.attributes["arg_attrs"] = label_parameters(labels)["arg_attrs"]


def parameter_attributes(function: ir.Operation) -> list[Attributes]:
    """The attributes of every parameter of a function."""
    if "arg_attrs" not in function.attributes:
        return [{} for _ in _parameter_types(function)]
    labels = ir.ArrayAttr(function.attributes["arg_attrs"])
    return [{item.name: item.attr for item in ir.DictAttr(label)} for label in labels]


def is_marked(function: ir.Operation, number: int, name: str) -> bool:
    """Return whether the parameter of a function with a number has an attribute."""
    if "arg_attrs" not in function.attributes:
        return False
    return name in ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[number])


def drop_marks(function: ir.Operation, name: str) -> None:
    """Take a mark off all parameters of a function."""
    labels = [
        {key: value for key, value in label.items() if key != name}
        for label in parameter_attributes(function)
    ]
    for key, attribute in label_parameters(labels).items():
        function.attributes[key] = attribute


def label_parameters(labels: Iterable[Attributes]) -> Attributes:
    """The attribute of a function that labels its parameters."""
    return {"arg_attrs": ir.ArrayAttr.get([ir.DictAttr.get(label) for label in labels])}


def argument_numbers(function: ir.Operation) -> dict[int, int]:
    """The numbers of a kernel's scalar arguments, by their positions."""
    labels = enumerate(parameter_attributes(function))
    return {
        position: ir.IntegerAttr(attributes[_ARGUMENT]).value
        for position, attributes in labels
        if _ARGUMENT in attributes and not {_EXTENT, _TANGENT, _ADJOINT} & attributes.keys()
    }


def signature_of(module: ir.Operation, name: str) -> Signature:
    """The parameters of a kernel of a module, which is lowered and was labeled."""
    symbol = ir.StringAttr.get(name, module.context)
    inside = block_operations(module.regions[0].blocks[0])
    return signature_of_function(next(op for op in inside if op.attributes["sym_name"] == symbol))


def signature_of_function(function: ir.Operation) -> Signature:
    """The parameters of a lowered kernel, which was labeled."""
    return tuple(
        Parameter(str(type_), _label(attributes))
        for type_, attributes in zip(_parameter_types(function), parameter_attributes(function))
    )


def _parameter_types(function: ir.Operation) -> list[ir.Type]:
    """The types of the parameters of a function of `func`, or one with a body."""
    if len(function.regions[0].blocks):
        return [argument.type for argument in entry_of(function).arguments]
    return list(function_type(function).inputs)


def _label(attributes: Mapping[str, ir.Attribute]) -> Label:
    if _ARGUMENT in attributes:
        number, extent, tangent = (
            _number(attributes, name) for name in (_ARGUMENT, _EXTENT, _TANGENT)
        )
        assert number is not None
        return Argument(number, extent, _ADJOINT in attributes, tangent, _WRITTEN in attributes)
    if _RESULTS in attributes:
        return Results()
    if _ERRORS in attributes:
        return Errors()
    if _WORKERS in attributes:
        return WorkersState()
    if _PAGES in attributes:
        return Pages(ir.BoolAttr(attributes[_PAGES]).value)
    if _CHECKS in attributes:
        return CheckBits(ir.FlatSymbolRefAttr(attributes[_CHECKS]).value)
    if _BEGUN in attributes:
        is_box = isinstance(attributes[_BEGUN], ir.ArrayAttr)
        name = ir.ArrayAttr(attributes[_BEGUN])[0] if is_box else attributes[_BEGUN]
        return Begun(ir.FlatSymbolRefAttr(name).value, is_box)
    if _RESULT in attributes:
        return Result(ir.IntegerAttr(attributes[_RESULT]).value)
    if _SCRATCH in attributes:
        return Scratch(ir.IntegerAttr(attributes[_SCRATCH]).value)
    assert _FIELD in attributes, f"a parameter of a kernel has no label: {dict(attributes)}"
    return FieldAddress(ir.FlatSymbolRefAttr(attributes[_FIELD]).value, PAGED in attributes)


def _number(attributes: Mapping[str, ir.Attribute], name: str) -> int | None:
    return ir.IntegerAttr(attributes[name]).value if name in attributes else None


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
