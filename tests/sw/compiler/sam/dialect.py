"""Files in the DOT dialect of the SAM tools, from short lines.

``17 fiberlookup index=k tensor=B …`` is a node, ``17 -> 16 crd in-B`` an edge with its comment.
"""

from __future__ import annotations


def dialect(formats: str, lines: str) -> str:
    """The file's text; every node and edge is a line of it, from the third one."""
    found = ["digraph SAM {", f'    comment="{formats}"']
    for line in lines.strip().splitlines():
        words = line.split()
        if words[1] == "->":
            source, _, target, kind, *comment = words
            label = "_".join([kind, *comment])
            text = "".join(comment)
            found.append(
                f'    {source} ->  {target} [label="{label}" type="{kind}" comment="{text}"]'
            )
            continue
        name, kind, *values = words
        comment = ",".join([f"type={kind}", *values])
        pairs = (value.split("=") for value in values)
        attributes = " ".join(f'{key}="{value}"' for key, value in pairs)
        found.append(
            f'    {name} [comment="{comment}" label="{kind}\\nof\n{name}" '
            f'type="{kind}" {attributes}]'
        )
    return "\n".join([*found, "}", ""])


# The operands and results of a matrix product, stored as the loops k, i, j walk it.

KIJ_POINTS = """
17 fiberlookup index=k tensor=B mode=1 format=compressed src=true root=true
18 fiberlookup index=k tensor=C mode=0 format=compressed src=true root=true
16 intersect index=k
15 fiberlookup index=i tensor=B mode=0 format=compressed src=true root=false
14 broadcast
13 repsiggen index=i
12 repeat index=i tensor=C root=false
11 fiberlookup index=j tensor=C mode=1 format=compressed src=true root=false
10 broadcast
9 repsiggen index=j
8 repeat index=j tensor=B root=false
6 arrayvals tensor=B
7 arrayvals tensor=C
5 mul
4 crdhold outer=i inner=j
3 spaccumulator order=2 in0=j in1=i
0 fiberwrite mode=vals tensor=X size=1*B0_dim*C1_dim sink=true
1 fiberwrite index=j tensor=X mode=1 format=compressed segsize=B0_dim+1 crdsize=B0_dim sink=true
2 fiberwrite index=i tensor=X mode=0 format=compressed segsize=2 crdsize=B0_dim sink=true
17 -> 16 crd in-B
17 -> 16 ref in-B
18 -> 16 crd in-C
18 -> 16 ref in-C
16 -> 3 crd k
16 -> 15 ref out-B
16 -> 12 ref out-C
15 -> 14 crd
14 -> 4 crd i
14 -> 13 crd
13 -> 12 repsig
12 -> 11 ref
11 -> 10 crd
10 -> 4 crd j
10 -> 9 crd
9 -> 8 repsig
15 -> 8 ref
8 -> 6 ref
11 -> 7 ref
6 -> 5 val
7 -> 5 val
5 -> 3 val
4 -> 3 crd outer-i
4 -> 3 crd inner-j
3 -> 0 val
3 -> 1 crd out-j
3 -> 2 crd out-i
"""

# Rows of a matrix product one by one: an accumulator of order one that brings the row, too.

IKJ_POINTS = """
19 fiberlookup index=i tensor=B mode=0 format=compressed src=true root=true
18 broadcast
17 repsiggen index=i
16 repeat index=i tensor=C root=true
15 fiberlookup index=k tensor=C mode=0 format=compressed src=true root=false
14 fiberlookup index=k tensor=B mode=1 format=compressed src=true root=false
13 intersect index=k
12 fiberlookup index=j tensor=C mode=1 format=compressed src=true root=false
11 broadcast
10 repsiggen index=j
9 repeat index=j tensor=B root=false
7 arrayvals tensor=B
8 arrayvals tensor=C
6 mul
5 crdhold outer=i inner=k
4 crdhold outer=i inner=j
3 spaccumulator order=1 in0=j in1=i
0 fiberwrite mode=vals tensor=X size=1*B0_dim*C1_dim sink=true
1 fiberwrite index=j tensor=X mode=1 format=compressed segsize=B0_dim+1 crdsize=B0_dim sink=true
2 fiberwrite index=i tensor=X mode=0 format=compressed segsize=2 crdsize=B0_dim sink=true
19 -> 18 crd
18 -> 5 crd i
5 -> 4 crd outer-i
4 -> 3 crd outer-i
3 -> 0 val
3 -> 1 crd out-j
3 -> 2 crd out-i
4 -> 3 crd inner-j
5 -> 3 crd inner-k
18 -> 17 crd
17 -> 16 repsig
16 -> 15 ref
15 -> 13 crd in-C
13 -> 5 crd k
13 -> 9 ref out-B
9 -> 7 ref
7 -> 6 val
6 -> 3 val
13 -> 12 ref out-C
12 -> 11 crd
11 -> 4 crd j
11 -> 10 crd
10 -> 9 repsig
12 -> 8 ref
8 -> 6 val
15 -> 13 ref in-C
19 -> 14 ref
14 -> 13 crd in-B
14 -> 13 ref in-B
"""

# Matrix times vector by columns; ``stray`` reductions and the names of the sums differ.

JI = """
11 fiberlookup index=j tensor=B mode=1 format=compressed src=true root=true
12 fiberlookup index=j tensor=c mode=0 format=compressed src=true root=true
10 intersect index=j
9 fiberlookup index=i tensor=B mode=0 format=compressed src=true root=false
8 broadcast
7 repsiggen index=i
6 repeat index=i tensor=c root=false
5 arrayvals tensor=c
4 arrayvals tensor=B
3 mul
{accumulator}
0 fiberwrite mode=vals tensor=x size=1*B0_dim sink=true
1 fiberwrite index=i tensor=x mode=0 format=compressed segsize=2 crdsize=B0_dim sink=true
11 -> 10 crd in-B
11 -> 10 ref in-B
12 -> 10 crd in-c
12 -> 10 ref in-c
10 -> 2 crd j
10 -> 9 ref out-B
10 -> 6 ref out-c
9 -> 8 crd
8 -> 2 crd i
8 -> 7 crd
7 -> 6 repsig
6 -> 5 ref
9 -> 4 ref
5 -> 3 val
4 -> 3 val
2 -> 0 val
2 -> 1 crd out-i
"""
JI_POINTS = JI.format(accumulator="2 spaccumulator order=1 in0=i\n3 -> 2 val")
JI_STREAMS = JI.format(accumulator="2 spaccumulator order=1 in0=i in1=j\n3 -> 2 val")
JI_STRAY = JI.format(
    accumulator="2 spaccumulator order=1 in0=i\n20 reduce\n3 -> 20 val\n20 -> 2 val"
)

# b(i) - C(i,j)*d(j): the subtrahend's edge comes first, and a drop by the summed index.

RESIDUAL = """
17 fiberlookup index=i tensor=b mode=0 format=compressed src=true root=true
18 fiberlookup index=i tensor=C mode=0 format=compressed src=true root=true
16 union index=i
15 broadcast
9 crddrop outer=i inner=j
14 repsiggen index=i
13 repeat index=i tensor=d root=true
12 fiberlookup index=j tensor=d mode=0 format=compressed src=true root=false
11 fiberlookup index=j tensor=C mode=1 format=compressed src=true root=false
10 intersect index=j
7 arrayvals tensor=C
8 arrayvals tensor=d
6 mul
5 reduce
4 arrayvals tensor=b
3 add sub=1
0 fiberwrite mode=vals tensor=x size=1*b0_dim sink=true
1 fiberwrite index=i tensor=x mode=0 format=compressed segsize=2 crdsize=b0_dim sink=true
17 -> 16 crd in-b
16 -> 15 crd i
15 -> 9 crd i
9 -> 1 crd outer-i
15 -> 14 crd
14 -> 13 repsig
13 -> 12 ref
12 -> 10 crd in-d
10 -> 9 crd in-j
10 -> 7 ref out-C
7 -> 6 val
6 -> 5 val
5 -> 3 val
3 -> 0 val
10 -> 8 ref out-d
8 -> 6 val
12 -> 10 ref in-d
16 -> 4 ref out-b
4 -> 3 val
16 -> 11 ref out-C
11 -> 10 crd in-C
11 -> 10 ref in-C
17 -> 16 ref in-b
18 -> 16 crd in-C
18 -> 16 ref in-C
"""

# One union of three operands.

VEC_ADD3 = """
5 fiberlookup index=i tensor=b mode=0 format=compressed src=true root=true
6 fiberlookup index=i tensor=c mode=0 format=compressed src=true root=true
7 fiberlookup index=i tensor=d mode=0 format=compressed src=true root=true
4 union index=i
8 arrayvals tensor=b
9 arrayvals tensor=c
10 arrayvals tensor=d
3 add sub=0
2 add sub=1
0 fiberwrite mode=vals tensor=x size=1*b0_dim sink=true
1 fiberwrite index=i tensor=x mode=0 format=compressed segsize=2 crdsize=b0_dim sink=true
5 -> 4 crd in-b
5 -> 4 ref in-b
6 -> 4 crd in-c
6 -> 4 ref in-c
7 -> 4 crd in-d
7 -> 4 ref in-d
4 -> 1 crd
4 -> 8 ref out-b
4 -> 9 ref out-c
4 -> 10 ref out-d
8 -> 3 val
9 -> 3 val
3 -> 2 val
10 -> 2 val
2 -> 0 val
"""

# By hand: a node twice, values dropped where they are zero, and the operands in the file's order.

VEC_DS = """
4 crddrop outer=i inner=vals vals=true
3 fiberlookup index=i tensor=b mode=0 format=dense src=true root=true
3 fiberlookup index=i tensor=b mode=0 format=dense src=true root=true
1 fiberwrite index=i tensor=x mode=0 format=compressed segsize=2 crdsize=b0_dim sink=true
2 arrayvals tensor=b
0 fiberwrite mode=vals tensor=x size=1*b0_dim sink=true
3 -> 4 crd in-i
4 -> 1 crd outer-i
3 -> 2 ref
2 -> 4 val in-vals
4 -> 0 val inner-vals
"""
