"""Programs on disk, simulators, devices."""
