"""Calls of functions with a gradient of their own, or none, inside a tape."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mlirad.ad.recorder.custom_gradients import nothing
from mlirad.ad.recording.call import Call
from mlirad.ad.recording.entries import Aside, Replaced
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.order import Order
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import GivenGradient, Recorder


class RecordedCalls(Recorder):
    """Of a function with a gradient only the call is recorded. Of one without, what it launches
    is, cut off: what its kernels store is constant, and what they read carries no derivative."""

    ledger: Ledger
    order: Order
    is_recording: bool
    call: Call | None = None  # of a function with a gradient of its own, that is running

    def replaced(
        self,
        function: GivenGradient,
        primal: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Call a function with a gradient of its own, or with none.

        Raises TaichiRuntimeError where it was to be given one.
        """
        self.order.check_call(function)
        if self.is_replacing or self.is_cut:
            return primal(*args, **keywords)
        if function.grad is None:
            raise TaichiRuntimeError(
                f"'{function.__name__}' is decorated with ti.ad.grad_replaced, but no "
                "ti.ad.grad_for gives its gradient"
            )
        self.finish_write()
        if function.grad is nothing:
            with self.cutting():
                return primal(*args, **keywords)
        entry = Replaced(function, primal, args, keywords, [])
        return self.record_call(entry, partial(primal, *args, **keywords))

    def record_call(self, entry: Replaced | Aside, run: Callable[[], Any]) -> Any:
        """Run what an entry stands for, following what it touches; what it returns."""
        with self.ledger.calling(entry, caller(), is_recording=self.is_recording) as self.call:
            self.is_replacing = True
            try:
                return run()
            finally:
                self.is_replacing, self.call = False, None

    def launch_alone(self, launch: Launch) -> Any:
        """Launch a kernel whose reverse would do nothing."""
        entry = Aside(launch.with_arrays([array.without_copy() for array in launch.arrays]), [])
        return self.record_call(entry, partial(self.launch, launch))
