"""Tensor expressions: axes, definitions, and their checks."""
