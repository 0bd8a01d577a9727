"""The kernels of the SAM tools, in the notation of their command lines.

Formats and loop orders are those of the files that come with the tools, where there are some.
Source: the kernels that the SAM project tests.
"""

from __future__ import annotations


def _matmul(order: str) -> str:
    """Matrix product with each operand stored as the loops walk it."""
    place = {index: number for number, index in enumerate(order)}
    formats = {
        tensor: "0,1" if place[one] < place[other] else "1,0"
        for tensor, one, other in (("X", "i", "j"), ("B", "i", "k"), ("C", "k", "j"))
    }
    options = " ".join(f"-f={tensor}:ss:{modes}" for tensor, modes in formats.items())
    return f"X(i,j)=B(i,k)*C(k,j) {options} -s=reorder({','.join(order)})"


SUITE: dict[str, str] = {
    **{f"matmul_{order}": _matmul(order) for order in ("ijk", "ikj", "jik", "jki", "kij", "kji")},
    "mat_elemmul": "X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss",
    "mat_elemadd": "X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ss -f=C:ss",
    "mat_elemadd3": "X(i,j)=B(i,j)+C(i,j)+D(i,j) -f=X:ss -f=B:ss -f=C:ss -f=D:ss",
    "mat_identity": "X(i,j)=B(i,j) -f=X:ss -f=B:ss",
    "mat_identity_dense": "X(i,j)=B(i,j) -f=X:dd -f=B:dd",
    "mat_vecmul_ij": "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss -f=c:s -s=reorder(i,j)",
    "mat_vecmul_ji": "x(i)=B(i,j)*c(j) -f=x:s -f=B:ss:1,0 -f=c:s -s=reorder(j,i)",
    "mat_sddmm": (
        "X(i,j)=B(i,j)*C(i,k)*D(k,j) -f=X:ss -f=B:ss -f=C:dd -f=D:dd:1,0 -s=reorder(i,j,k)"
    ),
    "mat_sddmm_sparse": (
        "X(i,j)=B(i,j)*C(i,k)*D(k,j) -f=X:ss -f=B:ss -f=C:ss -f=D:ss:1,0 -s=reorder(i,j,k)"
    ),
    "mat_mattransmul": (
        "x(i)=b*C(j,i)*d(j)+e*f(i) -f=x:s -f=C:ss:1,0 -f=d:s -f=f:s -s=reorder(i,j)"
    ),
    "mat_residual": "x(i)=b(i)-C(i,j)*d(j) -f=x:s -f=b:s -f=C:ss -f=d:s -s=reorder(i,j)",
    "vec_elemmul": "x(i)=b(i)*c(i) -f=x:s -f=b:s -f=c:s",
    "vec_elemadd": "x(i)=b(i)+c(i) -f=x:s -f=b:s -f=c:s",
    "vec_identity": "x(i)=b(i) -f=x:s -f=b:s",
    "vec_scalar_mul": "x(i)=b*c(i) -f=x:s -f=c:s",
    "tensor3_elemmul": "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sss -f=B:sss -f=C:sss",
    "tensor3_elemadd": "X(i,j,k)=B(i,j,k)+C(i,j,k) -f=X:sss -f=B:sss -f=C:sss",
    "tensor3_identity": "X(i,j,k)=B(i,j,k) -f=X:sss -f=B:sss",
    "tensor3_identity_dense": "X(i,j,k)=B(i,j,k) -f=X:ddd -f=B:ddd",
    "tensor3_innerprod": "x=B(i,j,k)*C(i,j,k) -f=B:sss -f=C:sss",
    "tensor3_ttv": "X(i,j)=B(i,j,k)*c(k) -f=X:ss -f=B:sss -f=c:s",
    "tensor3_ttm": "X(i,j,k)=B(i,j,l)*C(k,l) -f=X:sss -f=B:sss -f=C:ss",
    "tensor3_mttkrp": (
        "X(i,j)=B(i,k,l)*C(j,k)*D(j,l) -f=X:ss -f=B:sss -f=C:ss -f=D:ss -s=reorder(i,j,k,l)"
    ),
    "vec_spacc_simple": "x(j)=B(i,j) -f=x:s -f=B:ss -s=reorder(i,j)",
    "mat_spacc_simple": "X(j,k)=B(i,j,k) -f=X:ss -f=B:sss -s=reorder(i,j,k)",
    "vec_sd_compression": "x(i)=b(i) -f=x:d -f=b:s",
    "vec_ds_compression": "x(i)=b(i) -f=x:s -f=b:d",
    "mat_sd_compression": "X(i,j)=B(i,j) -f=X:dd -f=B:ss",
    "mat_ds_compression": "X(i,j)=B(i,j) -f=X:ss -f=B:dd",
}
"""Expression of every kernel and variant by name."""
