"""What a user would time, on mlirad and on other modules with Taichi's names: `python -m
benchmarks`."""
