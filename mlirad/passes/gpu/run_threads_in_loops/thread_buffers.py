"""Memory for what the threads of a block keep while they wait for one another: an element a
thread."""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import pointer_type
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import before


class ThreadBuffers:
    """Allocates buffers for a launch, of as many elements as a block has threads."""

    def __init__(self, threads: ir.Value, first: ir.Operation, last: ir.Operation) -> None:
        self._threads, self._first, self._last = threads, first, last

    def make(self, type_: ir.Type, op: ir.Operation) -> ir.Value:
        """A buffer for values of a type. Raises TaichiCompilationError, at an operation, for those
        that memory cannot hold."""
        if not is_storable(type_):
            refuse(op, f"threads wait for one another while each has a '{type_}'")
        element = b.integer_type(64) if type_ == pointer_type() else type_
        with before(self._first):
            return self._allocate(element, self._threads)

    def make_rows(self, size: int) -> ir.Value:
        """A buffer of some bytes a thread."""
        with before(self._first):
            return self._allocate(b.integer_type(8), b.mul(self._threads, b.index(size)))

    def _allocate(self, element: ir.Type, size: ir.Value) -> ir.Value:
        buffer = b.alloc(ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], element), [size])
        with before(self._last):
            b.dealloc(buffer)
        return buffer


def is_storable(type_: ir.Type) -> bool:
    """Return whether a buffer can hold a value."""
    numbers = ir.IntegerType | ir.IndexType | ir.FloatType | ir.VectorType
    return isinstance(type_, numbers) or type_ == pointer_type()


def write(value: ir.Value, buffer: ir.Value, thread: ir.Value) -> None:
    """Keep a value for a thread, at the insertion point."""
    if value.type == pointer_type():
        value = b.ptrtoint(value, b.integer_type(64))
    b.write(value, buffer, [thread])


def read(type_: ir.Type, buffer: ir.Value, thread: ir.Value) -> ir.Value:
    """The value that is kept for a thread, at the insertion point."""
    value = b.read(buffer, [thread])
    return b.inttoptr(value, type_) if type_ == pointer_type() else value
