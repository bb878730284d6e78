"""JAX's programs, which its interpreter runs: no part of mlirad is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.te.cases import Case

Run = Callable[[], list[np.ndarray]]


def program(case: Case) -> Run:
    """A compiled function of no arguments, which waits for its results."""
    names = list(case.shapes)
    arrays = dict(zip(names, map(jnp.asarray, case.arrays())))
    wanted = case.wanted.split(", ")
    asked = [one[1:] for one in wanted if one.startswith("d")]

    def step(arrays: dict[str, Any]) -> list[Any]:
        inputs = {name: arrays[name] for name in names if name not in ("head", "target")}

        def primal(of: dict[str, Any]) -> Any:
            return _PROGRAMS[case.kind](case, **{**inputs, **of, **_target(arrays)})

        if not asked:
            return [primal({})]
        y, pullback = jax.vjp(primal, {name: inputs[name] for name in asked})
        (found,) = pullback(arrays.get("head", jnp.ones_like(y)))
        return [found[one[1:]] if one.startswith("d") else y for one in wanted]

    compiled = jax.jit(step)
    return lambda: jax.block_until_ready(compiled(arrays))


def _target(arrays: dict[str, Any]) -> dict[str, Any]:
    return {"target": arrays["target"]} if "target" in arrays else {}


def _convolution(x: Any, w: Any, stride: int = 1, dilation: int = 1) -> Any:
    return lax.conv_general_dilated(
        x, w, (stride, stride), "VALID", rhs_dilation=(dilation, dilation)
    )


def _transposed(case: Case, x: Any, w: Any) -> Any:
    flipped = w[:, :, ::-1, ::-1]
    return lax.conv_general_dilated(x, flipped, (1, 1), ((2, 2), (2, 2)), lhs_dilation=(2, 2))


def _attention(case: Case, q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("nid,njd->nij", q, k) * q.shape[-1] ** -0.5
    return jnp.einsum("nij,njd->nid", jax.nn.softmax(scores), v)


def _network(case: Case, x: Any, w1: Any, w2: Any, w3: Any, target: Any) -> Any:
    first = jax.nn.relu(_convolution(x, w1))
    second = jax.nn.relu(_convolution(first, w2))
    chances = jax.nn.softmax(second.reshape(x.shape[0], -1) @ w3)
    return jnp.sum((chances - target) ** 2) / 64.0


_PROGRAMS: dict[str, Callable[..., Any]] = {
    "matmul": lambda case, x, w: x @ w,
    "conv2d": lambda case, x, w: _convolution(x, w, case.stride, case.dilation),
    "transposed": _transposed,
    "softmax": lambda case, x: jax.nn.softmax(x),
    "attention": _attention,
    "network": _network,
}
