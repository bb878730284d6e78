"""`ti.init(arch=ti.python)`: kernels and functions run as Python itself runs them, for debuggers,
prints and breakpoints. Nothing of it is imported before."""
