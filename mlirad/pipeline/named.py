"""The pipelines that `mlirad-opt` knows by name: `cpu-pipeline` is the function `cpu`.

Their options are keyword arguments; `--cpu-reverse-pipeline` is `cpu` with `reverse`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from mlirad.ir.elementary.vector_math import INSTRUCTIONS
from mlirad.ir.limits import OneOf, Range, Threads, Worth
from mlirad.pipeline.mode import COLLISIONS, PRIMAL, REVERSE, TANGENT_COLLISIONS, Check, Kind, Mode
from mlirad.pipeline.stages.cpu import VectorLibrary, cpu_stages
from mlirad.pipeline.stages.functions import function_stages
from mlirad.pipeline.stages.gpu import cuda_stages, rocm_stages, simt_stages
from mlirad.pipeline.stages.stage import Stage


def cpu(
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
    estimates: bool = True,
    instructions: Annotated[str, OneOf(("none", *INSTRUCTIONS))] = "none",
) -> list[Stage]:
    """The stages after `field` for a CPU. Each is a pipeline that continues the one before.

    With `tangents`, the primal, or the reverse, computes its tangents too (in `constant` code they
    are zero). `fused`: the target has fused multiply-adds; `estimates`: it estimates reciprocal
    roots to 12 bits, as x86 does; `instructions`: those that elementary functions of vectors may
    use.
    """
    options = {Check.ACCESS: check_access, Check.FINITE: check_finite}
    checks = frozenset(check for check, is_on in options.items() if is_on)
    mode = Mode(Kind.REVERSE if reverse else Kind.PRIMAL, tangents, constant, checks)
    return cpu_stages(
        mode,
        threads=threads,
        worth=worth,
        fast_math=fast_math,
        check_bounds=check_bounds,
        fused=fused,
        estimates=estimates,
        library=None if instructions == "none" else VectorLibrary(instructions),
    )


def collision(
    *,
    tangents: bool = False,
    threads: Threads = 1,
    worth: Worth = 100_000,
    fast_math: bool = True,
    fused: bool = True,
) -> list[Stage]:
    """The stages of the check that iterations do not collide: for the reverse of a kernel, or, with
    `tangents`, for its tangents."""
    mode = TANGENT_COLLISIONS if tangents else COLLISIONS
    return cpu_stages(mode, threads=threads, worth=worth, fast_math=fast_math, fused=fused)


def cuda(
    *, reverse: bool = False, fast_math: bool = True, check_bounds: bool = False
) -> list[Stage]:
    """The stages after `field` for PTX. The last one, `target`, has the kernels as NVVM, and the
    launches on the host."""
    mode = REVERSE if reverse else PRIMAL
    return cuda_stages(mode, fast_math=fast_math, check_bounds=check_bounds)


def rocm(
    *, reverse: bool = False, fast_math: bool = True, check_bounds: bool = False
) -> list[Stage]:
    """The stages after `field` for AMD GPUs. The last one, `target`, has the kernels as ROCDL, and
    the launches on the host."""
    mode = REVERSE if reverse else PRIMAL
    return rocm_stages(mode, fast_math=fast_math, check_bounds=check_bounds)


def simt(
    *,
    reverse: bool = False,
    fast_math: bool = True,
    check_bounds: bool = False,
    order: Annotated[str, OneOf(("ascending", "descending", "shuffled"))] = "ascending",
) -> list[Stage]:
    """The stages after `field` for GPU kernels that a CPU runs. `order`: the order of the
    threads."""
    mode = REVERSE if reverse else PRIMAL
    return simt_stages(mode, fast_math=fast_math, check_bounds=check_bounds, order=order)


def function(*, gradients: bool = False) -> list[Stage]:
    """The stages that turn functions of other origin into kernels on arrays. `gradients`: arrays of
    floats have gradients."""
    return function_stages(gradients=gradients)


PIPELINES: tuple[Callable[..., list[Stage]], ...] = (cpu, collision, cuda, rocm, simt, function)
