"""The stages on the way to a CPU."""

from __future__ import annotations

import msgspec

from mlirad.pipeline.mode import PRIMAL, Mode
from mlirad.pipeline.stages.derivation import derivation
from mlirad.pipeline.stages.stage import Stage

_LOWER = (
    "inline-custom-gradients,insert-active-lists,{zeros}lower-ordered-loops,lower-field-random,lower-field-assert,lower-field-print,"
    "{tangents}gather-pair-updates{{fast={fast}}},split-scatter-loops,"
    "canonicalize,cse,reuse-loop-values,"
    "mark-private-updates{{threads={threads}}},insert-private-copies{{threads={threads}}},insert-first-updates{{rows=true}},mark-touched-rows,"
    "split-parallel-loops{{threads={threads} worth={worth}}},func.func(mem2reg),canonicalize,cse,"
    "merge-equal-functions,"
    "lower-field-to-memref,hoist-buffers,canonicalize,cse{loops}"
)
_ZEROS = "defer-zeros,"
_TANGENTS = "split-tangents,canonicalize,cse,"
_MANY = 8  # tangents
_GUARDS = ",split-guarded-loops{{width={width} fast={fast}}},canonicalize,cse"
WRITE_BUFFERS = ",insert-write-buffers{{width={width}}}"
_TAKEN = ",sink-taken-adjoints"
_IN_LANES = (
    ",sink-zero-guards{{width={width} fast={fast} always={always}}},"
    "insert-lanes{{width={width} fast={fast} always={always}}},canonicalize{{top-down=false}},cse"
)
_WORKERS = ",lower-parallel-to-workers{{threads={threads}}},canonicalize,cse"
_TARGET = (
    "reassociate-extremes,{fast}lower-small-exponentials,mark-scalar-loops,lower-floor-divisions,lower-half-casts,arith-expand{{include-bf16=true}},math-expand-ops{{ops=asin,acos}},convert-math-to-funcs,split-long-blocks,"
    "convert-scf-to-cf,"
    "expand-strided-metadata,lower-affine,finalize-memref-to-llvm,convert-math-to-llvm{{approximate-log1p=false}},convert-math-to-libm,convert-vector-to-llvm,"
    "convert-arith-to-llvm,convert-ub-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,finalize-memref-to-llvm,canonicalize,cse,"
    "reconcile-unrealized-casts,hoist-allocas,mark-disjoint-accesses,mark-unrefined-estimates,mark-internal-functions"
)
_TILES = (
    ",split-window-loops,canonicalize,cse,"
    "split-contractions,tile-contractions{{width={width} fused={fused}}}"
)
_FACTORS = "loop-invariant-code-motion,hoist-factors,"
_LANES, _FUSE = "split-sums,lower-constant-powers,", "merge-products,"
_FAST = "insert-fast-math,merge-root-quotients,"
_ROOTS = "insert-root-estimates,"
_ELEMENTARY = "expand-elementary{{library={library}}},"
_USUAL = 32  # bytes of a vector that LLVM uses wherever there are so many
_WIDTH = ",mark-vector-width{{width={width}}}"
_LINES = "mark-lines{{suffix={suffix}}},ensure-debug-info-scope-on-llvm-func"
_LIBRARY = "lower-vector-math{{instructions={instructions} missing={missing}}},"


class VectorLibrary(msgspec.Struct, frozen=True):
    """A machine's libmvec: for which instructions, and what it does not have."""

    instructions: str
    missing: tuple[str, ...] = ()

    def passes(self) -> str:
        """Return what calls it."""
        missing = "+".join(self.missing) or "none"
        return _LIBRARY.format(instructions=self.instructions, missing=missing)


class LaneWidth(msgspec.Struct, frozen=True):
    """The number of iterations of parallel loops that run together, if it pays or, `everywhere`, if
    it is possible."""

    count: int
    everywhere: bool = False

    def passes(self, fast_math: bool) -> str:
        """Return what makes it so, with the comma in front."""
        if self.count == 1:
            return ""
        fast, always = (str(choice).lower() for choice in (fast_math, self.everywhere))
        return _TAKEN * fast_math + _IN_LANES.format(width=self.count, fast=fast, always=always)


ONE_LANE = LaneWidth(1)


def cpu_stages(
    mode: Mode = PRIMAL,
    *,
    threads: int = 1,
    worth: int = 100_000,
    fast_math: bool = True,
    check_bounds: bool = False,
    keeps: bool = False,
    fused: bool = True,
    estimates: bool = True,
    library: VectorLibrary | None = None,
    lanes: LaneWidth = ONE_LANE,
    width: int = 16,
    debug_info: bool = False,
    defers_zeros: bool = False,
) -> list[Stage]:
    """The stages behind `field`. `defers_zeros`: who launches the code writes the zeros that
    derivatives leave; `worth`: operations in a loop that pay for waking threads;
    `fused`: the target has fused multiply-adds; `estimates`: of reciprocal roots, of 12 bits;
    `library`: elementary functions of vectors; `lanes`: iterations that run together; `width`: the
    bytes of a vector; `debug_info`: code has lines."""
    tiles = _TILES.format(width=width, fused=str(fused).lower()) * fast_math
    in_lanes, fast = lanes.passes(fast_math), str(fast_math).lower()
    guards = _GUARDS.format(width=lanes.count, fast=fast)
    loops = tiles + guards + WRITE_BUFFERS.format(width=width) + in_lanes
    tangents = _TANGENTS * (mode.tangents >= _MANY and not mode.is_reverse)
    zeros = _ZEROS * defers_zeros
    lower = _LOWER.format(
        threads=threads, worth=worth, fast=fast, loops=loops, tangents=tangents, zeros=zeros
    )
    if threads > 1:
        lower += _WORKERS.format(threads=threads)
    return [
        *derivation(mode, check_bounds=check_bounds, keeps=keeps),
        Stage("memref", lower),
        target_stage(
            fast_math=fast_math,
            fused=fused,
            estimates=estimates,
            library=library,
            width=width,
            lines_of=mode if debug_info else None,
        ),
    ]


def target_stage(
    *,
    fast_math: bool = True,
    fused: bool = True,
    estimates: bool = True,
    library: VectorLibrary | None = None,
    width: int = 16,
    lines_of: Mode | None = None,
) -> Stage:
    """From memrefs and loops to LLVM's dialect; of a mode, with lines for debuggers."""
    functions = "" if library is None else library.passes()
    fast = (
        _FACTORS
        + _LANES
        + _FUSE * fused
        + _FAST
        + _ROOTS * (fused and estimates)
        + _ELEMENTARY.format(library=str(library is not None).lower()) * fused
        + functions
    ) * fast_math
    longest = _WIDTH.format(width=width) if width > _USUAL else ""
    lines = "" if lines_of is None else f",{lines_for_debuggers(lines_of)}"
    return Stage("target", _TARGET.format(fast=fast) + longest + lines)


def lines_for_debuggers(mode: Mode = PRIMAL) -> str:
    """Return the passes behind the last stage that keep lines, and names, for debuggers."""
    return _LINES.format(suffix=mode.suffix)
