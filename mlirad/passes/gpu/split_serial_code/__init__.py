"""Put the code between a kernel's parallel loops into parallel loops of one iteration, for machines
whose memory the host cannot reach.

Before: memory effects stand anywhere in a function. After: a function holds parallel loops,
arithmetic on its arguments that the host can do, and nothing else. Memory that it allocates is the
device's, and allocated by the host; sizes that the host does not know, and what `field.fetch`
names, are copied to it. A value that one loop makes and another uses goes through a cell in memory,
a field of the tree `$launch`; results are left in fields of the tree `$results`. A loop whose
bounds are known only in memory becomes one of a fixed number of iterations that stride over it.
Assumes that updates are marked: in a loop that was made to stride, no index can be shown to differ
between iterations.
"""

from collections.abc import Callable

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import DimOp, GetOp, array_of, element_type, is_array, is_load
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.box import for_each_index
from mlirad.ir.gpu.device_memory import is_of_device_memory
from mlirad.ir.gpu.striding import STRIDING_THREADS, one_axis, stride
from mlirad.ir.memory.launch_memory import result, scratch
from mlirad.ir.ops import Func, Memref
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.signature import set_signature
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    array_root,
    at_start,
    before,
    block_operations,
    enclosing,
    entry_of,
    functions,
    owner_operation,
    replace,
    users_of,
)
from mlirad.passes.gpu.split_serial_code.host_work import (
    FetchedValues,
    do_on_host,
    ends_use,
    is_host_work,
    unknown_operands,
    words_of_host,
)

Uses = list[tuple[ir.Operation, int]]

REQUIRES = KERNELS


def split_serial_code(module: ir.Operation) -> None:
    """Wrap serial code in parallel loops of one iteration; values that pass between loops go
    through cells in memory."""
    for function in functions(module):
        if not is_private(function):
            _Split(module, function).run()


class _Split:
    """One function."""

    def __init__(self, module: ir.Operation, function: ir.Operation) -> None:
        self.module, self.function = module, function
        self.entry = entry_of(function)
        self.words = words_of_host(module)

    def run(self) -> None:
        """Rewrite the function in place."""
        self._return_through_fields()
        for loop in reversed(self._wrap_serial_code()):
            for op in reversed(block_operations(_body(loop))):
                for value in list(op.results):
                    self._cross(value, op, loop)

    def _return_through_fields(self) -> None:
        terminator = block_operations(self.entry)[-1]
        with before(terminator):
            for number, value in enumerate(terminator.operands):
                field.store(value, result(self.module, value.type, number))
            b.return_()
        terminator.erase()
        set_signature(self.function, [])

    def _wrap_serial_code(self) -> list[ir.Operation]:
        """Move what the host cannot do into loops; what they make may be used outside of them
        meanwhile."""
        host: set[ir.Value] = set(self.entry.arguments)
        wrapped: list[ir.Operation] = []
        serial: list[ir.Operation] = []
        for op in block_operations(self.entry):
            is_known = all(value in host for value in op.operands)
            if is_parallel(op) or op.name == Func.RETURN:
                _wrap(serial, wrapped)
                if not is_known:
                    with before(op):
                        threads = b.index(STRIDING_THREADS)
                    stride(op, threads)
            elif is_host_work(op):
                host.update(_leave_to_host(op, unknown_operands(op, host), serial, wrapped))
            elif is_known and (self._runs_on_host(op) or is_of_device_memory(op)):
                host.update(op.results)
            else:
                serial.append(op)
        return wrapped

    def _runs_on_host(self, op: ir.Operation) -> bool:
        if is_load(op):
            return array_root(op.operands[0]) in self.words
        return not op.regions and (is_arithmetic(op) or GetOp.holds(op) or DimOp.holds(op))

    # Values that cross.

    def _users(self, value: ir.Value, loop: ir.Operation) -> list[tuple[ir.Operation, Uses]]:
        """The other loops that use a value, with the operands that do."""
        users: dict[ir.Operation, Uses] = {}
        for use in value.uses:
            op = top = use.owner.operation
            while enclosing(top) != self.function:
                top = enclosing(top)
            if top != loop:
                users.setdefault(top, []).append((op, use.operand_number))
        return list(users.items())

    def _cross(self, value: ir.Value, op: ir.Operation, loop: ir.Operation) -> None:
        users = self._users(value, loop)
        if is_array(value.type) and (users or array_of(value.type)[1]):
            self._share_cell(op)
        elif not users:
            return
        elif not isinstance(value.type, ir.MemRefType):
            self._share_scalar(value, users)
        elif op.name == Memref.ALLOCA:
            self._share_buffer(op)
        else:
            raise _gpu_error(op, f"the result of '{op.name}' cannot be shared between launches")

    def _share_cell(self, op: ir.Operation) -> None:
        """A cell, or an array, of one launch becomes a field, cleared where it was made."""
        type_ = op.results[0].type
        element, extents = element_type(type_), array_of(type_)[1]
        with at_start(self.entry, op.location):
            shared = scratch(self.module, element, extents)
        with before(op):
            zero, box = b.number(0, element), [b.index(extent) for extent in extents]
            for_each_index(box, lambda indices: field.store(zero, shared, indices))
        replace(op, [shared])

    def _share_buffer(self, op: ir.Operation) -> None:
        """A buffer of known size becomes a field."""
        type_ = ir.MemRefType(op.results[0].type)
        with at_start(self.entry, op.location):
            shared = scratch(self.module, type_.element_type, type_.shape)
        for user in users_of(op.results[0]):
            operands = list(user.operands)
            with before(user):
                if user.name == Memref.LOAD:
                    user.results[0].replace_all_uses_with(field.load(shared, operands[1:]))
                elif user.name == Memref.STORE:
                    field.store(operands[0], shared, operands[2:])
                else:
                    raise _gpu_error(
                        user, f"a buffer shared between launches cannot be used by '{user.name}'"
                    )
            user.erase()
        op.erase()

    def _share_scalar(self, value: ir.Value, users: list[tuple[ir.Operation, Uses]]) -> None:
        op = owner_operation(value)
        is_index = isinstance(value.type, ir.IndexType)
        element = b.integer_type(64) if is_index else value.type
        places = [op.location, *(user.location for user, _ in users)]  # constants may have none
        place = next((place for place in places if source_location(place) is not None), places[0])
        with at_start(self.entry, place):
            cell = scratch(self.module, element, [])
        with ir.InsertionPoint.after(op), op.location:
            word = b.index_cast(value, element) if is_index else value
            field.store(word, cell)

        def load_value() -> ir.Value:
            word = field.load(cell)
            return b.index_cast(word, value.type) if is_index else word

        _make_in(users, op.location, load_value)


def _make_in(
    users: list[tuple[ir.Operation, Uses]], location: ir.Location, make: Callable[[], ir.Value]
) -> None:
    """Make a value again at the start of every loop that uses it."""
    for loop, uses in users:
        with at_start(_body(loop), location):
            value = make()
        for op, number in uses:
            op.operands[number] = value


def _body(loop: ir.Operation) -> ir.Block:
    return loop.regions[0].blocks[0]


def _wrap(serial: list[ir.Operation], wrapped: list[ir.Operation]) -> None:
    """Move ops, if there are any, into a loop of one iteration."""
    if not serial:
        return
    with before(serial[-1]):
        loop = one_axis(b.index(1)).op
    end = block_operations(_body(loop))[-1]
    for op in serial:
        op.move_before(end)
    serial.clear()
    wrapped.append(loop)


def _leave_to_host(
    op: ir.Operation,
    unknown: list[ir.Value],
    serial: list[ir.Operation],
    wrapped: list[ir.Operation],
) -> list[ir.Value]:
    """Do an op on the host; what it does not know is fetched behind the code before it."""
    if not unknown:
        if ends_use(op):
            _wrap(serial, wrapped)
        return do_on_host(op, {})
    fetched = FetchedValues(unknown, op)
    serial += fetched.leave()
    _wrap(serial, wrapped)
    return do_on_host(op, fetched.take())


def _gpu_error(op: ir.Operation, message: str) -> TaichiCompilationError:
    return TaichiCompilationError(f"GPU code: {message}", source_location(op.location))
