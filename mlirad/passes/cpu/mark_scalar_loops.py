"""Tell LLVM which innermost loops not to make vector code of: those of many stores whose lanes
would each lie in a cache line of their own.

LLVM's vectorizer scatters such lanes one by one, checks when the loop runs that the address ranges
of all accesses are apart, and leaves a loop of many times the size, whose accesses later passes
compare in pairs. In scalar code, neighbors within an iteration (the weights of a neuron) still
become vectors.
"""

from __future__ import annotations

from itertools import islice

from mlirad.analysis.linear import LinearForms
from mlirad.bindings import ir
from mlirad.ir.marks.loop_hints import keep_scalar
from mlirad.ir.ops import Memref
from mlirad.ir.structured import SERIAL_LOOPS, For, is_for
from mlirad.ir.walk import is_defined_in, operations

ONLY_MARKS = True
_SOUGHT = (Memref.STORE, *SERIAL_LOOPS)

MANY = 24  # stores
FAR = 16  # elements: a cache line of floats


def mark_scalar_loops(root: ir.Operation) -> None:
    """Keep LLVM from vectorizing innermost loops with many stores that are far apart."""
    for op in [op for op in operations(root) if is_for(op)]:
        inside = [inner for inner in operations(op) if inner.name in _SOUGHT]
        stores = [inner for inner in inside if inner.name == Memref.STORE]
        if len(stores) == len(inside):
            forms = LinearForms()
            far = (store for store in stores if _step(store, For(op), forms) >= FAR)
            if next(islice(far, MANY - 1, None), None) is not None:
                keep_scalar(op)


def _step(store: ir.Operation, loop: For, forms: LinearForms) -> int:
    """Return how many elements lie between what two trips that follow one another write."""
    _, memory, *indices = store.operands
    total = 0
    for index, stride in zip(indices, ir.MemRefType(memory.type).get_strides_and_offset()[0]):
        form = forms.form_of(index)
        if any(is_defined_in(name, loop.op) and name != loop.induction for name in form.names):
            return FAR
        total += form.coefficient(loop.induction) * stride
    return abs(total)
