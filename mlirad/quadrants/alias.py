"""`import mlirad.quadrants.alias`: from then on, `import quadrants` gives mlirad.

For programs whose source cannot be changed. Before any `import quadrants`; else ImportError.
"""

import sys

import mlirad.quadrants as ours

_NAME = "quadrants"


def install() -> None:
    """Make `quadrants`, and the modules inside it, names of mlirad's. Raises ImportError if
    Quadrants itself was imported."""
    if sys.modules.get(_NAME, ours) is not ours:
        raise ImportError(
            "mlirad.quadrants.alias: Quadrants itself was imported before it: import "
            "mlirad.quadrants.alias first"
        )
    package = ours.__name__
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            sys.modules[name.replace(package, _NAME, 1)] = module


install()
