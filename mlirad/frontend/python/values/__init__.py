"""Values of expressions in kernels: scalars, vectors, matrices and structs, their types and
functions."""
