"""Machines on FPGA boards: the serial line between a host and any machine's host port."""
