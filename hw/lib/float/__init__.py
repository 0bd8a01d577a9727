"""Floating-point datapaths."""
