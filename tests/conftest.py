"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# How long one example takes says something about the machine, not about the code.
settings.register_profile("dsv4", deadline=None)
settings.load_profile("dsv4")
