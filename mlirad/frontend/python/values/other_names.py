"""Names that scalars and vectors of a kernel have in other libraries, and what to write instead."""

from __future__ import annotations

_NUMBER = "x[i] is a number already"
_STOP = "ti.stop_grad(v) is the value without its derivative"
OF_SCALARS = {
    "detach": _STOP,
    **dict.fromkeys(("item", "numpy", "value"), _NUMBER),
    **dict.fromkeys(("norm", "length"), "abs(v) is its absolute value"),
    **dict.fromkeys(("astype", "double", "float", "int", "to", "type"), "ti.cast(v, ti.f32)"),
    **dict.fromkeys(("sqrt", "exp", "log", "sin", "cos", "pow"), "ti.sqrt(v), v ** 2, ti.sin(v)"),
    **dict.fromkeys(("grad", "backward"), "x.grad[i] is the gradient of an element of a field"),
}
OF_VECTORS = {
    "detach": _STOP,
    **dict.fromkeys(("length", "magnitude", "mag"), "v.norm() is its length"),
    **dict.fromkeys(("squared_length", "normSquared", "sqrnorm"), "v.norm_sqr() is its square"),
    **dict.fromkeys(("normalize", "unit"), "v.normalized() is the vector over its length"),
    **dict.fromkeys(("T", "t"), "m.transpose() is the transpose"),
    **dict.fromkeys(("det",), "m.determinant() is the determinant"),
    **dict.fromkeys(("inv", "I"), "m.inverse() is the inverse"),
    **dict.fromkeys(("size", "len"), "v.n is the number of entries"),
    **dict.fromkeys(("mean", "average"), "v.sum() / v.n is the mean"),
    **dict.fromkeys(("astype", "to", "type"), "v.cast(ti.f32) converts the entries"),
    "matmul": "m @ v is the product",
    "outer": "v.outer_product(w)",
    "grad": "x.grad[i] is the gradient of an element of a field",
}


def attribute_cure(name: str, cures: dict[str, str]) -> str:
    """Return what to write in place of an attribute, with a colon in front, or nothing."""
    return f": {cures[name]}" if name in cures else ""
