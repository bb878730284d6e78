"""What arguments have to be beyond their types: `Annotated[Any, Kind(...)]` is the annotation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """What messages call it, one and several, and whether a value is one; `advice` is for those
    who give something else."""

    singular: str
    plural: str
    fits: Callable[[Any], bool]
    advice: Callable[[Any], str] = lambda value: ""
