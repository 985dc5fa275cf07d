"""Typer commands: wiring only, one file per command group."""
