"""This machine and the modeled ones: their files, programs for them, changes predicted."""
