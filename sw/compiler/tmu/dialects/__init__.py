"""Dialects of the access unit's level."""
