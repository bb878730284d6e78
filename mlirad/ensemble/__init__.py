"""Ensembles: one program over many scenes, in Ray's workers: see docs/distributed.md.

Importing this needs ray (`pip install 'mlirad[ray]'`); nothing else does.
"""

from mlirad.ensemble.ensemble import Ensemble, Found

__all__ = ["Ensemble", "Found"]


def __dir__() -> list[str]:
    return __all__
