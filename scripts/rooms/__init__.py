"""Holds the code against the table of rooms, scripts/rooms.toml (check_rooms.py)."""
