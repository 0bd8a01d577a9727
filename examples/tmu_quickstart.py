"""A PyTorch module that sums rows of a table, compiled once for a small TMU and run on its RTL."""

import torch

from gnarl import Device

bags = torch.nn.EmbeddingBag.from_pretrained(torch.arange(40.0).reshape(10, 4), mode="sum")
indices, offsets = torch.tensor([1, 2, 7, 3, 9]), torch.tensor([0, 2, 2])

with Device("tmu_l2") as device:
    workload = device.workload((bags, (indices, offsets)))
    program = device.compile(workload)
    for rows in ([1, 2, 7, 3, 9], [0, 0, 5, 5, 5]):
        result = device.run(program, {**workload.inputs, "input": rows})
        print(f"{result.outputs['result'].tolist()} in {result.cycles} cycles")
