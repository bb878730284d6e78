"""The stages on the way to GPU code: as PTX, as AMD's, and as the same kernels run by a CPU."""

from __future__ import annotations

from mlirad.pipeline.mode import PRIMAL, Mode
from mlirad.pipeline.stages.cpu import target_stage
from mlirad.pipeline.stages.derivation import derivation
from mlirad.pipeline.stages.stage import Stage

OUTLINED = "outlined"  # the last stage that all GPU targets share
PAGED_FROM = 1 << 26  # bytes of a sparse tree that a GPU has in pages
_LOWER = (
    "inline-custom-gradients,insert-active-lists{{every-axis=true}},lower-ordered-loops,lower-field-random,lower-field-assert,lower-field-print{{gpu=true}},"
    "lower-block-threads,gather-pair-updates{{fast={fast}}},gather-shifted-updates,canonicalize,cse,mark-private-updates{{every-axis=true}},"
    "insert-size-counts,lower-logs-to-stacks,lower-thread-memory,func.func(mem2reg),canonicalize,cse,"
    "insert-first-updates,split-serial-code,sink-clears,merge-iterations,{tiles}split-reductions,split-axis-reductions,sink-updates,"
    "insert-thread-copies,func.func(mem2reg),sink-unused-loads,"
    "lower-parallel-to-gpu,{paged}lower-field-to-memref{{alignment=256}},hoist-buffers,canonicalize,cse"
)
_MARK_PAGED = "mark-paged-fields{{least={}}},"
_OUTLINE = (
    "{fast}convert-math-to-funcs,sink-descriptors,gpu-kernel-outlining,mark-kernel-arguments,"
    "canonicalize,cse,narrow-inductions{paged},canonicalize,cse"
)
_LOWER_PAGED = ",lower-paged-fields"
_FAST = "merge-products,insert-fast-math{signed-divisors=true},"
_TILES = "tile-block-contractions,split-pair-sums,sink-updates,func.func(mem2reg),split-row-loops,"
_NVVM = (
    "check-gpu-recursion,"
    "lower-warp-reductions,lower-floor-divisions,arith-expand,lower-math-to-intrinsics,"
    "gpu.module(convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-gpu-to-nvvm,convert-to-llvm,"
    "canonicalize,cse,reconcile-unrealized-casts),"
    "hoist-allocas,mark-relaxed-atomics"
)
_ROCDL = (
    "check-gpu-recursion,"
    "check-printed-text,lower-block-reductions,lower-group-shuffles,lower-grid-sizes,"
    "lower-floor-divisions,arith-expand,"
    "lower-reciprocal-roots,lower-math-to-intrinsics{target=amdgpu},convert-math-to-rocdl,"
    "gpu.module(convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-gpu-to-rocdl,"
    "convert-to-llvm,canonicalize,cse,reconcile-unrealized-casts),"
    "hoist-allocas,insert-address-spaces,mark-relaxed-atomics{scope=agent},mark-device-atomics"
)


def gpu_stages(
    mode: Mode = PRIMAL,
    *,
    fast_math: bool = True,
    check_bounds: bool = False,
    keeps: bool = False,
    paged_from: int | None = None,
) -> list[Stage]:
    """The stages behind `field`; `outlined` holds the kernels as `gpu.func`, and the host's
    launches of them. Sparse trees of `paged_from` bytes or more are in pages, if any are."""
    mark, lower = "", ""
    if paged_from is not None:
        mark, lower = _MARK_PAGED.format(paged_from), _LOWER_PAGED
    return [
        *derivation(mode, check_bounds=check_bounds, store=False, keeps=keeps),
        Stage(
            "memref",
            _LOWER.format(fast=str(fast_math).lower(), tiles=_TILES * fast_math, paged=mark),
        ),
        Stage(OUTLINED, _OUTLINE.format(fast=_FAST * fast_math, paged=lower)),
    ]


def cuda_stages(
    mode: Mode = PRIMAL,
    *,
    fast_math: bool = True,
    check_bounds: bool = False,
    keeps: bool = False,
    paged_from: int | None = PAGED_FROM,
) -> list[Stage]:
    """The stages behind `field`; `target` holds the kernels as NVVM, and the host's launches."""
    return [
        *gpu_stages(
            mode,
            fast_math=fast_math,
            check_bounds=check_bounds,
            keeps=keeps,
            paged_from=paged_from,
        ),
        Stage("target", _NVVM),
    ]


def rocm_stages(
    mode: Mode = PRIMAL, *, fast_math: bool = True, check_bounds: bool = False
) -> list[Stage]:
    """The stages behind `field`; `target` holds the kernels as ROCDL, and the host's launches."""
    return [
        *gpu_stages(mode, fast_math=fast_math, check_bounds=check_bounds),
        Stage("target", _ROCDL),
    ]


def simt_stages(
    mode: Mode = PRIMAL,
    *,
    fast_math: bool = True,
    check_bounds: bool = False,
    keeps: bool = False,
    order: str = "ascending",
    debug_info: bool = False,
) -> list[Stage]:
    """The stages behind `field`; `target` runs the kernels of `outlined` on a CPU, its threads in
    an order."""
    # `outlined` has its flags
    target = target_stage(fast_math=False, lines_of=mode if debug_info else None)
    return [
        *gpu_stages(mode, fast_math=fast_math, check_bounds=check_bounds, keeps=keeps),
        Stage(target.name, f"run-threads-in-loops{{order={order}}},{target.passes}"),
    ]
