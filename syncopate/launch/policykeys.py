"""The keys of a policy's entries for single locks (policy.py): where a lock is, what it gets."""

SITES = {"variable": "v", "created": "c", "used": "u"}  # products/preload/choice/policy.h
SETTINGS = ("lock", "elide", "prefer", "barrier")
KINDS = ("lock", "prefer", "barrier")  # each for one kind: mutexes, reader-writer locks, barriers
