"""Take apart what upstream's transform dialect takes apart, and no pass: `linalg.softmax`.

Expects tensors. What stands for it are `linalg.generic`: the largest element along the axis, powers
of e, their sum, and quotients.
"""

from __future__ import annotations

from mlirad.bindings import apply_named_sequence, ir
from mlirad.ir.ops import Linalg
from mlirad.ir.walk import operations

_SEQUENCE = f"""
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @decompose(%root: !transform.any_op {{transform.consumed}}) {{
    %softmax = transform.structured.match ops{{["{Linalg.SOFTMAX}"]}} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    transform.yield
  }}
}}
"""


def lower_softmax(module: ir.Operation) -> None:
    """Replace every `linalg.softmax` by elementwise operations and reductions."""
    if any(op.name == Linalg.SOFTMAX for op in operations(module)):
        script = ir.Module.parse(_SEQUENCE)
        apply_named_sequence(module, script.body.operations[0], script)
