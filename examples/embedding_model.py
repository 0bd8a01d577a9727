"""The embedding layer of a small shop's recommendation model: 28 features of many kinds.

gnarl run cuda_sm90 examples/embedding_model.py:model
"""

from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

# One value a sample: user, item and context.
one_hot = [
    Feature("user", rows=50_000, dim=64, table_type="float16"),
    Feature("item", rows=20_000, dim=64, table_type="float16"),
    Feature("category", rows=1024, dim=16),
    Feature("brand", rows=4096, dim=16),
    Feature("country", rows=250, dim=8, index_type="int32"),
    Feature("language", rows=100, dim=4, index_type="int32"),
    Feature("device", rows=50, dim=4, index_type="int32"),
    *(Feature(f"hour_{zone}", rows=24, dim=3, index_type="int32") for zone in ("local", "utc")),
    # Not every visitor has one.
    Feature("age_group", rows=12, dim=4, factors=PoolingFactors(coverage=0.6)),
    Feature("campaign", rows=999, dim=7, factors=PoolingFactors(coverage=0.2)),
]

# Histories: as many values as a visitor has, few or many.
few = PoolingFactors(mean=10, std=10, maximum=50, coverage=0.8)
many = PoolingFactors(mean=100, std=50, maximum=200, coverage=0.8)
rare = PoolingFactors(mean=200, std=100, coverage=0.3)
histories = [
    Feature("items_viewed", 20_000, 64, "mean", "float16", factors=many),
    Feature("items_bought", 20_000, 64, "mean", "float16", factors=few),
    Feature("items_in_cart", 20_000, 64, "sum", "float16", factors=few),
    Feature("brands_viewed", 4096, 16, "max", factors=many),
    Feature("categories_viewed", 1024, 16, "max", factors=few),
    Feature("searched_words", 30_000, 32, "sum", "bfloat16", "bfloat16", factors=rare),
    Feature("clicked_words", 30_000, 32, "sum", "bfloat16", "bfloat16", factors=many),
    Feature(
        "friends", 50_000, 32, "mean", "int8_rowwise", factors=PoolingFactors(50, 50, coverage=0.5)
    ),
    Feature("pages", 8192, 128, index_type="int32", factors=rare),
    Feature("tags", 2000, 100, factors=few),
]

# Scores: values with a weight each.
scored = [
    Feature("interests", 512, 32, weighted=True, factors=PoolingFactors(mean=50)),
    Feature("topics", 512, 32, "mean", weighted=True, factors=PoolingFactors(mean=10)),
    Feature("recent_items", 20_000, 64, "sum", "float16", "float16", weighted=True, factors=few),
    Feature("recent_brands", 4096, 16, "sum", "bfloat16", weighted=True, factors=few),
    Feature("embedded_title", 1024, 256, index_type="int32", weighted=True, factors=few),
    Feature("neighbours", 4096, 8, weighted=True, factors=many),
    Feature("seasons", 4, 1, weighted=True, factors=PoolingFactors(mean=4)),
]

model = EmbeddingModel("shop", (*one_hot, *histories, *scored))
