"""Classifies handwritten digits with Ray Data: two actors, each with the model.

    ray_data.py MODEL.popef IMAGES.idx3-ubyte LABELS.idx1-ubyte
"""

import sys

import numpy as np
import ray
from poprt.serving import RayPredictor


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    images = np.fromfile(sys.argv[2], np.uint8, offset=16).reshape(-1, 1, 8, 8)
    labels = np.fromfile(sys.argv[3], np.uint8, offset=8)
    rows = [{"pixels": image.astype(np.float32) / 16, "label": int(label)} for image, label in zip(images, labels)]
    scored = ray.data.from_items(rows, override_num_blocks=4).map_batches(
        RayPredictor, fn_constructor_args=[sys.argv[1], {"image": "pixels"}], batch_size=64, compute=ray.data.ActorPoolStrategy(size=2))
    right = [row["scores"].argmax() == row["label"] for row in scored.iter_rows()]
    print(f"{len(right)} images, accuracy {np.mean(right):.4f}")


if __name__ == "__main__":
    main()
