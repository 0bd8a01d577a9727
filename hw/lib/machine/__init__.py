"""A machine around a target's datapath: host port, run control, counters, sticky errors."""
