"""Placeholder."""
from mlirad.bindings import ir


def check_access_rules(module: ir.Operation) -> None:
    """Refuse kernels that overwrite what their gradient still needs."""
