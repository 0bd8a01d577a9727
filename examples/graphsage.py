"""A GraphSAGE network of two layers, which takes the mean of neighbours, with sparse graphs.

Source: Hamilton, Ying, Leskovec, "Inductive Representation Learning on Large Graphs", NeurIPS 2017.
"""

import os
import warnings
from pathlib import Path

import networkx
import scipy.io
import scipy.sparse
import torch


class GraphSAGE(torch.nn.Module):
    """Probabilities of classes for each node, with h = relu(X·S1 + A·X·N1 + b1):
    softmax(h·S2 + A·h·N2 + b2), where rows of A give the mean of neighbours."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.self1 = torch.nn.Linear(features, hidden, bias=False)
        self.neigh1 = torch.nn.Linear(features, hidden)
        self.self2 = torch.nn.Linear(hidden, classes, bias=False)
        self.neigh2 = torch.nn.Linear(hidden, classes)

    def forward(self, adj, x):
        h = torch.relu(self.self1(x) + self.neigh1(adj @ x))
        return torch.softmax(self.self2(h) + self.neigh2(adj @ h), dim=1)


def karate():
    """Zachary's karate club: 34 members, who have no features but themselves."""
    graph = networkx.karate_club_graph()
    adjacency = networkx.to_scipy_sparse_array(graph, weight=None)
    features = scipy.sparse.eye_array(len(graph), format="csr")
    return model(adjacency, features, classes=4)


def cora():
    """2,708 papers that cite each other, with 1,433 words that they have or have not."""
    return graph("cora")


def citeseer():
    """3,327 papers that cite each other, with 3,703 words that they have or have not."""
    return graph("citeseer")


def graph(name):
    """A graph of the folder of workloads: NAME_adjacency.mtx, NAME_features.mtx and
    NAME_labels.txt, a line with its class for each node."""
    adjacency, features = read(f"{name}_adjacency.mtx"), read(f"{name}_features.mtx")
    return model(adjacency, features, classes=len(set(read(f"{name}_labels.txt"))))


def model(adjacency, features, classes, hidden=16):
    """A network with random weights, and its inputs."""
    torch.manual_seed(0)
    network = GraphSAGE(features.shape[1], hidden, classes)
    return network.eval(), (csr(mean(adjacency)), csr(features))


def mean(adjacency):
    """D^-1·A, where D has the degrees of A, or 1 where a node has no neighbour."""
    rows = scipy.sparse.csr_array(adjacency, dtype=float)
    return scipy.sparse.diags_array(1 / rows.sum(axis=1).clip(1)) @ rows


def csr(matrix):
    """A tensor of PyTorch that stores what the matrix stores."""
    rows = scipy.sparse.csr_array(matrix)
    rows.sort_indices()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(
            rows.indptr,
            rows.indices,
            rows.data,
            rows.shape,
            dtype=torch.float32,
            check_invariants=True,
        )


def read(name):
    """A Matrix Market file, or the lines of another one, of the folder of workloads."""
    folder = Path(os.environ.get("GNARL_WORKLOADS", "../shared/workloads"))
    path = folder / "graph" / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there: GNARL_WORKLOADS must name the folder of real workloads"
        )
    return scipy.io.mmread(path) if path.suffix == ".mtx" else path.read_text().split()
