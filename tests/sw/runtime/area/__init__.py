"""What hardware costs."""
