"""A sparse matrix times vectors, compiled once to a SAM graph and run on its simulated RTL."""

import numpy as np
import scipy.sparse

from gnarl import Device

matrix = scipy.sparse.csr_array([[0, 2, 0, 0], [0, 0, 0, 0], [1, 0, 3, 0]])
product = "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s"

with Device("sam_fp32") as device:
    program = device.compile(product)
    for vector in (np.array([1, 10, 100, 1000]), np.array([0, 0, 0.5, 0])):
        result = device.run(program, {"B": matrix, "c": vector})
        x = result.outputs["x"]  # sparse, as -f=x:s says
        print(f"x{x.coordinates.tolist()} = {x.values.tolist()} in {result.cycles} cycles")
