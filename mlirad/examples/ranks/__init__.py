"""Programs for several processes: `mpiexec -n 4 python -m mlirad.examples.ranks.waves`."""
