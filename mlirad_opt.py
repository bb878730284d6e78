"""`mlirad-opt` as a program: it loads the compiler, and nothing of what `import mlirad` loads for
kernels."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any


def main() -> int:
    """Run the command line of this process and return the exit status."""
    load_compiler()
    status: int = import_module("mlirad.pipeline.opt").main()
    return status


def load_compiler() -> None:
    """Import the package without its public names, and MLIR's bindings, which import NumPy for a
    few builders of attributes, without NumPy."""
    spec = find_spec("mlirad")
    assert spec is not None
    sys.modules.setdefault("mlirad", module_from_spec(spec))
    import_later("numpy")
    import_module("mlirad.bindings")


def import_later(name: str) -> None:
    """Have imports of a module load it when an attribute of it is used."""
    if name in sys.modules:
        return
    spec = find_spec(name)
    assert spec is not None and spec.loader is not None
    module, load = module_from_spec(spec), spec.loader.exec_module

    def getattr_of_module(attribute: str) -> Any:
        del module.__getattr__
        load(module)
        return getattr(module, attribute)

    module.__getattr__ = getattr_of_module  # type: ignore[method-assign]
    sys.modules[name] = module


if __name__ == "__main__":
    sys.exit(main())
