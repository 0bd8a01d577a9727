"""The DPU's compiler: from DAGs to programs. Source: DPU-v2, section IV."""

from sw.compiler.dpu.compile import compile

__all__ = ["compile"]
