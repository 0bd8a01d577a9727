"""PolyBench's kernels as nests, in words of this project.

Each is a line of sizes, then of parameters, and the body. Four of the thirty have loops that count
down, which ``range`` of nests does not: adi, deriche, ludcmp, nussinov.
"""

from __future__ import annotations

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source

_KERNELS = """
correlation | n m | data[n,m] mean[m] stddev[m] corr[m,m]
    count = float32(n)
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] = mean[j] / count
    for j in range(m):
        stddev[j] = 0.0
        for i in range(n):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] = sqrt(stddev[j] / count)
        stddev[j] = 1.0 if stddev[j] <= 0.1 else stddev[j]
    root = sqrt(count)
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= root * stddev[j]
    for i in range(m - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[i, j] = 0.0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0

covariance | n m | data[n,m] mean[m] cov[m,m]
    count = float32(n)
    for j in range(m):
        mean[j] = 0.0
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] = mean[j] / count
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] = cov[i, j] / (count - 1.0)
            cov[j, i] = cov[i, j]

gemm | n m p | alpha beta c[n,m] a[n,p] b[p,m]
    for i in range(n):
        for j in range(m):
            c[i, j] *= beta
        for k in range(p):
            for j in range(m):
                c[i, j] += alpha * a[i, k] * b[k, j]

gemver | n | alpha beta a[n,n] u1[n] v1[n] u2[n] v2[n] w[n] x[n] y[n] z[n]
    for i in range(n):
        for j in range(n):
            a[i, j] = a[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + beta * a[j, i] * y[j]
    for i in range(n):
        x[i] = x[i] + z[i]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * a[i, j] * x[j]

gesummv | n | alpha beta a[n,n] b[n,n] tmp[n] x[n] y[n]
    for i in range(n):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in range(n):
            tmp[i] = a[i, j] * x[j] + tmp[i]
            y[i] = b[i, j] * x[j] + y[i]
        y[i] = alpha * tmp[i] + beta * y[i]

symm | n m | alpha beta c[n,m] a[n,n] b[n,m]
    for i in range(n):
        for j in range(m):
            held = 0.0
            for k in range(i):
                c[k, j] += alpha * b[i, j] * a[i, k]
                held += b[k, j] * a[i, k]
            c[i, j] = beta * c[i, j] + alpha * b[i, j] * a[i, i] + alpha * held

syr2k | n m | alpha beta c[n,n] a[n,m] b[n,m]
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += a[j, k] * alpha * b[i, k] + b[j, k] * alpha * a[i, k]

syrk | n m | alpha beta c[n,n] a[n,m]
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]

trmm | n m | alpha a[n,n] b[n,m]
    for i in range(n):
        for j in range(m):
            for k in range(i + 1, n):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] = alpha * b[i, j]

2mm | n m p q | alpha beta tmp[n,m] a[n,p] b[p,m] c[m,q] d[n,q]
    for i in range(n):
        for j in range(m):
            tmp[i, j] = 0.0
            for k in range(p):
                tmp[i, j] += alpha * a[i, k] * b[k, j]
    for i in range(n):
        for j in range(q):
            d[i, j] *= beta
            for k in range(m):
                d[i, j] += tmp[i, k] * c[k, j]

3mm | n m p q r | e[n,m] a[n,p] b[p,m] f[m,q] c[m,r] d[r,q] g[n,q]
    for i in range(n):
        for j in range(m):
            e[i, j] = 0.0
            for k in range(p):
                e[i, j] += a[i, k] * b[k, j]
    for i in range(m):
        for j in range(q):
            f[i, j] = 0.0
            for k in range(r):
                f[i, j] += c[i, k] * d[k, j]
    for i in range(n):
        for j in range(q):
            g[i, j] = 0.0
            for k in range(m):
                g[i, j] += e[i, k] * f[k, j]

atax | n m | a[n,m] x[m] y[m] tmp[n]
    for j in range(m):
        y[j] = 0.0
    for i in range(n):
        tmp[i] = 0.0
        for j in range(m):
            tmp[i] = tmp[i] + a[i, j] * x[j]
        for j in range(m):
            y[j] = y[j] + a[i, j] * tmp[i]

bicg | n m | a[n,m] s[m] q[n] p[m] r[n]
    for j in range(m):
        s[j] = 0.0
    for i in range(n):
        q[i] = 0.0
        for j in range(m):
            s[j] = s[j] + r[i] * a[i, j]
            q[i] = q[i] + a[i, j] * p[j]

doitgen | r q p | a[r,q,p] c4[p,p] total[p]
    for i in range(r):
        for j in range(q):
            for k in range(p):
                total[k] = 0.0
                for s in range(p):
                    total[k] += a[i, j, s] * c4[s, k]
            for k in range(p):
                a[i, j, k] = total[k]

mvt | n | x1[n] x2[n] y1[n] y2[n] a[n,n]
    for i in range(n):
        for j in range(n):
            x1[i] = x1[i] + a[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] = x2[i] + a[j, i] * y2[j]

cholesky | n | a[n,n]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = sqrt(a[i, i])

durbin | n | r[n] y[n] z[n]
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha

gramschmidt | n m | a[n,m] r[m,m] q[n,m]
    for k in range(m):
        norm = 0.0
        for i in range(n):
            norm += a[i, k] * a[i, k]
        r[k, k] = sqrt(norm)
        for i in range(n):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, m):
            r[k, j] = 0.0
            for i in range(n):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(n):
                a[i, j] = a[i, j] - q[i, k] * r[k, j]

lu | n | a[n,n]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]

trisolv | n | a[n,n] x[n] b[n]
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] = x[i] / a[i, i]

floyd-warshall | n | path[n,n]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                found = path[i, k] + path[k, j]
                path[i, j] = path[i, j] if path[i, j] < found else found

fdtd-2d | n m steps | ex[n,m] ey[n,m] hz[n,m] fict[steps]
    for t in range(steps):
        for j in range(m):
            ey[0, j] = fict[t]
        for i in range(1, n):
            for j in range(m):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(n - 1):
            for j in range(m - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])

heat-3d | n | steps:int a[n,n,n] b[n,n,n]
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    b[i, j, k] = (
                        0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                        + 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                        + 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                        + a[i, j, k]
                    )
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    a[i, j, k] = (
                        0.125 * (b[i + 1, j, k] - 2.0 * b[i, j, k] + b[i - 1, j, k])
                        + 0.125 * (b[i, j + 1, k] - 2.0 * b[i, j, k] + b[i, j - 1, k])
                        + 0.125 * (b[i, j, k + 1] - 2.0 * b[i, j, k] + b[i, j, k - 1])
                        + b[i, j, k]
                    )

jacobi-1d | n | steps:int a[n] b[n]
    for t in range(steps):
        for i in range(1, n - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, n - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])

jacobi-2d | n | steps:int a[n,n] b[n,n]
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])

seidel-2d | n | steps:int a[n,n]
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                total = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                total = total + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = total / 9.0
"""


def _nest(text: str) -> Nest:
    head, body = text.strip().split("\n", 1)
    name, sizes, parameters = (each.strip() for each in head.split("|"))
    listed = []
    for each in parameters.split():
        array, _, shape = each.partition("[")
        if shape:
            listed.append(f"{array}: float32[{shape}")
        else:
            scalar, _, type = each.partition(":")
            listed.append(f"{scalar}: {'int32' if type else 'float32'}")
    names = ", ".join(sizes.split())
    symbols = ", ".join(repr(each) for each in sizes.split())
    source = (
        f"{names}{',' * (',' not in names)} = sizes({symbols})\n\n\n@nest\n"
        f"def {c_name(name)}({', '.join(listed)}):\n{body}\n"
    )
    return read_source(source, f"{name}.py")


def c_name(name: str) -> str:
    """The name of the function of ``kernels.c``."""
    return f"kernel_{name.replace('-', '_')}"


TEXTS = {text.strip().split(" ", 1)[0]: text for text in _KERNELS.split("\n\n")}


def kernel(name: str) -> Nest:
    """One of ``TEXTS``."""
    return _nest(TEXTS[name])
