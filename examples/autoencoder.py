"""A sparse autoencoder whose weights are half pruned, on images.

Weights are stored by input: each input of a layer has the outputs that it goes into, so that fused
layers compute each hidden value once.

Source: Ng, "Sparse autoencoder", 2011; pruned as in Han et al., "Learning both Weights and
Connections for Efficient Neural Networks", NeurIPS 2015.
"""

import warnings

import torch


class Pruned(torch.nn.Module):
    """A linear layer without the half of its weights whose magnitudes are least."""

    def __init__(self, inputs, outputs):
        super().__init__()
        weights = torch.randn(inputs, outputs) / inputs**0.5
        weights[weights.abs() <= weights.abs().median()] = 0
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
            self.register_buffer("weights", weights.to_sparse_csr())
        self.bias = torch.nn.Parameter(torch.randn(outputs) / 10)

    def forward(self, x):
        return x @ self.weights + self.bias


class Autoencoder(torch.nn.Module):
    """Pixels from a code of them, in three layers."""

    def __init__(self, pixels, hidden):
        super().__init__()
        self.encode = Pruned(pixels, hidden)
        self.code = Pruned(hidden, hidden)
        self.decode = Pruned(hidden, pixels)

    def forward(self, x):
        code = torch.relu(self.code(torch.relu(self.encode(x))))
        return torch.sigmoid(self.decode(code))


def small():
    """Two images of 8 × 8 pixels."""
    return model(64, 16, images=2)


def images():
    """Five images of 224 × 224 pixels: 6.4 million weights in each of the large layers, for which
    arrays must have rows: --set array_words=8388608."""
    return model(224 * 224, 256, images=5)


def model(pixels, hidden, images):
    """An autoencoder with random weights, and random images."""
    torch.manual_seed(0)
    return Autoencoder(pixels, hidden).eval(), (torch.rand(images, pixels),)
