"""Names that NumPy, JAX, torch and Warp have, and what to write instead."""

from __future__ import annotations

_FIELD = "ti.field(ti.f32, shape=n) is a field of zeros, and x.from_numpy(a) gives it values"
_LOOP = "a loop in a kernel adds up or compares x[i]; x.to_numpy() is a NumPy array"
_VECTOR = (
    "vectors have methods, a.norm(), a.normalized(), a.dot(b), a.cross(b); those of a field are "
    "loops in a kernel over x[i]"
)
_GRADIENT = "`with ti.ad.Tape(loss):` computes gradients; ti.ad.grad(f) is that of a @ti.func"
CURES = {
    **dict.fromkeys(("arange", "array", "empty", "full", "linspace", "ones", "tensor"), _FIELD),
    **dict.fromkeys(("asarray", "zeros", "zeros_like"), _FIELD),
    **dict.fromkeys(("argmax", "argmin", "mean", "sum"), _LOOP),
    **dict.fromkeys(("cross", "dot", "norm", "normalize"), _VECTOR),
    **dict.fromkeys(("backward", "grad", "gradient", "value_and_grad"), _GRADIENT),
    **dict.fromkeys(("compile", "function", "jit"), "@ti.kernel and @ti.func compile a function"),
    **dict.fromkeys(("float", "double"), "the types are ti.f32 and ti.f64"),
    **dict.fromkeys(("bool", "int", "long"), "the types are ti.i32, ti.i64 and ti.u1"),
    "detach": "ti.stop_grad(x[i]) is a value without its derivative",
    "no_grad": "ti.ad.no_grad marks functions without a derivative",
    "stop_gradient": "ti.stop_grad(x[i]) is a value without its derivative",
    "where": "ti.select(condition, a, b)",
}
