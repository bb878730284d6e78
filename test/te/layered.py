"""A block of a transformer and a gated recurrent unit, as tensor expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from te.derivatives import given

from mlirad import te


@dataclass(frozen=True)
class Network:
    """An output, and what it is made of, by the names that torch's modules give it."""

    output: te.Tensor
    inputs: dict[str, te.Tensor]


def transformer(batch: int, rows: int, width: int, heads: int, hidden: int) -> Network:
    """A block of `torch.nn.TransformerEncoderLayer`, with norms in front, GELU, no dropout."""
    own = width // heads
    shapes: dict[str, tuple[int, ...]] = {
        "x": (batch, rows, width),
        "self_attn.in_proj_weight": (3 * width, width),
        "self_attn.in_proj_bias": (3 * width,),
        "self_attn.out_proj.weight": (width, width),
        "self_attn.out_proj.bias": (width,),
        "linear1.weight": (hidden, width),
        "linear1.bias": (hidden,),
        "linear2.weight": (width, hidden),
        "linear2.bias": (width,),
        "norm1.weight": (width,),
        "norm1.bias": (width,),
        "norm2.weight": (width,),
        "norm2.bias": (width,),
    }
    p = {name: given(*shape, name=name) for name, shape in shapes.items()}
    x = p["x"]
    first = te.nn.layer_norm(x, p["norm1.weight"], p["norm1.bias"])
    all_three = te.nn.dense(first, p["self_attn.in_proj_weight"], p["self_attn.in_proj_bias"])
    split = [
        te.compute(
            (batch, heads, rows, own),
            lambda b, h, i, d, k=k: all_three[b, i, k * width + h * own + d],
        )
        for k in range(3)
    ]
    seen = te.nn.attention(*split, causal=True)
    joined = te.compute((batch, rows, width), lambda b, i, c: seen[b, c // own, i, c % own])
    out = te.nn.dense(joined, p["self_attn.out_proj.weight"], p["self_attn.out_proj.bias"])
    middle = te.nn.add(x, out)
    second = te.nn.layer_norm(middle, p["norm2.weight"], p["norm2.bias"])
    inner = te.nn.gelu(te.nn.dense(second, p["linear1.weight"], p["linear1.bias"]))
    return Network(te.nn.add(middle, te.nn.dense(inner, p["linear2.weight"], p["linear2.bias"])), p)


def gated(steps: int, batch: int, width: int, hidden: int) -> Network:
    """The states of `torch.nn.GRU`, in which the reset gate stands behind the product."""
    p = {
        "x": given(steps, batch, width),
        "h": given(batch, hidden, name="h"),
        "weight_ih_l0": given(3 * hidden, width, name="weight_ih_l0"),
        "weight_hh_l0": given(3 * hidden, hidden, name="weight_hh_l0"),
        "bias_ih_l0": given(3 * hidden, name="bias_ih_l0"),
        "bias_hh_l0": given(3 * hidden, name="bias_hh_l0"),
    }
    read = te.nn.dense(p["x"], p["weight_ih_l0"], p["bias_ih_l0"])
    weight, bias = p["weight_hh_l0"], p["bias_hh_l0"]

    def step(t: Any, h: te.Tensor, n: Any, i: Any) -> Any:
        def kept(number: int) -> Any:
            m = te.reduce_axis(hidden)
            row = i + number * hidden
            return te.sum(h[n, m] * weight[row, m], axis=m) + bias[row]

        def gate(number: int) -> Any:
            return te.sigmoid(read[t, n, i + number * hidden] + kept(number))

        new = te.tanh(read[t, n, i + 2 * hidden] + gate(0) * kept(2))
        update = gate(1)
        return (1 - update) * new + update * h[n, i]

    return Network(te.scan(steps, p["h"], step), p)


LARGE: dict[str, Callable[[], Network]] = {
    "transformer": lambda: transformer(2, 24, 32, 4, 64),
    "gated": lambda: gated(12, 4, 5, 6),
}
