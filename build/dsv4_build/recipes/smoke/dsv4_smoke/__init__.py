"""Two attention kernels, built as vLLM's are: ``_C`` and, for Hopper, ``_fa3_C``.

Importing this package loads no extension module and touches no GPU.
"""
