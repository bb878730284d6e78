"""The function that is the derivative of another: memory for what the kernel takes, and the
kernel's derivative on it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import forget_derivatives
from mlirad.ir.ops import Memref
from mlirad.ir.requirements import COPYING_STAGES, KERNEL_STAGES, Request, Requests, is_private
from mlirad.ir.walk import block_operations, functions, operations
from mlirad.passes.derivative.expand_derivatives.called import (
    declare_functions,
    keep_calls,
    restore_calls,
)
from mlirad.passes.derivative.expand_derivatives.forward_function import ForwardFunction
from mlirad.passes.derivative.expand_derivatives.function_frame import Frame
from mlirad.passes.derivative.expand_derivatives.kernel import Kernel
from mlirad.passes.derivative.expand_derivatives.log_sizes import give_logs_room
from mlirad.passes.derivative.expand_derivatives.reached import (
    Stop,
    module_of_function,
    reached_functions,
)
from mlirad.passes.derivative.expand_derivatives.reverse_function import ReverseFunction
from mlirad.passes.derivative.expand_derivatives.target import Kind, Target

_INLINE = "builtin.module(lift-cf-to-scf,lower-foreign-ops,inline{default-pipeline=cse})"
_SERIAL = "builtin.module(serialize-inner-loops{outer=true},canonicalize,cse)"
_CHECKS = {
    Kind.JVP: "builtin.module(check-races,mark-collisions{tangents=true})",
    Kind.VJP: "builtin.module(check-races,check-access-rules,mark-collisions)",
}
_COLLISIONS = "grad.collisions"
_SWEEPS = {
    Kind.JVP: "builtin.module(differentiate-forward,canonicalize,cse)",
    Kind.VJP: "builtin.module(check-access-rules,differentiate-reverse{again=true},"
    "canonicalize{top-down=false},cse)",
}
_STACKS = "builtin.module({counts}lower-logs-to-stacks,lower-grad-to-memref)"
_COUNTS = "insert-size-counts,"
_TIDY = "func.func(mem2reg,canonicalize,cse)"
_FRAMES: dict[Kind, type[Frame]] = {Kind.JVP: ForwardFunction, Kind.VJP: ReverseFunction}


def derive(target: Target, called: Sequence[Target], stops_at: Stop) -> Requests:
    """Add the derivative to the module, behind the function; `called` are derivatives that it calls
    for functions, at which what is inlined stops."""
    kernel = yield from _kernel(target, called, stops_at)
    inside = kernel.module
    primal = inside.clone(ip=False)
    yield Request(inside, _SWEEPS[target.kind])
    forget_derivatives(inside)
    for module in (primal, inside):
        restore_calls(module, called)
    is_known = give_logs_room(_public(inside))
    yield Request(inside, _STACKS.format(counts="" if is_known else _COUNTS))
    with ir.InsertionPoint.after(target.primal), target.primal.location:
        type_ = target.type
        function = b.function(target.name, type_.inputs, type_.results)
    constants = [op for op in _symbols(inside) if op.name == Memref.GLOBAL]
    _FRAMES[target.kind](target, function, kernel, constants).fill(_public(inside), _public(primal))
    yield Request(function, _TIDY)


def _kernel(
    target: Target, called: Sequence[Target], stops_at: Stop
) -> Generator[Request, None, Kernel]:
    """Return the kernel whose loops are parallel as far as they may be: no iteration needs what
    others overwrite, and none may write what another one does. Where loops overwrite what others
    need because tensors share buffers, these do not."""
    raised = partial(_raised, target, called, stops_at)
    kernel = yield from raised(KERNEL_STAGES)
    if (yield from _may_be_parallel(kernel, target.kind)):
        return kernel
    if any(map(_is_on_tensors, reached_functions(target.primal, stops_at=stops_at))):
        copying = yield from raised(COPYING_STAGES)
        if (yield from _may_be_parallel(copying, target.kind)):
            return copying
    yield Request(kernel.module, _SERIAL)
    return kernel


def _raised(
    target: Target, called: Sequence[Target], stops_at: Stop, stages: str
) -> Generator[Request, None, Kernel]:
    module = module_of_function(target.primal, stops_at).operation
    if called:
        declare_functions(module, called)
        yield Request(module, _INLINE)
        keep_calls(module, called)
    yield Request(module, stages)
    kernel = Kernel(module, _public(module), target)
    kernel.mark()
    return kernel


def _may_be_parallel(kernel: Kernel, kind: Kind) -> Generator[Request, None, bool]:
    trial = kernel.module.clone(ip=False)
    try:
        yield Request(trial, _CHECKS[kind])
    except TaichiCompilationError:
        return False
    return _COLLISIONS not in _public(trial).attributes


def _is_on_tensors(function: ir.Operation) -> bool:
    return any(
        isinstance(value.type, ir.RankedTensorType)
        for op in operations(function)
        for value in (*op.operands, *op.results)
    )


def _symbols(module: ir.Operation) -> list[ir.Operation]:
    return block_operations(module.regions[0].blocks[0])


def _public(module: ir.Operation) -> ir.Operation:
    (function,) = [op for op in functions(module) if not is_private(op)]
    return function
