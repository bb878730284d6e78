"""Programs that tests write or take: random ones of several kinds, and kernels that every target
compiles."""
