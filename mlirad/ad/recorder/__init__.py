"""Recorders of a tape, and its modes."""
