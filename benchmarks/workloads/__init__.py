"""One program a file, written for any module with Taichi's names: `build(ti, size)` gives a `Workload`."""
