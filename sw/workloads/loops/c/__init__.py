"""Loop nests from functions of C."""
