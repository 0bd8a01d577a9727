"""The IR of loop nests: its nodes and types, checks, printing, and changes of nests."""
