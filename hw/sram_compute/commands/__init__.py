"""The unit that fetches and decodes a program's commands, and sees to it that they are done."""
