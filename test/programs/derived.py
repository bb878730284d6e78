"""First and second derivatives of a program of two fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mlirad as ti


def derived(
    run: Callable[[], None], fields: Sequence[Any], loss: Any, random: np.random.Generator
) -> dict[str, Any]:
    """The gradients of a loss, and the products of its Hessian with directions that are random, and
    0 in part."""
    with ti.ad.Tape(loss):
        run()
    found = {f"gradient {k}": field.grad.to_numpy() for k, field in enumerate(fields)}
    along = [random.standard_normal(field.shape).astype(np.float32) for field in fields]
    along[0][10:20] = 0.0

    def forward() -> None:
        loss[None] = 0.0
        run()

    products = ti.ad.hvp(forward, loss, list(fields), along)
    return found | {f"along {k}": product for k, product in enumerate(products)}
