"""The sections of a snapshot: plain frozen data, one module a subject.

Inside a section ``None`` or an empty tuple means "looked, not there". Sizes are bytes unless the
name says otherwise; versions are the text that was read.
"""
