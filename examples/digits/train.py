#!/usr/bin/env python3
"""Trains the digits model of the quick start and writes the files in this folder.

Data: the UCI "Optical Recognition of Handwritten Digits" test set, 1 797 scans of 8x8 pixels in 0..16, as distributed
with scikit-learn (sklearn.datasets.load_digits). A seeded split excludes 360 images from training.

    python3 train.py --out .        needs torch, onnx, numpy, scikit-learn

Writes digits.onnx (symbolic batch, input f32[N,1,8,8] with pixels in 0..1, output f32[N,10] scores),
heldout-images.idx3-ubyte and heldout-labels.idx1-ubyte (MNIST's IDX format), and accuracy.json with the accuracy of the
training framework on the held-out images, in fp32 and with fp16 weights and inputs.
"""
import argparse
import json
import os
import struct

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn


def build():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(48 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, 10))


def accuracy(model, images, labels):
    with torch.no_grad():
        return float((model(images).argmax(1) == labels).float().mean())


def write_idx(path, array):
    with open(path, "wb") as f:
        f.write(struct.pack(">BBBB", 0, 0, 8, array.ndim))
        f.write(struct.pack(f">{array.ndim}I", *array.shape))
        f.write(array.astype(np.uint8).tobytes())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--seed", type=int, default=7)
    a = ap.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    order = np.random.default_rng(a.seed).permutation(len(digits.target))
    images = torch.tensor(digits.images[order] / 16.0, dtype=torch.float32)[:, None]
    labels = torch.tensor(digits.target[order])
    held, train = slice(0, 360), slice(360, None)

    model = build()
    optimizer = torch.optim.Adam(model.parameters(), 2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, a.epochs)
    x, y = images[train], labels[train]
    for _ in range(a.epochs):
        model.train()
        for batch in torch.randperm(len(x)).split(64):
            # Each batch of scans is shifted by up to a pixel.
            shift = tuple(int(s) for s in torch.randint(-1, 2, (2,)))
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(torch.roll(x[batch], shift, (2, 3))), y[batch]).backward()
            optimizer.step()
        schedule.step()
    model.eval()

    fp32 = accuracy(model, images[held], labels[held])
    halves = build().eval()  # fp16 storage: weights, statistics and inputs rounded to half precision
    halves.load_state_dict({k: v.half().to(v.dtype) if v.is_floating_point() else v
                            for k, v in model.state_dict().items()})
    fp16 = accuracy(halves, images[held].half().float(), labels[held])

    path = os.path.join(a.out, "digits.onnx")
    torch.onnx.export(model, images[:1], path, opset_version=13, input_names=["image"], output_names=["scores"],
                      dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}}, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.EVAL)
    onnx.checker.check_model(path)
    write_idx(os.path.join(a.out, "heldout-images.idx3-ubyte"), digits.images[order][held].astype(np.uint8))
    write_idx(os.path.join(a.out, "heldout-labels.idx1-ubyte"), digits.target[order][held])
    with open(os.path.join(a.out, "accuracy.json"), "w") as f:
        json.dump({"held_out_images": 360, "fp32": round(fp32, 6), "fp16": round(fp16, 6),
                   "framework": f"torch {torch.__version__.split('+')[0]}"}, f, indent=2)
        f.write("\n")
    print(f"held-out accuracy: fp32 {fp32:.4f}, fp16 {fp16:.4f}")


if __name__ == "__main__":
    main()
