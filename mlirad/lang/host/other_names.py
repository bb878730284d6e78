"""Names that fields have in other libraries, and what to write instead."""

from __future__ import annotations

_ARRAY = "x.to_numpy() is a NumPy array, which has it"
_LOOP = "a kernel adds up or compares elements x[i] in a loop; x.to_numpy() is a NumPy array"
_CLEARED = "ti.ad.Tape sets all gradients to 0 when it begins; x.grad.fill(0) sets one"
_COPY = "x.to_numpy() copies it, and y.copy_from(x) copies it into another field"
_DEVICE = "ti.init(arch=...) chooses where all fields are"
OTHER_NAMES = {
    **dict.fromkeys(("T", "argmax", "argmin", "astype", "flatten", "reshape", "size"), _ARRAY),
    **dict.fromkeys(("max", "mean", "min", "norm", "prod", "std", "sum"), _LOOP),
    **dict.fromkeys(("clear_grad", "zero", "zero_", "zero_grad"), _CLEARED),
    **dict.fromkeys(("clone", "copy"), _COPY),
    **dict.fromkeys(("cpu", "cuda", "device", "to"), _DEVICE),
    "backward": "gradients are computed at the end of `with ti.ad.Tape(loss):`",
    "data": "x.to_numpy() has its values",
    "detach": "ti.stop_grad(x[i]), in a kernel, is a value without its derivative",
    "gradient": "x.grad is the field of gradients",
    "item": "x[None] is the number of a field without axes",
    "needs_grad": "x.has_grad() says whether a field has a gradient",
    "numpy": "x.to_numpy() is a NumPy array",
    "requires_grad": "needs_grad=True, where a field is declared, gives it a gradient",
    "requires_grad_": "needs_grad=True, where a field is declared, gives it a gradient",
    "tolist": "x.to_numpy().tolist() is a list",
    "torch": "x.to_torch() is a tensor",
    "value": "x[None] is the number of a field without axes",
    "values": "x.to_numpy() has its values",
}
