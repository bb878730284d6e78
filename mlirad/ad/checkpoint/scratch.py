"""Scratch: what the steps of a checkpointed loop write, and must not read before. NaN shows it."""

from __future__ import annotations

import numpy as np

from mlirad.ad.checkpoint.recorded_steps import LoopDeclaration
from mlirad.ad.recording.target_memory import memory_of
from mlirad.errors import TaichiRuntimeError
from mlirad.runtime.memory.memory import SparseElements


def spoil_scratch(declared: LoopDeclaration) -> None:
    """Let scratch hold NaN, in front of a step."""
    for target in declared.scratch:
        elements = memory_of(target)[1]
        if isinstance(elements, SparseElements):
            elements.fill(0)  # also what a reverse left where it put back that nothing is active
            elements.fill_active(np.nan)
        else:
            elements.fill(np.nan)


def forget_scratch(declared: LoopDeclaration) -> None:
    """Clear adjoints of scratch, which passes nothing on from step to step. A reverse leaves 0 in
    the adjoint of what its step overwrote; but which cells a step deactivates depends on what ran
    before it, and when it is run again, that is another step."""
    for target in declared.scratch:
        _, elements, adjoint = memory_of(target)
        if adjoint is not None and isinstance(elements, SparseElements):
            adjoint.fill(0)


def check_scratch(declared: LoopDeclaration, step: int) -> None:
    """Raise TaichiRuntimeError where a step that began with NaN in its scratch has passed one on to
    its state."""
    if not declared.scratch:
        return
    for target in declared.state:
        if target.dtype.is_float and np.isnan(memory_of(target)[1].read()).any():
            names = ", ".join(f"'{field.symbol}'" for field in declared.scratch)
            raise TaichiRuntimeError(
                f"ti.ad.checkpointed() at {declared.place}: step {step} produces NaN in its "
                f"state if it runs again with NaN in scratch=: a step reads one of {names} "
                "before it writes it, so put it into state="
            )
