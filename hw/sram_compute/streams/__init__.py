"""Stream engines near the banks, and their copies and words."""
