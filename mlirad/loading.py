"""Loading mlirad: the first module of ours to be read.

What is imported stays: to look through it for garbage, again and again as it grows, would take a
fifth of the time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import dirname
from time import time_ns

BEGAN, FOLDER = time_ns(), dirname(__file__)
_SELDOM = 100_000  # objects more between two looks at the youngest


@contextmanager
def importing() -> Iterator[None]:
    """Look for garbage seldom while modules are imported, and never among what they left."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(_SELDOM, before[0]), *before[1:])
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()  # all objects are old now
            gc.unfreeze()
        gc.set_threshold(*before)


ALL = importing()  # of the package's own imports
ALL.__enter__()
