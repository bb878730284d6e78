"""Make kernels of functions over memrefs: every memref becomes a view of an array.

What a function takes and gives is passed in arrays: a memref is an array, a float an array of no
axes, a result an array behind the arguments. Allocations become arrays of the function too, so
that a reverse can restore what they held; one in a parallel loop, which its iterations would share,
is refused. Integers are passed as they are. Each parameter says what it stands for:

    field.role = ["argument", 0]    the function's argument of that number
    field.role = ["result", 0]      its result of that number
    field.role = ["buffer"]         an allocation, which may hold anything at first
    field.role = ["constant", @w]   a `memref.global`

Extents that the type of a result or a buffer leaves open are affine functions of extents of other
parameters and of integers: `field.extents = [affine_map<()[s0] -> (s0 + 1)>, [[0, 1]]]` is one more
than axis 1 of parameter 0.

Two arguments are taken to be different memory, as `llvm.noalias` has it: who calls the function
checks it. Expects functions without calls, in which only loops and branches of `scf` hold other
operations, over scalars: no tensor, vector or complex number. With `gradients`, arrays of floats
are marked as having gradients; without, those of arguments that are marked `field.needs_grad`, and
then those of results and buffers.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.requirements import is_private, structured_functions
from mlirad.ir.walk import functions
from mlirad.passes.functions.raise_memrefs_to_arrays.operations import Body

REQUIRES = (structured_functions,)


def raise_memrefs_to_arrays(module: ir.Operation, *, gradients: bool = False) -> None:
    """Let every public function use arrays in place of memrefs, floats, results and allocations."""
    for function in functions(module):
        if not is_private(function):
            body = Body(function)
            body.rewrite()
            body.parameters.sign(gradients=gradients)
