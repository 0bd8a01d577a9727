"""When instructions of a vector core issue, and its lines of memory come, cycle by cycle.

The core's programs are interpreted elsewhere; what is needed here of each instruction that is done
is a line of a trace (``gnarl.sw.execute.trace``).
"""
