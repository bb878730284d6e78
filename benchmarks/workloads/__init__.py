"""One program a file, written for any module with Taichi's names: `build(ti, size)` gives a
`Workload`.

Kernels have no `-> None`, which Taichi takes for a value that they return.
"""
