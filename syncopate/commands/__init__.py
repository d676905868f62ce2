"""One module for each command; the names are those of syncopate.__main__."""
