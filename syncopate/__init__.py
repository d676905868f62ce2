"""Syncopate: find where a program waits for locks, and run it with better ones."""

__version__ = "0.1.0"
