"""Reverses that a program launches itself, by `kernel.grad()`: no tape keeps values for them."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.ir.walk import fields_of, functions
from mlirad.kernel.array_arguments import copy_of
from mlirad.kernel.module import KernelModule
from mlirad.lang.kernels.launch import Launch
from mlirad.pipeline.mode import REVERSE
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.derivation import REVERSE_AGAIN
from mlirad.runtime.kernels.codes import Primal
from mlirad.runtime.kernels.kernel_ir import KernelIR
from mlirad.runtime.kernels.variant import Variant


def launch_reverse_alone(launch: Launch) -> None:
    """Run the reverse of a kernel. Raises TaichiRuntimeError if it needs a tape to put memory
    back."""
    _check(launch)
    variant = launch.variant
    derivative = variant.codes.derivative(REVERSE)
    derivative.launch(launch.values, launch.arrays)
    variant.program.derivatives.given |= derivative.gradients


def reverse_launch(launch: Launch, within: str) -> Launch:
    """The reverse of a kernel as the launch of a kernel, within what takes derivatives, and
    differentiated as any other.

    Raises TaichiRuntimeError if it needs a tape to put memory back, where two iterations meet in
    an element, and for array arguments.
    """
    variant = launch.variant
    if launch.arrays or variant.kernel.derivatives is not None:
        raise TaichiRuntimeError(
            f"{variant.kernel.name}.grad() is called inside a {within} and cannot be "
            "differentiated there: this is only possible for kernels without array arguments"
        )
    _check(launch)
    if _may_collide(variant.stages):
        launch.run(REVERSE.collisions)
    return launch.with_variant(_reverse_variant(variant))


@in_turn
def _reverse_variant(variant: Variant) -> Variant:
    variant.codes.look_at_poles()
    made_for = variant.declared, variant.stages.infinite
    if variant.reverse_made is None or variant.reverse_made[0] != made_for:
        primal = Primal(variant.codes, REVERSE)
        kernel = _module_of_reverse(variant.stages)
        reverse = Variant(kernel, variant.program, variant.owners, primal)
        variant.reverse_made = made_for, reverse
    return variant.reverse_made[1]


def _module_of_reverse(stages: KernelIR) -> KernelModule:
    kernel, name = stages.kernel, f"{stages.kernel.name}_grad"
    with context(), kernel.module.operation.location:
        module = copy_of(stages.marked_module())
        run_pipeline(module.operation, f"builtin.module({REVERSE_AGAIN})")
        module = copy_of(module)  # without what was noted of the kernel
        for function in functions(module.operation):
            _rename(function, kernel.name, name)
        fields = fields_of(module.operation)
    return KernelModule(module, name, kernel.uses_seed, (), None, fields=fields, is_reverse=True)


def _rename(function: ir.Operation, old: str, new: str) -> None:
    for note in [note for note in function.attributes if note.startswith("grad.")]:
        del function.attributes[note]
    if ir.StringAttr(function.attributes["sym_name"]).value == old:
        function.attributes["sym_name"] = ir.StringAttr.get(new)


def _may_collide(stages: KernelIR) -> bool:
    """Return whether iterations may meet in the reverse, as far as is known while compiling."""
    with context():
        noted = stages.marked_notes().body.operations
        return any("grad.collisions" in op.attributes for op in noted)


def _check(launch: Launch) -> None:
    """Raise TaichiRuntimeError if the reverse needs a tape to put memory back."""
    _check_unwritten(launch)
    variant = launch.variant
    footprints = variant.notes.footprints()
    if footprints.redone:
        raise TaichiRuntimeError(
            f"{variant.kernel.name}.grad(): {'; '.join(footprints.redone.values())}: use "
            "ti.ad.Tape, which saves the values"
        )


def _check_unwritten(launch: Launch) -> None:
    """Raise TaichiRuntimeError if Python wrote to what the reverse reads, since the launch
    that it belongs to.

    That launch is the last one, where it had the same arguments.
    """
    variant = launch.variant
    written, since = variant.program.threads.written, variant.launched_at
    code = variant.unrecorded.code()
    if not any(at > since for at in list(written.values())) or (
        code is not None and not code.ran_last_with(launch.values, launch.arrays)
    ):
        return
    for footprint in variant.notes.footprints().needed:
        key = footprint.array
        if isinstance(key, int):
            key = launch.array(key).address
        if written.get(key, 0) > since:
            name = f"'{key}'" if isinstance(key, str) else "an array argument"
            raise TaichiRuntimeError(
                f"{variant.kernel.name}.grad(): {name}, read at {footprint.place} and needed by "
                "the gradient, was written from Python after the kernel was launched: launch it "
                "again, or use ti.ad.Tape, which saves the values"
            )
