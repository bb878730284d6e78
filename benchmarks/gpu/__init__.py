"""What a GPU makes of mlirad: the tests on it, and times beside its ceilings and other systems."""
