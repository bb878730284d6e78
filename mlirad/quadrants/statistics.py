"""`kernel._primal`: the variants of a kernel, and the arguments of its last launch; the tasks of a
launch: parallel loops, and the statements between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import groupby
from types import SimpleNamespace

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field import AssertOp, AtomicOp, PrintOp, StoreOp
from mlirad.errors import TaichiRuntimeError
from mlirad.ir.ops import Scf
from mlirad.ir.walk import entry_of, functions
from mlirad.lang.kernels.kernel import Kernel
from mlirad.pipeline.mode import PRIMAL
from mlirad.quadrants.argument_kinds import KernelBatchedArgType
from mlirad.runtime.executor.executor import Origin
from mlirad.runtime.kernels.variant import RECORDED, Variant
from mlirad.runtime.program import program

_STATEMENTS = {op.OPERATION_NAME for op in (AssertOp, AtomicOp, PrintOp, StoreOp)}
_SERIAL = -1  # in the place of a loop's number


class KernelStatistics:
    """The compiled variants of a kernel."""

    def __init__(self, kernel: Kernel, *, is_fastcache: bool) -> None:
        self._kernel, self._is_fastcache = kernel, is_fastcache

    @property
    def compiled_kernel_data_by_key(self) -> Mapping[Hashable, Variant]:
        """The variants of the kernel in the current program, by what they were compiled for."""
        variants = self._kernel._variants
        if variants is None or variants.program is not program():
            return {}
        return variants.by_key

    materialized_kernels = compiled_kernel_data_by_key

    @property
    def launch_stats(self) -> SimpleNamespace:
        """Return the numbers of arguments of each kind that the last launch passed and the kernel
        reads, by `KernelBatchedArgType`; members of dataclasses are arguments. Raises
        TaichiRuntimeError where that launch is not known: before the first one, or of several
        variants where a tape recorded."""
        return SimpleNamespace(kernel_args_count_by_type=_count_arguments(self._last_variant()))

    @property
    def src_ll_cache_observations(self) -> SimpleNamespace:
        """Return whether the code of the last launch was in the cache of compiled kernels
        (`cache_validated`, `cache_loaded`), or is there from now on (`cache_stored`), and whether
        it was looked up if there is a cache (`cache_key_generated`). Of kernels without
        `fastcache`, which the cache has too, and before the first launch all of it is False."""
        variants = self.compiled_kernel_data_by_key if self._is_fastcache else {}
        origin = self._last_variant().codes.origins.get(PRIMAL) if variants else None
        is_loaded = origin is Origin.CACHE
        return SimpleNamespace(
            cache_key_generated=origin is not None,
            cache_validated=is_loaded,
            cache_loaded=is_loaded,
            cache_stored=origin is Origin.STORED,
        )

    @property
    def launch_observations(self) -> SimpleNamespace:
        """Return whether the last launch found its kernel compiled in this program
        (`found_kernel_in_materialize_cache`)."""
        variant = self._last_variant()
        is_first = variant.launched_at == variant.built_at + 1
        return SimpleNamespace(found_kernel_in_materialize_cache=not is_first)

    def _last_variant(self) -> Variant:
        variants = [*self.compiled_kernel_data_by_key.values()]
        if len(variants) == 1:
            return variants[0]
        name = self._kernel.__name__
        if not variants:
            raise TaichiRuntimeError(f"kernel '{name}' was not launched in this program")
        if any(variant.launched_at == RECORDED for variant in variants):
            raise TaichiRuntimeError(
                f"kernel '{name}': a tape has recorded a launch, so it is not known which of its "
                f"{len(variants)} variants was launched last"
            )
        return max(variants, key=lambda variant: variant.launched_at)


def _count_arguments(variant: Variant) -> Counter[KernelBatchedArgType]:
    """Count the arguments of a variant that its function uses."""
    kernel = variant.kernel
    counts: Counter[KernelBatchedArgType] = Counter()
    with context():
        entry = entry_of(functions(kernel.module.operation)[0])
        for number, argument in enumerate(entry.arguments):
            position = variant.array_positions.get(number)
            if position is not None:
                needs_grad = kernel.arrays[position].needs_grad
                kind = KernelBatchedArgType.QD_ARRAY + needs_grad
            else:
                is_float = isinstance(argument.type, ir.FloatType)
                kind = KernelBatchedArgType.FLOAT if is_float else KernelBatchedArgType.INT
            counts[KernelBatchedArgType(kind)] += any(True for _ in argument.uses)
    return counts


def count_last_tasks() -> int:
    """Return the number of tasks of the last launch outside of tapes, as its kernel is written:
    loops that the compiler fuses are counted one by one. 0 if there was none."""
    launched = [v for v in list(program().built) if v.launched_at != RECORDED]
    if not launched:
        return 0
    last = max(launched, key=lambda variant: variant.launched_at)
    with context():
        return _count_tasks(entry_of(functions(last.kernel.module.operation)[0]))


def _count_tasks(body: ir.Block) -> int:
    """Count parallel loops, and stretches of serial statements."""
    steps: list[int] = []
    for op in body.operations:
        if op.operation.name == Scf.PARALLEL:
            steps.append(len(steps))
        elif op.operation.name in _STATEMENTS or any(True for _ in op.operation.regions):
            steps.append(_SERIAL)
    return sum(1 for _ in groupby(steps))


__all__ = ["KernelStatistics", "count_last_tasks"]
