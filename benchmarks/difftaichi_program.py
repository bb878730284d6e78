"""The process that runs one program for a few tapes: `python difftaichi_program.py SYSTEM TAPES
PROGRAM [ARGUMENT ...]`.

It needs nothing but Python and the system, and prints one line of JSON: the losses, the seconds of
each tape, the peak of memory, and what of it is code in files.
"""

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import resource
import runpy
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

PREFIX = "@@"  # marks our line among what programs print


def main() -> None:
    """Run the program until it has left as many tapes as asked for."""
    system, tapes, program, *arguments = sys.argv[1:]
    os.environ.setdefault("MPLBACKEND", "Agg")
    for cache in ("TI_OFFLINE_CACHE", "MLIRAD_OFFLINE_CACHE"):
        os.environ.setdefault(cache, "0")
    random.seed(0)
    importlib.import_module("numpy").random.seed(0)
    module = _named_taichi(system)
    module.GUI = _Window  # type: ignore[attr-defined]
    _silence_images()
    _measure(module, int(tapes))
    path = Path(program).resolve()
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent))
    os.chdir(path.parent)
    runpy.run_path(str(path), run_name="__main__")


def _measure(module: ModuleType, tapes: int) -> None:
    """Take down the loss and the time of each tape; end the process after the last one."""
    tape, losses, seconds, processor = module.ad.Tape, [], [], []
    enter, leave = tape.__enter__, tape.__exit__

    def entered(self: Any) -> Any:
        self.began, self.used = time.perf_counter(), time.process_time()
        return enter(self)

    def left(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        result = leave(self, kind, error, trace)
        if kind is None:
            losses.append(float(self.loss.to_numpy()))
            seconds.append(time.perf_counter() - self.began)
            processor.append(time.process_time() - self.used)
        if len(losses) == tapes:
            found = {"losses": losses, "seconds": seconds, "used": processor, **_memory()}
            print(PREFIX + json.dumps(found), flush=True)
            os._exit(0)
        return result

    tape.__enter__, tape.__exit__ = entered, left


def _memory() -> dict[str, float]:
    """The peak of the process's memory, and what is mapped from files now, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    files = next(int(line.split()[1]) for line in lines if line.startswith("RssFile"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"peak": peak / 1024, "code": files / 1024}


# What programs see.


class _Window:
    """In the place of a window."""

    running = True

    def __init__(self, *arguments: object, **options: object) -> None:
        """Nothing is shown."""

    def get_event(self, *arguments: object) -> bool:
        """There is none."""
        return False

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: None


def _silence_images() -> None:
    try:
        cv2: Any = importlib.import_module("cv2")
    except ImportError:
        return
    cv2.imshow = lambda *arguments, **options: None
    cv2.waitKey = lambda *arguments, **options: -1


def _named_taichi(system: str) -> ModuleType:
    """Let `import taichi` give a system."""
    module = importlib.import_module(system)
    if system != "taichi":
        sys.meta_path.insert(0, _Finder(system))
        sys.modules["taichi"] = module
    return module


class _Finder(importlib.abc.MetaPathFinder):
    """Finds parts of Taichi's package in another one."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """The part of the same name."""
        if not name.startswith("taichi."):
            return None
        module = importlib.import_module(self.package + name.removeprefix("taichi"))
        loader: Any = SimpleNamespace(
            create_module=lambda spec: module, exec_module=lambda module: None
        )
        return importlib.machinery.ModuleSpec(name, loader, is_package=True)


if __name__ == "__main__":
    main()
