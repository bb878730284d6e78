"""The stages from a function that anyone wrote to a kernel on arrays."""

from __future__ import annotations

from mlirad.analysis.derivatives.differentiable import differentiable_in_reverse
from mlirad.bindings import ir
from mlirad.pipeline.stages.stage import Stage

_BUFFERS = (
    "lower-packed-tensors,lower-tensor-gathers,lower-softmax,convert-elementwise-to-linalg,"
    "insert-destinations,mark-read-only-tensors,"
    "one-shot-bufferize{{bufferize-function-boundaries=true copy-before-write={copies} "
    "function-boundary-type-conversion=identity-layout-map}}"
)
_CALLS = (
    "lift-cf-to-scf,lower-integer-loops,lower-foreign-ops,symbol-dce,expand-derivatives{recursion=true},"
    "inline-foreign-calls,"
    "lower-integer-powers,inline{default-pipeline=cse},symbol-dce,lower-index-switches,"
    "check-divisors"
)
# `lower-affine` is before all that folds: a bound of a loop that never runs would be folded to none
_LOOPS = (
    "func.func(affine-parallelize),lower-affine,canonicalize,cse,convert-linalg-to-parallel-loops,"
    "lower-affine,scf-forall-to-parallel,check-divisors,lower-sine-cosine-pairs,"
    "lower-float-classes,"
    "func.func(math-expand-ops{ops=clampf}),"
    "convert-math-to-funcs{min-width-of-fpowi-exponent=1},lift-cf-to-scf,inline,symbol-dce"
)
_SCALARS = (
    "scalarize-vectors,scalarize-complex,canonicalize,cse,func.func(mem2reg),"
    "func.func(math-extend-to-supported-types{extra-types=f16}),"
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32},canonicalize,cse"
)
_ARRAYS = (
    "serialize-inner-loops,lower-chosen-memrefs,widen-bf16-memory,"
    "raise-memrefs-to-arrays{{gradients={gradients}}},func.func(mem2reg),canonicalize,cse,"
    "raise-sums-to-updates,insert-integer-guards,insert-depth-checks"
)


DEFINITIONS = (
    "lift-cf-to-scf,lower-foreign-ops,inline-foreign-calls,lower-integer-powers,"
    "inline{default-pipeline=cse},symbol-dce,check-divisors,"
    "lower-sine-cosine-pairs,func.func(math-expand-ops{ops=clampf}),"
    "lower-packed-tensors,lower-tensor-gathers,convert-elementwise-to-linalg,"
    "linalg-generalize-named-ops,lower-float-classes,canonicalize,cse,raise-linalg-to-te,"
    "insert-integer-guards"
)


def function_stages(*, gradients: bool = False, copies: bool = False) -> list[Stage]:
    """Return the stages in front of `field`: calls are inlined, branches are structured, tensors
    are buffers, structured operations are loops, and memrefs are arrays, with gradients if these
    are asked for. With `copies`, each tensor has a buffer of its own, which nothing overwrites."""
    return [
        Stage("buffers", f"{_CALLS},{_BUFFERS.format(copies=str(copies).lower())}"),
        Stage("loops", _LOOPS),
        Stage("scalars", _SCALARS),
        Stage("arrays", _ARRAYS.format(gradients=str(gradients).lower())),
    ]


def require_derivatives(module: ir.Module) -> None:
    """Raise TaichiCompilationError at the first op of a kernel, made by these stages, that would
    lose a derivative in either mode: both pass through the same values."""
    with module.context:
        differentiable_in_reverse(module.operation)
