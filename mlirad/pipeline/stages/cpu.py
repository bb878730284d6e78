"""The pipelines, as text that `mlirad-opt` replays. Each stage's input is what the stage before
leaves."""

from __future__ import annotations

from typing import Annotated

from mlirad.ir.limits import Range, Threads, Worth

NORMALISE = (
    "func.func(mem2reg),canonicalize,cse,expand-derivatives,func.func(mem2reg),hoist-loads,canonicalize,cse,"
    "mark-rounding,mark-poles"
)
REVERSE = (
    "check-races,check-access-rules,mark-collisions,mark-footprints,mark-flows,differentiate-reverse{option},"
    "canonicalize,cse"
)
COLLISIONS = (
    "{verdicts}insert-collision-checks{{tangents={tangents}}},canonicalize,cse,"
    "hoist-loads,canonicalize,cse"
)
FORWARD = "differentiate-forward{{tangents={tangents} constant={constant}}},canonicalize,cse"
STORE = "lower-grad-logs,lower-grad-to-memref,hoist-loads,canonicalize,cse"
CHECK_BOUNDS, CHECK_ACCESS, CHECK_FINITE = (
    "insert-bounds-checks",
    "insert-access-checks",
    "insert-finite-checks",
)

LOWER_CPU = (
    "inline-custom-gradients,lower-field-random,lower-field-assert,lower-field-print,split-scatter-loops,"
    "canonicalize,cse,"
    "mark-private-updates{{threads={threads}}},insert-private-copies{{threads={threads}}},"
    "split-parallel-loops{{threads={threads} worth={worth}}},func.func(mem2reg),canonicalize,cse,"
    "lower-field-to-memref,hoist-buffers,canonicalize,cse"
)
TARGET_CPU = (
    "{fast}arith-expand,math-expand-ops{{ops=asin,acos}},convert-math-to-funcs,convert-scf-to-openmp,"
    "convert-scf-to-cf,"
    "expand-strided-metadata,lower-affine,convert-vector-to-llvm,finalize-memref-to-llvm,convert-math-to-llvm,convert-math-to-libm,"
    "convert-openmp-to-llvm,convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,canonicalize,cse,"
    "reconcile-unrealized-casts,mark-disjoint-accesses"
)
LANES, FUSE, FAST = "split-sums,", "merge-products,", "insert-fast-math,"

LOWER_CUDA = (
    "inline-custom-gradients,lower-field-random,lower-field-assert,lower-field-print{gpu=true},"
    "mark-private-updates{every-axis=true},"
    "split-serial-code,lower-parallel-to-gpu,lower-field-to-memref,hoist-buffers,canonicalize,cse"
)
TARGET_CUDA = (
    "{fast}arith-expand,lower-math-to-intrinsics,convert-math-to-funcs,sink-descriptors,"
    "gpu-kernel-outlining,mark-kernel-arguments,"
    "gpu.module(convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-gpu-to-nvvm,convert-to-llvm,"
    "canonicalize,cse,reconcile-unrealized-casts),"
    "hoist-allocas,mark-relaxed-atomics"
)
FAST_CUDA = FUSE + "insert-fast-math{flags=reassoc+contract+arcp+nsz},"

STAGES = ("field", "normal", "derived", "memref", "target")


def cpu_stages(
    *,
    reverse: bool = False,
    tangents: Annotated[int, Range(0, 4096)] = 0,
    constant: bool = False,
    threads: Threads = 1,
    worth: Worth = 100_000,
    fast_math: bool = True,
    check_bounds: bool = False,
    check_access: bool = False,
    check_finite: bool = False,
    fused: bool = True,
) -> list[tuple[str, str]]:
    """The stages behind `field`, each with the pipeline that leads to it.

    A reverse repeats the accesses that its primal has checked, and checks only what it writes
    itself. With `tangents`, the primal, or the reverse, computes its tangents too (in `constant`
    code they are zero). `fused`: the target has fused multiply-adds.
    """
    finite = f",{CHECK_FINITE}" if check_finite else ""
    forward = [FORWARD.format(tangents=tangents, constant=str(constant).lower())] * (tangents > 0)
    marked = ["mark-collisions{tangents=true}"] * (tangents > 0 and not constant)
    if reverse:
        backward = REVERSE.format(option="{again=true}" * (tangents > 0))
        stages = [
            ("normal", NORMALISE),
            ("derived", ",".join([backward, *forward, STORE]) + finite),
        ]
    else:
        checks = [CHECK_BOUNDS] * check_bounds + [CHECK_ACCESS] * check_access
        inline = ["inline-custom-gradients"] * (
            tangents == 0
        )  # nothing to differentiate: the values are enough
        stages = [("normal", ",".join([*inline, NORMALISE, *checks]) + finite)]
        stages += [("derived", ",".join([*marked, *forward, STORE]))] * (tangents > 0)
    return _lowered(stages, threads, worth, (LANES + FUSE * fused + FAST) * fast_math)


def collision_stages(
    *,
    tangents: bool = False,
    threads: Threads = 1,
    worth: Worth = 100_000,
    fast_math: bool = True,
    fused: bool = True,
) -> list[tuple[str, str]]:
    """The stages of the check that iterations do not meet: for the reverse of a kernel, or for its
    `tangents`."""
    verdicts = "" if tangents else "check-access-rules,"
    check = COLLISIONS.format(verdicts=verdicts, tangents=str(tangents).lower())
    return _lowered(
        [("normal", NORMALISE), ("derived", check)],
        threads,
        worth,
        (LANES + FUSE * fused + FAST) * fast_math,
    )


def _lowered(
    stages: list[tuple[str, str]], threads: int, worth: int, fast: str
) -> list[tuple[str, str]]:
    stages = [
        *stages,
        ("memref", LOWER_CPU.format(threads=threads, worth=worth)),
        ("target", TARGET_CPU.format(fast=fast)),
    ]
    return [(name, f"builtin.module({text})") for name, text in stages]


def cuda_stages(
    *, reverse: bool = False, fast_math: bool = True, check_bounds: bool = False
) -> list[tuple[str, str]]:
    """The stages behind `field` on the way to PTX; `target` holds the kernels as NVVM, and the
    host's launches."""
    stages = cpu_stages(reverse=reverse, check_bounds=check_bounds)[:-2]
    lowered = [
        ("memref", LOWER_CUDA),
        ("target", TARGET_CUDA.format(fast=FAST_CUDA if fast_math else "")),
    ]
    return stages + [(name, f"builtin.module({text})") for name, text in lowered]


def join(stages: list[tuple[str, str]]) -> str:
    """One pipeline of several stages."""
    return (
        "builtin.module(" + ",".join(text[len("builtin.module(") : -1] for _, text in stages) + ")"
    )
