"""The recorder of launches and of Python's accesses in forward mode."""

from __future__ import annotations

from typing import Any

from mlirad.ad.forward.duals import Duals
from mlirad.ad.forward.pushed_tangents import clear_copied, copy_tangents, push_tangents
from mlirad.ad.recorder.custom_gradients import nothing
from mlirad.ad.recorder.lost import warn_of_read, warn_of_result, warn_of_view
from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.target_memory import box_of, clear_written, sparse_memory
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch, LaunchedKernel
from mlirad.lang.kernels.reverse_alone import reverse_launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import FunctionCall, Recorder, Target
from mlirad.lang.transfer import Pass, Transfer
from mlirad.pipeline.mode import Mode, with_tangents
from mlirad.runtime.derivative_kind import tangent
from mlirad.runtime.memory.memory import Elements, Index
from mlirad.runtime.program import Program


class TangentRecorder(Recorder):
    """Launch kernels with tangents in some directions."""

    def __init__(self, program: Program, count: int) -> None:
        self.program, self.count = program, count
        self.claims, self.duals = Claims(program), Duals(program, count)
        self.calls: list[LaunchedKernel] = []
        self.is_constant = False  # inside a function through which no derivative passes

    @property
    def is_differentiating(self) -> bool:
        return not self.is_constant

    @property
    def follows_reads(self) -> bool:
        return self.is_constant

    def finish_write(self) -> None:
        """Nothing is to be kept."""

    def close(self) -> None:
        self.program.threads.record_by(None)

    def tangent(self, target: Target, number: int) -> Target:
        """The tangents of a field or ndarray in one direction."""
        if isinstance(target, Ndarray):
            return target.tangent(number)
        return target.derivative(tangent(number))

    @property
    def _mode(self) -> Mode:
        return with_tangents(self.count, is_constant=self.is_constant)

    def launch(self, launch: Launch) -> Any:
        emptied = frozenset(filter(self.empties_gradient, launch.variant.kernel.emptied))
        if emptied:
            launch = launch.with_variant(launch.variant.with_adjoints_apart(emptied))
        variant = launch.variant
        self.duals.prepare(variant, is_constant=self.is_constant)
        self.claims.use_variant(variant)
        self.claims.use_arrays(launch.ndarrays())
        self.calls.append(launch.kernel)
        check = variant.codes.collision_check(self._mode)
        if check is not None:
            check.launch(launch.values, launch.arrays)
        if self.program.threads.views.handed and not self.is_constant:
            self._warn_of_views(launch)
        return launch.run(self._mode)

    def empties_gradient(self, symbol: str) -> bool:
        return symbol in self.program.derivatives.adjoints

    def _warn_of_views(self, launch: Launch) -> None:
        """Say where Python has views of what a launch leaves tangents in."""
        for flow in launch.variant.notes.flows().between:
            key, name = flow.target, f"'{flow.target}'"
            if isinstance(key, int):
                array = launch.array(key)
                key, name = array.address, f"a ti.ndarray of shape {array.dims}"
            if key in self.program.threads.views and any(
                self.duals.carries(launch.variant, source) for source in flow.sources
            ):
                warn_of_view(self.program, key, name, "forward mode")

    def call_function(self, call: FunctionCall) -> Any:
        """Call a function through which no derivative passes. Raises TaichiRuntimeError for one
        with a reverse."""
        if call.function.grad is not nothing:
            raise TaichiRuntimeError(
                f"'{call.function.__name__}' has its own gradient (ti.ad.grad_replaced), which "
                "is a reverse: forward mode cannot pass through it"
            )
        outer, self.is_constant = self.is_constant, True
        self.duals.look_again()
        try:
            return call.run()
        finally:
            self.is_constant = outer
            self.duals.look_again()

    def launch_reverse(self, launch: Launch) -> None:
        """Launch the reverse of a kernel, which is a kernel as any other.

        Raises TaichiRuntimeError, or TaichiCompilationError, where it has no derivative.
        """
        self.launch(reverse_launch(launch, "forward mode"))

    def clear_gradients(self) -> None:
        derivatives = self.program.derivatives
        for name in derivatives.primals:
            for dual in derivatives.duals.get(name, ()):
                self.program.fields[dual].fill(0)

    def result(self, launch: Launch) -> None:
        """Warn, once a line, where the result of a launch carries a derivative and is used in
        Python."""
        sources = () if self.is_constant else launch.variant.notes.flows().results
        if any(self.duals.carries(launch.variant, source) for source in sources):
            warn_of_result(self.program, launch.kernel, "forward mode")

    def host_read(self, target: Target) -> None:
        """Warn, once a line, where a value that carries a derivative leaves the differentiated
        program."""
        if caller() not in self.program.derivatives.warned and any(
            elements.any() for elements in self._tangents(target)
        ):
            name = (
                f"'{target.symbol}'"
                if isinstance(target, Field)
                else f"a ti.ndarray of shape {target.shape}"
            )
            warn_of_read(self.program, name, "forward mode")

    def host_write(self, target: Target, index: Index | None) -> None:
        """Clear the tangents of what Python writes."""
        if isinstance(target, Field) and target.is_derivative:  # a gradient, as memory
            self.claims.use([self.program.derivatives.primals[target.symbol]])
        sparse = sparse_memory(target, index)
        for elements in self._tangents(target):
            clear_written([elements], box_of(elements, index), sparse)

    def _tangents(self, target: Target) -> list[Elements]:
        if isinstance(target, Ndarray):
            return [tangent.elements for tangent in target.tangents]
        elements = target.find_memory().elements
        names = self.program.derivatives.duals.get(target.symbol, ())
        tangents = [self.program.fields[name].elements for name in names]
        if any(tangent.shape != elements.shape for tangent in tangents):
            raise TaichiRuntimeError(
                f"a dual of field '{target.symbol}' has a different layout than the field: it "
                "cannot be written from Python in forward mode"
            )
        return tangents

    def host_copy(self, target: Field, source: Field) -> None:
        duals = self.program.derivatives.duals
        if source.symbol not in duals or self.is_constant or not target.dtype.is_float:
            clear_copied(target, source, self._tangents(target))
            return
        self.duals.give_to_copy(target.symbol, caller())
        self.claims.use([target.symbol, source.symbol])
        copy_tangents(target, source, [tangent(number) for number in range(self.count)])

    def transfer(self, transfer: Transfer) -> None:
        is_one = transfer.is_float and not self.is_constant
        is_one = is_one and any(map(self._has_tangents, transfer.sent))
        carries = transfer.agree(Pass.FORWARD, transfer.number(), is_one)
        if carries:
            symbols = [target.symbol for target in transfer.arrays if isinstance(target, Field)]
            for symbol in symbols:
                self.duals.give_to_copy(symbol, caller())
            self.duals.note_transfer(
                [target.symbol for target in transfer.sent if isinstance(target, Field)],
                [target.symbol for target in transfer.reached if isinstance(target, Field)],
                caller(),
            )
            self.claims.use(symbols)
        self.claims.use_arrays(
            [target for target in transfer.arrays if isinstance(target, Ndarray)]
        )
        decision = transfer.run()
        push_tangents(transfer, decision, [tangent(n) for n in range(self.count)], carries)

    def _has_tangents(self, target: Target) -> bool:
        if isinstance(target, Ndarray):
            return target.grad is not None
        return target.symbol in self.program.derivatives.duals
