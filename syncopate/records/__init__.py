"""What a record says: read, named, added up, compared."""
