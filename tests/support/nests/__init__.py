"""Loop nests: by name, at random, and what they mean."""
