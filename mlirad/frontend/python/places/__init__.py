"""Memory that a kernel reads and writes: variables, elements of arrays and fields, cells of sparse
blocks."""
