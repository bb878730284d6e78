"""Programs that tests start where CUDA's driver is a stub (`--stub`) have a stub, too.

Python imports this when it starts, if its folder is in PYTHONPATH. Nothing else is imported before
the program asks for the GPU.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

EXECUTORS = "mlirad.runtime.executors"


class Finder(MetaPathFinder):
    """Finds the table of executors, and puts the stub's into it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        if fullname != EXECUTORS:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None and spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_stub(module: Any) -> None:
            execute(module)
            module.EXECUTORS["cuda"] = stubbed

        vars(spec.loader)["exec_module"] = execute_and_stub
        return spec


def stubbed() -> Any:
    """Return the executor on a stub, which is asked for its user's mistakes at the end."""
    from runtime.cuda.machine import stub_the_driver

    stub = stub_the_driver()
    atexit.register(
        lambda: stub.mistakes and print(f"the driver: {stub.mistakes}", file=sys.stderr)
    )
    return sys.modules[EXECUTORS].EXECUTORS["cuda"]()


if os.environ.get("MLIRAD_ARCH") == "cuda":
    sys.meta_path.insert(0, Finder())
