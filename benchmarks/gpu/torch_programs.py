"""Workloads of `benchmarks.workloads` as a user of torch would write them, with the same
numbers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.nn.functional import conv2d, pad
from torch.utils.checkpoint import checkpoint

from benchmarks.gpu.starts import Arrays, start
from benchmarks.workloads import lbm, mass_spring, stencil2d
from benchmarks.workloads.nbody import SOFTENING
from benchmarks.workloads.softmax_attention import WIDTH

_ROWS = 1024  # of pairs at a time


class Program:
    """A loss and its gradient with respect to some tensors."""

    def __init__(self, loss: Callable[..., Any], inputs: Sequence[Any]) -> None:
        self._loss, self._inputs = loss, [one.requires_grad_(True) for one in inputs]
        self._is_cuda = inputs[0].is_cuda
        self._result: Any = None

    def _wait(self) -> None:
        if self._is_cuda:
            torch.cuda.synchronize()

    def primal(self) -> None:
        """The loss."""
        with torch.no_grad():
            self._loss(*self._inputs)
        self._wait()

    def gradient(self) -> None:
        """The loss and the gradients."""
        loss = self._loss(*self._inputs)
        self._result = loss.detach(), torch.autograd.grad(loss, self._inputs)
        self._wait()

    def value(self) -> float:
        """The loss."""
        return float(self._result[0])

    def gradients(self) -> list[Any]:
        """Those of the last time."""
        return [one.cpu().numpy() for one in self._result[1]]


def build(case: str, size: int, arch: str, steps: int) -> Program:
    """One of them. Raises KeyError for a workload that is not written for torch."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device = "cuda" if arch == "cuda" else "cpu"
    arrays = {name: torch.from_numpy(array).to(device) for name, array in start(case, size).items()}
    loss, names = PROGRAMS[case]
    return Program(partial(loss, arrays, steps), [arrays[name] for name in names])


def _copy(_: Arrays, steps: int, x: Any) -> Any:
    return x.clone()[len(x) // 3]


def _saxpy_sum(_: Arrays, steps: int, x: Any, y: Any) -> Any:
    return ((0.75 * x + y) ** 2).sum()


def _stencil2d(arrays: Arrays, steps: int, begin: Any) -> Any:
    last, before = begin, begin
    for _ in range(2, steps or stencil2d.STEPS):
        middle = last[1:-1, 1:-1]
        around = last[:-2, 1:-1] + last[2:, 1:-1] + last[1:-1, :-2] + last[1:-1, 2:]
        moved = middle + stencil2d.DAMPING * (middle - before[1:-1, 1:-1])
        last, before = pad(moved + stencil2d.SPEED * (around - 4.0 * middle), (1, 1, 1, 1)), last
    return ((last - arrays["wanted"]) ** 2).mean()


def _nbody(arrays: Arrays, steps: int, place: Any) -> Any:
    mass = arrays["mass"]

    def of_rows(rows: Any, weights: Any, place: Any) -> Any:
        squares = ((rows[:, None] - place) ** 2).sum(-1)
        return (weights * (mass / torch.sqrt(squares + SOFTENING**2)).sum(-1)).sum()

    pieces = [
        checkpoint(of_rows, rows, weights, place, use_reentrant=False)
        for rows, weights in zip(place.split(_ROWS), mass.split(_ROWS))
    ]
    return -0.5 * torch.stack(pieces).sum()


def _network(arrays: Arrays, steps: int, inner: Any, outer: Any) -> Any:
    hidden = torch.tanh(arrays["given"] @ inner.T)
    miss = torch.tanh(hidden @ outer.T) - arrays["wanted"]
    return (miss * miss).sum() / len(miss)


def _matmul(arrays: Arrays, steps: int, left: Any, right: Any) -> Any:
    return (arrays["weight"] * (left @ right)).sum()


def _conv2d(arrays: Arrays, steps: int, image: Any, kernel: Any) -> Any:
    result = conv2d(image.permute(2, 0, 1)[None], kernel.permute(3, 2, 0, 1))
    return (arrays["weight"] * result[0].permute(1, 2, 0)).sum()


def _softmax_attention(arrays: Arrays, steps: int, query: Any, key: Any, value: Any) -> Any:
    weight = torch.softmax(query @ key.T * WIDTH**-0.5, -1)
    miss = weight @ value - arrays["wanted"]
    return (miss * miss).sum() / len(miss)


def _mass_spring(arrays: Arrays, steps: int, length: Any) -> Any:
    first, second = arrays["first"], arrays["second"]
    place, speed = arrays["places"], torch.zeros_like(arrays["places"])
    gravity = torch.tensor([0.0, mass_spring.GRAVITY], device=place.device)
    for _ in range(mass_spring.STEPS):
        apart = place[first] - place[second]
        distance = torch.sqrt((apart * apart).sum(-1) + 1e-8)
        force = (mass_spring.STIFFNESS * (1.0 - length / distance))[:, None] * apart
        pull = torch.zeros_like(place).index_add(0, first, -force).index_add(0, second, force)
        speed = mass_spring.DRAG * speed + mass_spring.STEP * (pull + gravity)
        place = place + mass_spring.STEP * speed
    return (place * place).sum() / len(place)


def _at_rest(mass: Any, u: Any, v: Any) -> Any:
    along, across, weight = (
        torch.tensor(row, dtype=u.dtype, device=u.device)
        for row in (lbm.ALONG, lbm.ACROSS, lbm.WEIGHT)
    )
    speed = along * u[..., None] + across * v[..., None]
    square = (u * u + v * v)[..., None]
    return weight * mass[..., None] * (1 + 3 * speed + 4.5 * speed * speed - 1.5 * square)


def _lbm(_: Arrays, steps: int, along: Any, across: Any) -> Any:
    ways = [
        torch.tensor(row, dtype=along.dtype, device=along.device) for row in (lbm.ALONG, lbm.ACROSS)
    ]
    density = _at_rest(torch.ones_like(along), along, across)
    for _ in range(lbm.STEPS):
        shifts = zip(lbm.ALONG, lbm.ACROSS)
        came = torch.stack(
            [density[..., q].roll(shift, (0, 1)) for q, shift in enumerate(shifts)], -1
        )
        mass = came.sum(-1)
        u, v = (came @ way / mass for way in ways)
        density = came + lbm.RELAXATION * (_at_rest(mass, u, v) - came)
    return ((density @ ways[0]) ** 2).sum()


PROGRAMS: dict[str, tuple[Callable[..., Any], Sequence[str]]] = {
    "copy": (_copy, ("x",)),
    "saxpy_sum": (_saxpy_sum, ("x", "y")),
    "stencil2d": (_stencil2d, ("start",)),
    "nbody": (_nbody, ("place",)),
    "network": (_network, ("inner", "outer")),
    "matmul": (_matmul, ("left", "right")),
    "conv2d": (_conv2d, ("image", "kernel")),
    "softmax_attention": (_softmax_attention, ("query", "key", "value")),
    "mass_spring": (_mass_spring, ("length",)),
    "lbm": (_lbm, ("along", "across")),
}
