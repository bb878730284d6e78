"""Take apart what upstream's transform dialect takes apart, and no pass: tiles of tensors.

Expects tensors. `linalg.pack` becomes a pad, an expanded shape and a transpose, `linalg.unpack` a
transpose, a collapsed shape and a slice.
"""

from __future__ import annotations

from mlirad.bindings import apply_named_sequence, ir
from mlirad.ir.ops import Linalg
from mlirad.ir.walk import operations

_SEQUENCE = f"""
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @lower(%root: !transform.any_op {{transform.consumed}}) {{
    %packs = transform.structured.match ops{{["{Linalg.PACK}"]}} in %root
      : (!transform.any_op) -> !transform.op<"{Linalg.PACK}">
    transform.foreach %packs : !transform.op<"{Linalg.PACK}"> {{
    ^bb0(%pack: !transform.op<"{Linalg.PACK}">):
      transform.structured.lower_pack %pack : (!transform.op<"{Linalg.PACK}">)
        -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">,
            !transform.op<"linalg.transpose">)
    }}
    %unpacks = transform.structured.match ops{{["{Linalg.UNPACK}"]}} in %root
      : (!transform.any_op) -> !transform.op<"{Linalg.UNPACK}">
    transform.foreach %unpacks : !transform.op<"{Linalg.UNPACK}"> {{
    ^bb0(%unpack: !transform.op<"{Linalg.UNPACK}">):
      transform.structured.lower_unpack %unpack : (!transform.op<"{Linalg.UNPACK}">)
        -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">,
            !transform.op<"tensor.collapse_shape">, !transform.op<"tensor.extract_slice">,
            !transform.op<"linalg.copy">)
    }}
    transform.yield
  }}
}}
"""


def lower_packed_tensors(module: ir.Operation) -> None:
    """Replace every `linalg.pack` and `linalg.unpack` by pads, reshapes, transposes and slices."""
    if any(op.name in (Linalg.PACK, Linalg.UNPACK) for op in operations(module)):
        script = ir.Module.parse(_SEQUENCE)
        apply_named_sequence(module, script.body.operations[0], script)
