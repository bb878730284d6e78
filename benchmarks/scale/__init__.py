"""How the time and the memory of each workload grow with its size and its steps."""
