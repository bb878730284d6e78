"""Tensor expressions beside libraries: `python -m benchmarks.te`."""
