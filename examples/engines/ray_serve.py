"""Serves digits with Ray Serve: two replicas behind one HTTP address, and a client that classifies images.

    ray_serve.py MODEL.popef IMAGES.idx3-ubyte LABELS.idx1-ubyte
"""

import json
import sys
import urllib.request

import numpy as np
from poprt.serving import ray_deployment
from ray import serve


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    images = np.fromfile(sys.argv[2], np.uint8, offset=16).reshape(-1, 1, 8, 8).astype(np.float32) / 16
    labels = np.fromfile(sys.argv[3], np.uint8, offset=8)
    serve.run(ray_deployment(sys.argv[1], threads=1, num_replicas=2, ray_actor_options={"num_cpus": 0.5}).bind())
    right = []
    for first in range(0, len(images), 50):
        body = json.dumps({"image": images[first:first + 50].tolist()}).encode()
        with urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8000/", body)) as answer:
            right.extend(np.argmax(json.load(answer)["scores"], axis=1) == labels[first:first + 50])
    print(f"{len(right)} images, accuracy {np.mean(right):.4f}")
    serve.shutdown()


if __name__ == "__main__":
    main()
