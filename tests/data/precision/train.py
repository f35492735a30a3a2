#!/usr/bin/env python3
"""Trains the transformer of tests/bindings/python/quantizer_test.py: two layers that read a digit row by row.

    python3 train.py        needs torch, onnx, numpy, scikit-learn

Data and split are those of examples/digits, whose 360 held-out scans it has not seen. Writes transformer.onnx beside this script:
input f32[N,1,8,8] `image` with pixels in 0..1, output f32[N,10] `scores`.
"""
import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

WIDTH, HEADS = 32, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def heads(self, x):
        return x.reshape(-1, 8, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        y = self.first(x)
        weights = (self.heads(self.query(y)) @ self.heads(self.key(y)).transpose(2, 3) * (WIDTH // HEADS) ** -0.5).softmax(3)
        y = (weights @ self.heads(self.value(y))).transpose(1, 2).reshape(-1, 8, WIDTH)
        x = x + self.out(y)
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, WIDTH)
        self.place = nn.Parameter(torch.randn(8, WIDTH) * 0.1)
        self.layers = nn.Sequential(Layer(), Layer())
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(8 * WIDTH, 10)

    def forward(self, image):
        x = self.layers(self.embed(image.reshape(-1, 8, 8)) + self.place)
        return self.head(self.norm(x).reshape(-1, 8 * WIDTH))


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    digits = load_digits()
    order = np.random.default_rng(7).permutation(len(digits.target))
    images = torch.tensor(digits.images[order] / 16.0, dtype=torch.float32)[:, None]
    labels = torch.tensor(digits.target[order])
    x, y = images[360:], labels[360:]
    model, epochs = Transformer(), 40
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for batch in torch.randperm(len(x)).split(64):
            shift = tuple(int(s) for s in torch.randint(-1, 2, (2,)))  # scans move by up to a pixel
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(torch.roll(x[batch], shift, (2, 3))), y[batch]).backward()
            optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        print("held-out accuracy:", float((model(images[:360]).argmax(1) == labels[:360]).float().mean()))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transformer.onnx")
    torch.onnx.export(model, images[:1], path, opset_version=17, input_names=["image"], output_names=["scores"],
                      dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}}, dynamo=False)


if __name__ == "__main__":
    main()
