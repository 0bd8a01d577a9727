"""The passes between SCF and DLC, a module each."""
