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
        f"mlirad.ensemble needs ray, which is not installed ({error}): pip install 'mlirad[ray]'"
    ) from error

Array = NDArray[Any]
Scene = Any
Program = Callable[[Array, Scene], tuple[float, Array]]


class Found(msgspec.Struct, frozen=True):
    """The sum of the losses of all scenes and its gradient, the loss of each scene, and the number
    of workers that died."""

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
    """A program on Ray workers, one for each processor. Each worker builds the program by `make()`
    in its own process.

    A worker that dies is replaced, and its scene runs again. An exception in the program ends the
    call, as Ray raises it. Losses and gradients are added in the order of the scenes, so the bits
    do not depend on the number of workers, nor on which of them died.

    Args:
        make: a function that starts mlirad (`ti.init(cpu_max_num_threads=1)`), declares fields and
            kernels, and returns a function of parameters and a scene that returns a loss and its
            gradient with respect to the parameters. It is sent to the workers by pickle, so import
            or define kernels inside it.
        workers: the number of workers.
        retries: how often a scene may run again.
    """

    def __init__(self, make: Callable[[], Program], workers: int, retries: int = 3) -> None:
        """Begin the workers. Raises TaichiRuntimeError for more than Ray has processors: they would
        never begin."""
        if workers < 1 or retries < 0:
            raise TaichiRuntimeError(
                f"Ensemble: expected at least one worker and no negative retries, got {workers} "
                f"and {retries}"
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
        """Return the sums over all scenes. Raises TaichiRuntimeError if the workers of a scene died
        too often."""
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
