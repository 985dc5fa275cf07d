"""ELF, fat binaries and kernels: what is inside a shared object or a wheel."""
