"""What kernels do to memory: arrays, accesses, and what a kernel asks of its launch."""

from mlirad.dialect.field.arrays import (
    ArrayType,
    Field,
    array_of,
    array_type,
    element_type,
    is_array,
)
from mlirad.dialect.field.launch import ChunkOp, FetchOp, RandomOp, chunk, fetch, random
from mlirad.dialect.field.memory import (
    ARRAY_OPERAND,
    ATOMIC_KINDS,
    RECURSION,
    AllocaOp,
    AtomicOp,
    DimOp,
    GetOp,
    LoadOp,
    StoreOp,
    alloca,
    atomic,
    dim,
    get,
    is_access,
    is_atomic,
    is_load,
    is_read,
    is_store,
    is_write,
    load,
    makes_array,
    replaces,
    split_access,
    store,
)
from mlirad.dialect.field.texts import (
    AssertOp,
    PrintOp,
    SpellOp,
    WordType,
    assert_,
    escaped,
    is_report,
    print_,
    spell,
    spelled,
)
