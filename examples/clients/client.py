"""Classifies digits with a server of the Open Inference Protocol, such as poprt_serve or Triton, by tritonclient.

    python3 -m pip install 'tritonclient[http]'
    client.py 127.0.0.1:8000 digits IMAGES.idx3-ubyte LABELS.idx1-ubyte
"""

import sys

import numpy as np
import tritonclient.http as http

ROWS = 8


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    address, model = sys.argv[1:3]
    images = np.fromfile(sys.argv[3], np.uint8, offset=16).reshape(-1, 1, 8, 8).astype(np.float32) / 16
    labels = np.fromfile(sys.argv[4], np.uint8, offset=8)
    right = 0
    with http.InferenceServerClient(address) as client:
        for first in range(0, len(images), ROWS):
            rows = images[first:first + ROWS]
            image = http.InferInput("image", list(rows.shape), "FP32")
            image.set_data_from_numpy(rows)
            scores = client.infer(model, [image]).as_numpy("scores")
            right += np.count_nonzero(scores.argmax(axis=1) == labels[first:first + ROWS])
    print(f"{len(images)} images, accuracy {right / len(images):.4f}")


if __name__ == "__main__":
    main()
