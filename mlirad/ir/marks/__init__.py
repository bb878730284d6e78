"""Attributes that say how an op is to be compiled: rounding, axes, hints."""
