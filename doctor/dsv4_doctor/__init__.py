"""The checker and the command line of dsv4-doctor."""

__version__ = "0.1.0"
