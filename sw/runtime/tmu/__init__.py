"""Running TMU programs."""
