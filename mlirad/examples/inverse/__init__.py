"""Programs that find causes from what was measured, with the optimizers of SciPy and torch."""
