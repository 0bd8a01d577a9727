"""Layers of PyTorch Geometric on Zachary's karate club: pip install torch_geometric.

Source: Fey, Lenssen, "Fast Graph Representation Learning with PyTorch Geometric", 2019.
"""

import networkx
import torch

try:
    from torch_geometric.nn import GCNConv, SAGEConv
except ImportError as error:
    raise ImportError("PyTorch Geometric is not there: pip install torch_geometric") from error


class GCN(torch.nn.Module):
    """Probabilities of classes for each node. The graph is normalised before: what normalises it in
    the layers depends on values."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.conv1 = GCNConv(features, hidden, normalize=False)
        self.conv2 = GCNConv(hidden, classes, normalize=False)

    def forward(self, x, edge_index, edge_weight=None):
        h = torch.relu(self.conv1(x, edge_index, edge_weight))
        return torch.softmax(self.conv2(h, edge_index, edge_weight), dim=1)


class SAGE(torch.nn.Module):
    """The same with means over neighbours."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.conv1 = SAGEConv(features, hidden)
        self.conv2 = SAGEConv(hidden, classes)

    def forward(self, x, edge_index):
        h = torch.relu(self.conv1(x, edge_index))
        return torch.log_softmax(self.conv2(h, edge_index), dim=1)


def karate():
    """The graph as a sparse matrix."""
    edges, weights, nodes = club()
    matrix = torch.sparse_coo_tensor(edges.flip(0), weights, (nodes, nodes), check_invariants=True)
    return model(GCN, torch.eye(nodes).to_sparse(), matrix.coalesce())


def karate_edges():
    """The graph as a list of edges, with a weight of each."""
    edges, weights, nodes = club()
    return model(GCN, torch.eye(nodes).to_sparse(), edges, weights)


def karate_sage():
    """The graph as a list of edges; each has the same weight."""
    edges, _, nodes = club()
    return model(SAGE, torch.eye(nodes), edges)


def model(network, features, *edges, hidden=16, classes=4):
    """A network with random weights, and its inputs: members have no features but themselves."""
    torch.manual_seed(0)
    return network(len(features), hidden, classes).eval(), (features, *edges)


def club():
    """Edges [2, edges] of the graph and of each member to itself, their weights in
    D^-1/2·(A + I)·D^-1/2, where D has the degrees of A + I, and the number of members."""
    graph = networkx.karate_club_graph().to_directed()
    graph.add_edges_from((node, node) for node in graph)
    edges = torch.tensor([*graph.edges]).t().contiguous()
    scale = torch.bincount(edges[1]).float().rsqrt()
    return edges, scale[edges[0]] * scale[edges[1]], len(graph)
