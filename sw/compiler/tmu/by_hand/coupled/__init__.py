"""Programs for the execute unit alone."""
