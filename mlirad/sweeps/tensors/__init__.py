"""Adjoints and tangents of tensors that are defined element by element."""
