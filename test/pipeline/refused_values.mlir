// RUN: not mlirad-opt %s --split-parallel-loops=threads=0 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not mlirad-opt %s --insert-private-copies=threads=-2 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not mlirad-opt %s --cpu-pipeline=threads=1000000 2>&1 | filecheck %s --check-prefix=MILLION
// RUN: not mlirad-opt %s --lower-parallel-to-gpu=block_dim=4096 2>&1 | filecheck %s --check-prefix=BLOCK
// RUN: not mlirad-opt %s --keep-launch=number=-7 2>&1 | filecheck %s --check-prefix=LAUNCH
// RUN: not mlirad-opt %s --differentiate-forward=tangents=0 2>&1 | filecheck %s --check-prefix=TANGENTS
// RUN: not mlirad-opt %s --insert-fast-math=flags=nsz+fats 2>&1 | filecheck %s --check-prefix=FLAGS
// RUN: not mlirad-opt %s --split-parallel-loops=worth=1_0 2>&1 | filecheck %s --check-prefix=DIGITS

// ZERO: mlirad-opt: error: option 'threads' of 'split-parallel-loops' is 1 to 1024, not 0
// NEGATIVE: mlirad-opt: error: option 'threads' of 'insert-private-copies' is 1 to 1024, not -2
// MILLION: mlirad-opt: error: option 'threads' of 'cpu-pipeline' is 1 to 1024, not 1000000
// BLOCK: mlirad-opt: error: option 'block_dim' of 'lower-parallel-to-gpu' is 1 to 1024, not 4096
// LAUNCH: mlirad-opt: error: option 'number' of 'keep-launch' is 0 to 1000000, not -7
// TANGENTS: mlirad-opt: error: option 'tangents' of 'differentiate-forward' is 1 to 4096, not 0
// FLAGS: mlirad-opt: error: option 'flags' of 'insert-fast-math' is some of none, reassoc, {{.*}}, not 'nsz+fats'
// DIGITS: mlirad-opt: error: option 'worth' of 'split-parallel-loops' has values of type int, not '1_0'
