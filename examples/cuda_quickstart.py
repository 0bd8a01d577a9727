"""Two features in one fused kernel, looked up on a GPU if there is one, else on its emulation."""

import numpy as np

from gnarl import Device
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature, FeatureInputs

model = EmbeddingModel(
    "shop",
    (
        Feature("user", rows=1000, dim=4),
        Feature("clicked", rows=500, dim=2, pooling="mean"),
    ),
)
tables = [np.ones((1000, 4), np.float32), np.arange(1000, dtype=np.float32).reshape(500, 2)]
batch = Batch(
    2,  # samples
    [
        FeatureInputs(indices=np.array([7, 8]), offsets=np.array([0, 1, 2])),
        FeatureInputs(indices=np.array([0, 1, 499]), offsets=np.array([0, 2, 3])),
    ],
)

device = Device("cuda_sm90")
program = device.compile(model)
outputs = device.run(program, (tables, batch)).outputs
print("user", outputs["user"].tolist())
print("clicked", outputs["clicked"].tolist())
