"""torch's programs, which its interpreter runs: no part of mlirad is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.te.cases import Case

Run = Callable[[], list[np.ndarray]]


def start(threads: int) -> None:
    """The threads of all programs."""
    torch.set_num_threads(threads)


def program(case: Case) -> Run:
    """A function of no arguments."""
    arrays = dict(zip(case.shapes, map(torch.from_numpy, case.arrays())))
    wanted = case.wanted.split(", ")
    asked = [arrays[one[1:]].requires_grad_() for one in wanted if one.startswith("d")]
    head = arrays.pop("head", None)

    def run() -> list[np.ndarray]:
        y = _PROGRAMS[case.kind](case, **arrays)
        found = iter(torch.autograd.grad(y, asked, head) if asked else [])
        return [(next(found) if one.startswith("d") else y.detach()).numpy() for one in wanted]

    return run


def _attention(case: Case, q: Any, k: Any, v: Any) -> Any:
    scores = torch.einsum("nid,njd->nij", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("nij,njd->nid", torch.softmax(scores, -1), v)


def _network(case: Case, x: Any, w1: Any, w2: Any, w3: Any, target: Any) -> Any:
    first = functional.relu(functional.conv2d(x, w1))
    second = functional.relu(functional.conv2d(first, w2))
    chances = torch.softmax(second.reshape(x.shape[0], -1) @ w3, -1)
    return ((chances - target) ** 2).sum() / 64.0


_PROGRAMS: dict[str, Callable[..., Any]] = {
    "matmul": lambda case, x, w: x @ w,
    "conv2d": lambda case, x, w: functional.conv2d(
        x, w, stride=case.stride, dilation=case.dilation
    ),
    "transposed": lambda case, x, w: functional.conv_transpose2d(x, w.transpose(0, 1), stride=2),
    "softmax": lambda case, x: torch.softmax(x, -1),
    "attention": _attention,
    "network": _network,
}
