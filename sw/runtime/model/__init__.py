"""Interpreters of compiled programs, one for each target, with the hardware's rules as errors."""
