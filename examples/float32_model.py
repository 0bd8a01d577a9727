"""The embedding layer of a small blog's recommendation model, all of it in float32.

gnarl run tmu_l2 examples/float32_model.py:model --batch 8
"""

from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

few = PoolingFactors(mean=5, std=5, maximum=20, coverage=0.8)

model = EmbeddingModel(
    "blog",
    (
        Feature("reader", rows=500, dim=16),
        Feature("post", rows=200, dim=16, index_type="int32"),
        Feature("country", rows=250, dim=4, factors=PoolingFactors(coverage=0.6)),
        Feature("posts_read", 200, 16, "mean", factors=few),
        Feature("words", 1000, 8, "sum", factors=few),
        Feature("tags", 100, 8, "max", factors=few),
        Feature("interests", 64, 8, "sum", weighted=True, factors=few),
    ),
)
