"""A kernel from its module to code of all its modes."""
