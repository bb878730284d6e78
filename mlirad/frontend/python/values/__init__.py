"""What an expression of a kernel is worth: scalars, vectors, matrices and structs, their types and
functions."""
