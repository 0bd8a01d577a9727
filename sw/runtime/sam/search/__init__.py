"""Finds schedules of models by estimates of what they do."""
