"""Machines on FPGA boards."""
