"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says something of the machine, and nothing of the code.
settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")
