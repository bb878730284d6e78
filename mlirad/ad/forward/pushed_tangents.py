"""Tangents of what Python copies or transfers."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ad.recording.target_memory import box_of, clear_written, index_of_copy, sparse_memory
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.transfer import Decision, Transfer, clear, derivative_of, read, write
from mlirad.runtime.derivative_kind import DerivativeKind
from mlirad.runtime.memory.memory import Elements


def copy_tangents(target: Field, source: Field, kinds: Sequence[DerivativeKind]) -> None:
    """Copy the tangents of a field that Python is about to copy. What is active in the source is
    so in the target from then on."""
    memory = target.find_memory()
    memory.activate_as(source.find_memory())
    for kind in kinds:
        copied, original = (
            target.derivative(kind).find_memory(),
            source.derivative(kind).find_memory(),
        )
        if memory.has_activity:
            copied.take_active(original)
        else:
            copied.take(original)


def clear_copied(target: Field, source: Field, tangents: Sequence[Elements]) -> None:
    """Set tangents of a field to 0 where Python is about to copy constants to it."""
    memory = target.find_memory()
    memory.activate_as(source.find_memory())
    index = index_of_copy(target)
    clear_written(tangents, box_of(memory.elements, index), sparse_memory(target, index))


def push_tangents(
    transfer: Transfer, decision: Decision, kinds: Sequence[DerivativeKind], carries: bool
) -> None:
    """Transfer the tangents of what was transferred; set them to 0 where it carries none."""
    sources = [piece for piece in transfer.sources if piece.is_float]
    targets = [piece for piece in transfer.targets if piece.is_float]
    for kind in kinds:
        if carries:
            sent = [read(piece, derivative_of(piece.target, kind)) for piece in sources]
            pushed = transfer.push(sent, decision)
            for piece, values in zip(targets, pushed, strict=True):
                write(piece, derivative_of(piece.target, kind), values)
            continue
        for piece in targets:
            target = piece.target
            if isinstance(target, Field) and target.existing(kind) is not None:
                clear(piece, target.derivative(kind))
            elif isinstance(target, Ndarray) and len(target.tangents) > kind.direction:
                clear(piece, target.tangents[kind.direction])
