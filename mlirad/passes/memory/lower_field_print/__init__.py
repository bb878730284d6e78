"""Prints to calls of C's `printf`."""

from mlirad.bindings import ir
from mlirad.dialect.field import PrintOp
from mlirad.ir.walk import operations


def lower_field_print(module: ir.Operation, *, gpu: bool = False) -> None:
    """Replace every print by a call of `printf` with its own format, or by `gpu.printf`."""
    prints = [op for op in operations(module) if PrintOp.holds(op)]
    if prints:
        from mlirad.passes.memory.lower_field_print.prints import (  # for few programs
            print_on_cpu,
            print_on_gpu,
        )

        if gpu:
            for op in prints:
                print_on_gpu(op)
        else:
            print_on_cpu(module, prints)
