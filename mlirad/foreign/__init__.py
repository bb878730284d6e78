"""Functions of arrays for other libraries: torch's autograd, JAX's transformations."""
