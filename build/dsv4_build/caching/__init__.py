"""Compiler caches: which one a build uses, how it is kept truthful, and what it gave."""
