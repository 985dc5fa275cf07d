"""From the remedies of a report to a plan, a script, and steps that are taken and taken back."""
