"""Axes, windows and shapes that several operators share."""
