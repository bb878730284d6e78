"""Cut a kernel into launches: its parallel loops, and the serial statements between them.

Where one loop of a kernel overwrites what the gradient of an earlier one needs, a tape launches the
parts one by one, so that it can keep what each overwrites. What is computed from arguments alone,
or read from memory that stays as it is, each part computes for itself; other locals are passed
from part to part (`shared_locals`). The last part returns what the kernel does.
"""

from typing import Annotated

from mlirad.bindings import ir
from mlirad.dialect.field import acts
from mlirad.dialect.grad import AllocOp
from mlirad.ir import build as b
from mlirad.ir.limits import Range
from mlirad.ir.requirements import KERNELS, is_private, refuse
from mlirad.ir.signature import set_signature
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import before, block_operations, entry_of, functions, has_uses, operations
from mlirad.passes.derivative.keep_launch.shared_locals import Parts, share_locals

REQUIRES = KERNELS


def keep_launch(module: ir.Operation, *, number: Annotated[int, Range(0, 1_000_000)] = 0) -> None:
    """Keep one launch of every public function, and the computation of its inputs."""
    for function in functions(module):
        if not is_private(function):
            launches = cut(function)
            if number >= len(launches):
                refuse(
                    function,
                    f"a function of {len(launches)} launches has none of number {number}, counted "
                    f"from 0",
                )
            if number < len(launches) - 1:
                _return_nothing(function)
            launch = set(launches[number])
            for op in reversed(block_operations(entry_of(function))[:-1]):
                if op not in launch and not any(has_uses(result) for result in op.results):
                    op.erase()


def cut(function: ir.Operation) -> Parts:
    """The launches of a function, which share no locals: the top-level operations with effects,
    each parallel loop alone, serial ones in runs. Raises TaichiCompilationError for a reverse that
    keeps values between them."""
    for op in block_operations(entry_of(function)):
        if AllocOp.holds(op):
            refuse(
                op,
                "the gradient of a gradient needs the loops of this kernel one by one, and "
                "it keeps values between them: put the loops into kernels of their own",
            )
    share_locals(function, _launches(function))
    return _launches(function)


def _launches(function: ir.Operation) -> Parts:
    launches: Parts = []
    serial = False
    for op in block_operations(entry_of(function)):
        if not acts(op) and not any(acts(inner) for inner in operations(op)):
            continue
        if is_parallel(op) or not serial:
            launches.append([])
        launches[-1].append(op)
        serial = not is_parallel(op)
    return launches


def _return_nothing(function: ir.Operation) -> None:
    end = block_operations(entry_of(function))[-1]
    if end.operands:
        with before(end):
            b.return_()
        end.erase()
        set_signature(function, [])
