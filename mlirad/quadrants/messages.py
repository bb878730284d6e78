"""`qd._logging`: what Quadrants' C++ part logs by, for programs that put loggers of their own in
its place. mlirad warns by Python's `warnings` and logs nothing here."""

from __future__ import annotations

import logging
from collections.abc import Callable

TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = (
    *("trace", "debug", "info"),
    *("warn", "error", "critical"),
)
_LEVELS = {TRACE: 5, DEBUG: 10, INFO: 20, WARN: 30, ERROR: 40, CRITICAL: 50}
_logger = logging.getLogger("mlirad.quadrants")


def _get_logging(level: str) -> Callable[..., None]:
    """Return a function that logs a message at a level."""
    number = _LEVELS[level]
    return lambda message, *arguments: _logger.log(number, message, *arguments)


NAMES = {
    **{name.upper(): name for name in _LEVELS},
    **{name: _get_logging(name) for name in _LEVELS},
    "_get_logging": _get_logging,
}
