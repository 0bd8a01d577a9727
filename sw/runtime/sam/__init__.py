"""SAM behind devices and reports."""
