"""NVIDIA GPUs by their driver: nothing here loads it before a program asks for one."""
