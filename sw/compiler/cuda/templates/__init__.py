"""Schedule templates that ship with the project, registered in the order that listings show."""

from sw.compiler.cuda.templates.block_samples import BlockSamples
from sw.compiler.cuda.templates.one_hot import OneHot
from sw.compiler.cuda.templates.reduce_by_key import ReduceByKey
from sw.compiler.cuda.templates.split_sample import SplitSample
from sw.compiler.cuda.templates.sub_warp_per_sample import SubWarpPerSample
from sw.compiler.cuda.templates.table_in_shared import TableInShared
from sw.compiler.cuda.templates.template import register
from sw.compiler.cuda.templates.template import template as template
from sw.compiler.cuda.templates.template import templates as templates
from sw.compiler.cuda.templates.warp_per_sample import WarpPerSample

for _kind in (
    BlockSamples,
    OneHot,
    ReduceByKey,
    SplitSample,
    SubWarpPerSample,
    TableInShared,
    WarpPerSample,
):
    register(_kind())
