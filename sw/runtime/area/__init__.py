"""What hardware costs in gates, area, delay and power, by component."""
