"""Trying a result out: loading its modules, and running its kernels on this machine's GPU."""
