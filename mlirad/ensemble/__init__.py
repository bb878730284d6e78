"""`mlirad.ensemble`: one program over many scenes, in Ray workers; see docs/distributed.md.

Importing this module needs ray (`pip install 'mlirad[ray]'`); nothing else does.
"""

from mlirad.ensemble.ensemble import Ensemble, Found

__all__ = ["Ensemble", "Found"]


def __dir__() -> list[str]:
    return __all__
