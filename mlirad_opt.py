"""`mlirad-opt` as a program: it loads the compiler, and nothing of what `import mlirad` loads for
kernels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec


def main() -> int:
    """Run the command line of this process; the exit status."""
    load_compiler()
    status: int = import_module("mlirad.pipeline.opt").main()
    return status


def load_compiler() -> None:
    """Import the package without its public names, and MLIR's bindings without what they load for
    NumPy's sake."""
    spec = find_spec("mlirad")
    assert spec is not None
    sys.modules.setdefault("mlirad", module_from_spec(spec))
    with _without("numpy"):
        import_module("mlirad.bindings")


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Make imports of a module fail meanwhile, unless it is there already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


if __name__ == "__main__":
    sys.exit(main())
