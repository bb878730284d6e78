"""What `kernel._primal` says: the variants of a kernel, and what its last launch passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from types import SimpleNamespace

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import TaichiRuntimeError
from mlirad.ir.walk import entry_of, functions
from mlirad.lang.kernels.kernel import Kernel
from mlirad.quadrants.argument_kinds import KernelBatchedArgType
from mlirad.runtime.kernels.variant import RECORDED, Variant


class KernelStatistics:
    """What was compiled of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @property
    def compiled_kernel_data_by_key(self) -> Mapping[Hashable, Variant]:
        """The variants of the kernel in the current program, by what they were compiled for."""
        variants = self._kernel._variants
        return {} if variants is None else variants.by_key

    materialized_kernels = compiled_kernel_data_by_key

    @property
    def launch_stats(self) -> SimpleNamespace:
        """How many arguments of each kind the last launch passed and the kernel reads, by
        `KernelBatchedArgType`; members of dataclasses are arguments. Raises TaichiRuntimeError
        where that launch is not known: before the first one, or of several variants where a tape
        recorded."""
        return SimpleNamespace(kernel_args_count_by_type=_count_arguments(self._last_variant()))

    def _last_variant(self) -> Variant:
        variants = [*self.compiled_kernel_data_by_key.values()]
        if len(variants) == 1:
            return variants[0]
        name = self._kernel.__name__
        if not variants:
            raise TaichiRuntimeError(f"kernel '{name}' was not launched in this program")
        if any(variant.launched_at == RECORDED for variant in variants):
            raise TaichiRuntimeError(
                f"kernel '{name}': a tape has recorded a launch, so which of its "
                f"{len(variants)} variants was launched last is not known"
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


__all__ = ["KernelStatistics"]
