read_liberty cells.lib
read_liberty memories.lib
