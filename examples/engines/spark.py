"""Classifies handwritten digits with Spark: the scores of a model are a column.

    spark.py MODEL.popef IMAGES.idx3-ubyte LABELS.idx1-ubyte
"""

import sys

import numpy as np
from poprt.serving import predict_batch_udf
from pyspark.sql import SparkSession


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    images = np.fromfile(sys.argv[2], np.uint8, offset=16).reshape(-1, 64).astype(np.float32) / 16
    labels = np.fromfile(sys.argv[3], np.uint8, offset=8)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    rows = [(int(label), image.tolist()) for image, label in zip(images, labels)]
    frame = spark.createDataFrame(rows, "label int, image array<float>").repartition(2)
    scored = frame.withColumn("scores", predict_batch_udf(sys.argv[1], batch_size=64)("image")).collect()
    print(f"{len(scored)} images, accuracy {np.mean([np.argmax(row.scores) == row.label for row in scored]):.4f}")
    spark.stop()


if __name__ == "__main__":
    main()
