"""The operations on memrefs, each as what it does to arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.grad import CustomOp
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir import build as b
from mlirad.ir.foreign_ops.registry import is_of_text, is_registered
from mlirad.ir.marks.roles import Role
from mlirad.ir.ops import Cf, Func, Memref
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    ancestors,
    before,
    block_operations,
    constant_integer,
    enclosing,
    has_uses,
    operations,
)
from mlirad.passes.functions.raise_memrefs_to_arrays.fresh_memory import (
    ByteView,
    byte_view,
    require_apart,
)
from mlirad.passes.functions.raise_memrefs_to_arrays.parameters import (
    Parameters,
    array_type,
    extents_of,
)
from mlirad.passes.functions.raise_memrefs_to_arrays.views import DYNAMIC, VIEWS, View, full_view


class Body:
    """The body of a function, its parameters so far, and the view that each memref is."""

    def __init__(self, function: ir.Operation) -> None:
        self.function, self.parameters = function, Parameters(function)
        self.views: dict[ir.Value, View] = {}
        self.byte_views: dict[ir.Value, list[ByteView]] = {}  # of each allocation

    def rewrite(self) -> None:
        """Replace every memref and what is done to it."""
        self.views.update(self.parameters.replace())
        replaced = []
        for op in list(operations(self.function)):
            _refuse_carried_memrefs(op)
            if op.name == Func.CALL and CustomOp.holds(enclosing(op)):
                continue  # of a function with a derivative of its own
            if op.name in _HANDLERS:
                with before(op):
                    _HANDLERS[op.name](self, op)
            elif op.name in VIEWS:
                with before(op):
                    self.views[op.results[0]] = VIEWS[op.name](self.view(op.operands[0], op), op)
            else:
                _refuse_memrefs(op)
                _refuse_foreign(op)
                continue
            replaced.append(op)
        for op in reversed(replaced):
            op.erase()

    def view(self, memref: ir.Value, op: ir.Operation) -> View:
        """Return what a memref is a view of."""
        if memref not in self.views:
            refuse(op, "a memref that a loop, a branch or a call gives: its memory is not known")
        return self.views[memref]


def _allocate(body: Body, op: ir.Operation) -> None:
    """Memory is a parameter: an array for all iterations, so not of a parallel loop."""
    type_ = array_type(ir.MemRefType(op.results[0].type), op)
    sizes = list(op.operands)
    if any(map(is_parallel, ancestors(op))):
        refuse(op, "an allocation in a parallel loop: iterations would share it")
    extents = extents_of(sizes, body.parameters, op) if sizes else None
    array = body.parameters.add(type_, Role.BUFFER, extents=extents, location=op.location)
    body.views[op.results[0]] = body.parameters.full_view(array)


def _view_bytes(body: Body, op: ir.Operation) -> None:
    """A view of bytes is memory of its own, or that of one that is alike."""
    view, earlier = byte_view(op), body.byte_views.setdefault(op.operands[0], [])
    alike = next((other for other in earlier if other.is_like(view)), None)
    if alike is not None:
        body.views[op.results[0]] = body.views[alike.op.results[0]]
        return
    require_apart(view, earlier)
    earlier.append(view)
    array = body.parameters.add(
        array_type(ir.MemRefType(op.results[0].type), op), Role.BUFFER, location=op.location
    )
    body.views[op.results[0]] = body.parameters.full_view(array)


def _extend(body: Body, op: ir.Operation) -> None:
    """Memory of another extent is other memory, which has what both have room for."""
    memref, *sizes = op.operands
    source = body.view(memref, op)
    if any(map(is_parallel, ancestors(op))):
        refuse(op, "an allocation in a parallel loop: iterations would share it")
    extents = extents_of(sizes, body.parameters, op) if sizes else None
    type_ = array_type(ir.MemRefType(op.results[0].type), op)
    target = body.parameters.full_view(
        body.parameters.add(type_, Role.BUFFER, extents=extents, location=op.location)
    )
    body.views[op.results[0]] = target
    shared = b.minsi(source.extents[0], target.extents[0])
    _copy_elements(View(source.array, [shared], source.place), target)


def _get_global(body: Body, op: ir.Operation) -> None:
    """A constant is a parameter, the same for each use."""
    name, parameters = ir.FlatSymbolRefAttr(op.attributes["name"]).value, body.parameters
    values = [p.value for p in parameters.all if p.role is Role.CONSTANT and p.source == name]
    if not values:
        _require_value(body, op, name)
        type_ = array_type(ir.MemRefType(op.results[0].type), op)
        values = [parameters.add(type_, Role.CONSTANT, name)]
    body.views[op.results[0]] = parameters.full_view(values[0])


def _require_value(body: Body, op: ir.Operation, name: str) -> None:
    assert body.function.parent is not None
    for symbol in block_operations(body.function.parent.operation.regions[0].blocks[0]):
        if symbol.name == Memref.GLOBAL and symbol_of(symbol) == name:
            values = [symbol.attributes[name] for name in symbol.attributes if name == _VALUE]
            if values and isinstance(values[0], ir.DenseElementsAttr):
                return
    refuse(op, f"'@{name}', whose elements are not known, expected a dense constant")


def _dim(body: Body, op: ir.Operation) -> None:
    """An extent of a view, by its axis."""
    extents = body.view(op.operands[0], op).extents
    axis = constant_integer(op.operands[1])
    if axis is not None and not 0 <= axis < len(extents):
        refuse(op, f"axis {axis} of a memref of {len(extents)} axes")
    if axis is not None:
        op.results[0].replace_all_uses_with(extents[axis])
        return
    extent, *sizes = extents
    for number, size in enumerate(sizes, 1):
        is_axis = b.compare(b.EQ, op.operands[1], b.index(number))
        extent = b.select(is_axis, size, extent)
    op.results[0].replace_all_uses_with(extent)


def _load(body: Body, op: ir.Operation) -> None:
    memref, *indices = op.operands
    view = body.view(memref, op)
    value = field.load(view.array, view.place(indices))
    is_index = isinstance(op.results[0].type, ir.IndexType)
    op.results[0].replace_all_uses_with(b.to_index(value) if is_index else value)


def _store(body: Body, op: ir.Operation) -> None:
    value, memref, *indices = op.operands
    view = body.view(memref, op)
    field.store(_element(value), view.array, view.place(indices))


def _update(body: Body, op: ir.Operation) -> None:
    """An atomic update of an element, of which nobody reads the result."""
    kind = _UPDATES.get(ir.IntegerAttr(op.attributes["kind"]).value)
    value, memref, *indices = op.operands
    if kind is None or has_uses(op.results[0]):
        refuse(op, f"'{op.name}' whose kind arrays have not, or whose result is used")
    view = body.view(memref, op)
    field.atomic(value, view.array, view.place(indices), kind=kind)


def _copy(body: Body, op: ir.Operation) -> None:
    source, target = (body.view(memref, op) for memref in op.operands)
    _copy_elements(source, target)


def _copy_elements(source: View, target: View, indices: Sequence[ir.Value] = ()) -> None:
    axis = len(indices)
    if axis == len(source.extents):
        value = field.load(source.array, source.place(indices))
        field.store(value, target.array, target.place(indices))
        return
    loop = b.for_loop(b.index(0), source.extents[axis], b.index(1))
    with ir.InsertionPoint(loop.body):
        _copy_elements(source, target, [*indices, loop.induction])
        b.yield_()


def _forget(body: Body, op: ir.Operation) -> None:
    """Leave out an op that arrays do not need."""


def _return(body: Body, op: ir.Operation) -> None:
    for number, value in zip(body.parameters.returned_results, op.operands):
        _give(body, number, value, op)
    b.return_()


def _give(body: Body, number: int, value: ir.Value, op: ir.Operation) -> None:
    """A result is stored to an array, or is one."""
    if not isinstance(value.type, ir.MemRefType):
        value = _element(value)
        if str(value.type) not in ELEMENT_SIZES:
            refuse(op, f"result {number} is a '{value.type}', which no array holds")
        array = body.parameters.add(field.array_type(value.type, []), Role.RESULT, number)
        field.store(value, array)
        return
    view = body.view(value, op)
    buffer = body.parameters.of(view.array, Role.BUFFER) if view.is_whole else None
    if buffer is not None:
        buffer.role, buffer.source = Role.RESULT, number
        return
    type_ = ir.MemRefType(value.type)
    sizes = [size for size, extent in zip(view.extents, type_.shape) if extent == DYNAMIC()]
    extents = extents_of(sizes, body.parameters, op) if sizes else None
    array = body.parameters.add(array_type(type_, op), Role.RESULT, number, extents)
    _copy_elements(view, full_view(array))


def _element(value: ir.Value) -> ir.Value:
    """Return a value as an element of an array."""
    is_index = isinstance(value.type, ir.IndexType)
    return b.index_cast(value, b.integer_type(64)) if is_index else value


def _refuse_call(body: Body, op: ir.Operation) -> None:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    refuse(op, f"a call of '@{name}' that cannot be inlined: it is recursive, or only declared")


def _refuse_pointer(body: Body, op: ir.Operation) -> None:
    refuse(op, f"'{op.name}': a function that is chosen while running is not known")


def _refuse_field(body: Body, op: ir.Operation) -> None:
    refuse(op, "a field: the memory of a function is what it is passed")


def _assert(body: Body, op: ir.Operation) -> None:
    """A condition that fails ends a launch with an error, and the process goes on."""
    text = ir.StringAttr(op.attributes["msg"]).value
    field.assert_(op.operands[0], field.escape_braces(text))


def _refuse_carried_memrefs(op: ir.Operation) -> None:
    inner = [block for region in op.regions for block in region.blocks]
    arguments = [argument for block in inner for argument in block.arguments]
    if any(isinstance(argument.type, ir.MemRefType) for argument in arguments):
        refuse(op, f"'{op.name}' carries a memref: its memory is not known")


def _refuse_memrefs(op: ir.Operation) -> None:
    if any(isinstance(value.type, ir.MemRefType) for value in (*op.operands, *op.results)):
        refuse(op, f"'{op.name}' on a memref has no counterpart on arrays")


def _refuse_foreign(op: ir.Operation) -> None:
    is_theirs = is_registered(op.name) or is_of_text(op.name)  # of a pass that comes later
    if not is_theirs and op.name.partition(".")[0] not in _DIALECTS:
        refuse(op, f"'{op.name}' is of a dialect that kernels are not compiled from")
    for result in op.results:
        if isinstance(result.type, ir.FloatType) and str(result.type) not in _FLOATS:
            refuse(op, f"a '{result.type}', expected one of {', '.join(_FLOATS)}")


_VALUE = "initial_value"  # of a `memref.global`
_DIALECTS = frozenset({"arith", "cf", "field", "func", "grad", "llvm", "math", "scf", "te", "ub"})
_FLOATS = ("f64", "f32", "f16", "bf16")
# by the number of `arith.atomic_rmw_kind`
_UPDATES = {0: "add", 1: "add", 3: "exchange", 4: "max", 8: "min", 12: "mul", 13: "mul"}
_HANDLERS: dict[str, Callable[[Body, ir.Operation], None]] = {
    Memref.ALLOC: _allocate,
    Memref.ALLOCA: _allocate,
    Memref.ATOMIC_RMW: _update,
    Memref.COPY: _copy,
    Memref.DEALLOC: _forget,
    Memref.DIM: _dim,
    Memref.GET_GLOBAL: _get_global,
    Memref.LOAD: _load,
    Memref.PREFETCH: _forget,
    Memref.REALLOC: _extend,
    Memref.STORE: _store,
    Memref.VIEW: _view_bytes,
    Cf.ASSERT: _assert,
    Func.CALL: _refuse_call,
    Func.CALL_INDIRECT: _refuse_pointer,
    Func.CONSTANT: _refuse_pointer,
    Func.RETURN: _return,
    field.GetOp.OPERATION_NAME: _refuse_field,
}
