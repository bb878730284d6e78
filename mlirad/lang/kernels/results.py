"""What a launch gives back to Python."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.values.leaves import build_value
from mlirad.kernel.form import ScalarForm
from mlirad.kernel.module import KernelModule


def shaped(kernel: KernelModule, found: tuple[Any, ...] | None) -> Any:
    """The results of a launch, as the kernel's function gives them: a number, a tuple, a matrix,
    a struct or nothing."""
    if not found:
        return None
    form = kernel.result_form
    if form is None or type(form) is ScalarForm:
        return found[0]
    return build_value(form, iter(found))
