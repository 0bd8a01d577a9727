"""Boards: requests and responses as frames on a serial line."""
