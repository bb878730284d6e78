"""Memory of a device, reached by its driver."""
