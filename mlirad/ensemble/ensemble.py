"""A program with parameters, mapped over scenes by Ray's workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mlirad.errors import TaichiRuntimeError

try:
    import ray
except ImportError as error:
    raise ImportError(
        f"mlirad.ensemble needs ray, which is not here ({error}): pip install 'mlirad[ray]'"
    ) from error

Array = NDArray[Any]
Scene = Any
Program = Callable[[Array, Scene], tuple[float, Array]]


class Found(msgspec.Struct, frozen=True):
    """The sum of the losses of all scenes and its gradient, the loss of each, and how many workers
    died meanwhile."""

    loss: float
    gradient: Array
    losses: Array
    deaths: int


class _Worker:
    """A process with a program of its own."""

    def __init__(self, make: Callable[[], Program]) -> None:
        self._program = make()

    def run(self, parameters: Array, scene: Scene) -> tuple[float, Array]:
        """A scene's loss and gradient."""
        loss, gradient = self._program(parameters, scene)
        return float(loss), np.array(gradient)


class Ensemble:
    """A program that Ray's workers have, each made by `make()` in its process, one a processor.

    `make` starts mlirad (`ti.init(cpu_max_num_threads=1)`), declares fields and kernels, and gives
    a function: of parameters and a scene, to a loss and its gradient in the parameters. It goes to
    the workers by pickle, so kernels are imported or made within it. A worker that dies is
    replaced, and its scene run again, `retries` times for a scene; an exception of the program ends
    all, as Ray raises it.

    Losses and gradients are added up in the order of the scenes, whoever ran them: the bits do not
    depend on how many workers there are, or on which died.
    """

    def __init__(self, make: Callable[[], Program], workers: int, retries: int = 3) -> None:
        """Begin the workers. Raises TaichiRuntimeError for more than Ray has processors: they would
        never begin."""
        if workers < 1 or retries < 0:
            raise TaichiRuntimeError(
                f"Ensemble has one worker at least, and no negative retries: {workers}, {retries}"
            )
        self._make, self.retries = make, retries
        self._kind: Any = ray.remote(num_cpus=1, max_restarts=0)(_Worker)
        if not ray.is_initialized():
            ray.init(log_to_driver=False, include_dashboard=False)
        there = int(ray.cluster_resources().get("CPU", 0))
        if workers > there:
            raise TaichiRuntimeError(
                f"Ensemble: {workers} workers need a processor each, and Ray has {there}"
            )
        self._workers = [self._kind.remote(make) for _ in range(workers)]

    def gradient(self, parameters: Array, scenes: Sequence[Scene]) -> Found:
        """The sum over scenes. Raises TaichiRuntimeError if a scene's workers died too often."""
        shared = ray.put(np.asarray(parameters))
        waiting, idle = list(range(len(scenes)))[::-1], list(range(len(self._workers)))
        tries = [0] * len(scenes)
        results: dict[int, tuple[float, Array]] = {}
        running: dict[Any, tuple[int, int]] = {}  # the scene and the worker of a result to come
        deaths = 0
        while waiting or running:
            while waiting and idle:
                scene, worker = waiting.pop(), idle.pop()
                tries[scene] += 1
                running[self._workers[worker].run.remote(shared, scenes[scene])] = scene, worker
            done, _ = ray.wait(list(running))
            scene, worker = running.pop(done[0])
            try:
                results[scene] = ray.get(done[0])
            except ray.exceptions.RayActorError as error:
                deaths += 1
                if tries[scene] > self.retries:
                    raise TaichiRuntimeError(
                        f"Ensemble: the workers of scene {scene} died {tries[scene]} times; the "
                        f"last: {error}"
                    ) from error
                waiting.append(scene)
                self._workers[worker] = self._kind.remote(self._make)
            idle.append(worker)
        return _sum([results[number] for number in range(len(scenes))], parameters, deaths)

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            ray.kill(worker)
        self._workers = []


def _sum(results: Sequence[tuple[float, Array]], parameters: Array, deaths: int) -> Found:
    total, gradient = 0.0, np.zeros_like(np.asarray(parameters))
    for loss, slope in results:
        total += loss
        gradient = gradient + slope
    return Found(total, gradient, np.array([loss for loss, _ in results]), deaths)
