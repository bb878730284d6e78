"""Launches that pause at `qd.checkpoint`, and go on from there: `@qd.kernel(checkpoints=True)`."""

from __future__ import annotations

from threading import RLock
from typing import Any

import msgspec

from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.translation.checkpoints import (
    NO_CHECKPOINT,
    NOT_REACHED,
    Checkpoints,
)
from mlirad.lang.kernels.kernel import Kernel
from mlirad.lang.ndarray import ndarray
from mlirad.runtime.program import program
from mlirad.types import i32


class GraphStatus(msgspec.Struct, frozen=True):
    """The end of a launch: whether it `yielded`, and at which `checkpoint`."""

    yielded: bool
    checkpoint: int | None

    def __repr__(self) -> str:
        where = f", checkpoint={self.checkpoint!r}" if self.yielded else ""
        return f"GraphStatus(yielded={self.yielded}{where})"


class PausingKernel:
    """A kernel whose launches return a `GraphStatus`, and may be resumed."""

    def __init__(self, kernel: Kernel, checkpoints: Checkpoints, turn: RLock | None = None) -> None:
        self._kernel, self._checkpoints = kernel, checkpoints
        self._turn = turn or RLock()  # what a launch reads and leaves is of the kernel
        self.__name__, self.__qualname__ = kernel.__name__, kernel.__qualname__
        self.__doc__, self.__wrapped__ = kernel.__doc__, kernel.__wrapped__

    def __get__(self, owner: Any, kind: object = None) -> PausingKernel:
        if owner is None:
            return self
        return PausingKernel(self._kernel.__get__(owner, kind), self._checkpoints, self._turn)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __repr__(self) -> str:
        return repr(self._kernel)

    def __call__(self, *args: Any, **kwargs: Any) -> GraphStatus | None:
        with self._turn:
            self._place()
            return self._launch(NO_CHECKPOINT, args, kwargs)

    def resume(self, *args: Any, from_checkpoint: Any, **kwargs: Any) -> GraphStatus | None:
        """Launch what is behind a checkpoint, and this. Raises TaichiRuntimeError for a label that
        no checkpoint of the kernel has."""
        if not isinstance(from_checkpoint, int) or isinstance(from_checkpoint, bool):
            raise TaichiRuntimeError(
                f"from_checkpoint= must be an int or IntEnum value, not {from_checkpoint!r}"
            )
        with self._turn:
            self._place()
            self._kernel.prepare(program(), args, kwargs)  # which knows the labels
            labels = self._checkpoints.labels
            if from_checkpoint not in labels:
                raise self._error(from_checkpoint)
            return self._launch(labels.index(from_checkpoint), args, kwargs)

    def grad(self, *args: Any, **kwargs: Any) -> None:
        """Raise TaichiRuntimeError: where a launch paused, only a tape knows."""
        raise TaichiRuntimeError(
            f"kernel '{self.__name__}' has checkpoints: {self.__name__}.grad() does not know where "
            "the launch began and paused: put the launches in a qd.ad.Tape, which records it"
        )

    def _place(self) -> None:
        """Make the memory for launches, once a program."""
        checkpoints = self._checkpoints
        if checkpoints.resumed is None or checkpoints.resumed.program is not program():
            checkpoints.resumed, checkpoints.paused = ndarray(i32, ()), ndarray(i32, ())

    def _launch(
        self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> GraphStatus | None:
        checkpoints = self._checkpoints
        checkpoints.resumed[None], checkpoints.paused[None] = number, NO_CHECKPOINT
        self._kernel(*args, **kwargs)
        paused = checkpoints.paused[None]
        if paused == NOT_REACHED:
            raise self._error(checkpoints.labels[number])
        if not checkpoints.labels:
            return None
        yielded = paused != NO_CHECKPOINT
        return GraphStatus(yielded, checkpoints.labels[paused] if yielded else None)

    def _error(self, label: int) -> TaichiRuntimeError:
        return TaichiRuntimeError(
            f"from_checkpoint={label!r} does not match any qd.checkpoint(cp_id=...) in kernel "
            f"'{self.__name__}', which has {self._checkpoints.labels}"
        )
