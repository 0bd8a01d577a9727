"""Runs machine code of sm_90 on the CPU, warp by warp, and counts what is executed."""
