"""Choosing a CUDA toolkit of the machine, or assembling one from PyPI's wheels."""
