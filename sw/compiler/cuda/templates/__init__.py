"""Schedule templates that ship with the project, registered in the order that listings show."""

from gnarl.sw.compiler.cuda.templates.block_samples import BlockSamples
from gnarl.sw.compiler.cuda.templates.one_hot import OneHot
from gnarl.sw.compiler.cuda.templates.pooled_bags import PooledBags
from gnarl.sw.compiler.cuda.templates.reduce_by_key import ReduceByKey
from gnarl.sw.compiler.cuda.templates.short_bags import ShortBags
from gnarl.sw.compiler.cuda.templates.split_sample import SplitSample
from gnarl.sw.compiler.cuda.templates.sub_warp_per_sample import SubWarpPerSample
from gnarl.sw.compiler.cuda.templates.table_in_shared import TableInShared
from gnarl.sw.compiler.cuda.templates.template import register
from gnarl.sw.compiler.cuda.templates.template import template as template
from gnarl.sw.compiler.cuda.templates.template import templates as templates
from gnarl.sw.compiler.cuda.templates.warp_per_sample import WarpPerSample

for _kind in (
    PooledBags,
    ShortBags,
    BlockSamples,
    OneHot,
    ReduceByKey,
    SplitSample,
    SubWarpPerSample,
    TableInShared,
    WarpPerSample,
):
    register(_kind())
