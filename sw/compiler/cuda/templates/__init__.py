"""Schedule templates that ship with the project, registered in the order that listings show."""

from sw.compiler.cuda.templates import block_samples as block_samples
from sw.compiler.cuda.templates import one_hot as one_hot
from sw.compiler.cuda.templates import reduce_by_key as reduce_by_key
from sw.compiler.cuda.templates import split_sample as split_sample
from sw.compiler.cuda.templates import sub_warp_per_sample as sub_warp_per_sample
from sw.compiler.cuda.templates import table_in_shared as table_in_shared
from sw.compiler.cuda.templates import warp_per_sample as warp_per_sample
from sw.compiler.cuda.templates.template import template as template
from sw.compiler.cuda.templates.template import templates as templates
