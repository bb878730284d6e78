"""Let LLVM reassociate sums into lanes, contract products into FMAs and use reciprocal estimates."""
from mlirad.bindings import ir
from mlirad.passes._build import is_float
from mlirad.passes._walk import operations


def insert_fast_math(module: ir.Operation, *, flags: str = "reassoc+contract+arcp+afn+nsz") -> None:
    """Give every float operation fast-math flags; NaN and infinity keep their meaning."""
    attribute = ir.Attribute.parse(f"#arith.fastmath<{flags.replace('+', ',')}>")
    # LLVM makes an approximate power of an integer exponent a call of compiler-rt's __powisf2, which is not there.
    exact = ir.Attribute.parse(f"#arith.fastmath<{','.join(f for f in flags.split('+') if f != 'afn') or 'none'}>")
    for op in operations(module):
        if op.name.startswith(("arith.", "math.")) and op.results and is_float(op.results[0].type) \
                and op.name not in ("arith.constant", "arith.select", "arith.bitcast", "arith.sitofp", "arith.uitofp"):
            op.attributes["fastmath"] = exact if op.name == "math.powf" else attribute
