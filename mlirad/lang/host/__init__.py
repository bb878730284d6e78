"""Fields and ndarrays as Python sees them: elements, slices, arrays of other libraries."""
