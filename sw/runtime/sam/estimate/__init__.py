"""Estimates of what a program does, from a part of the rows that it would walk."""
