"""Let LLVM reassociate sums into lanes, contract products into FMAs and use reciprocal estimates."""
from mlirad.bindings import ir
from mlirad.passes._build import is_float
from mlirad.passes._walk import operations


def insert_fast_math(module: ir.Operation, *, flags: str = "reassoc+contract+arcp+afn+nsz") -> None:
    """Give every float operation fast-math flags; NaN and infinity keep their meaning."""
    attribute = ir.Attribute.parse(f"#arith.fastmath<{flags.replace('+', ',')}>")
    for op in operations(module):
        if op.name.startswith(("arith.", "math.")) and op.results and is_float(op.results[0].type) \
                and op.name not in ("arith.constant", "arith.select", "arith.bitcast", "arith.sitofp", "arith.uitofp"):
            op.attributes["fastmath"] = attribute
