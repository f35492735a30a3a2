"""``poprt.serving.predict_batch_udf`` in Spark. Skipped without PySpark (engine.py): pip install pyspark pandas pyarrow.

Checked with pyspark 4.3.0 and Java 17."""

import os
import sys
import unittest

import engine

engine.enter("spark", "pyspark", "pyspark pandas pyarrow")

import numpy  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

import poprt.serving  # noqa: E402


class WithSpark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images, cls.labels, cls.accuracy = engine.digits()
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        cls.spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
                     .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"]).getOrCreate())
        cls.spark.sparkContext.setLogLevel("ERROR")
        cls.addClassCleanup(cls.spark.stop)
        rows = [(int(label), image.ravel().tolist()) for image, label in zip(cls.images, cls.labels)]
        cls.frame = cls.spark.createDataFrame(rows, "label int, image array<float>").repartition(3)

    def accuracy_of(self, popef, **options):
        scores = poprt.serving.predict_batch_udf(popef, **options)
        rows = self.frame.withColumn("scores", scores("image")).select("label", "scores").collect()
        self.assertEqual(len(rows), len(self.images))
        return numpy.mean([row.label == numpy.argmax(row.scores) for row in rows])

    def test_a_fixed_batch_has_the_accuracy_of_the_training(self):
        self.assertAlmostEqual(self.accuracy_of(engine.compiled(self), batch_size=100), self.accuracy, delta=0.001)

    def test_the_example_has_the_accuracy_of_the_training(self):
        self.assertAlmostEqual(engine.accuracy_of_example("spark.py", engine.compiled(self)), self.accuracy, delta=0.001)

    def test_several_shapes_have_the_accuracy_of_the_training(self):
        popef = engine.compiled(self, "image=1,1,8,8/4,1,8,8/20,1,8,8")
        self.assertAlmostEqual(self.accuracy_of(popef, batch_size=50), self.accuracy, delta=0.001)


if __name__ == "__main__":
    unittest.main()
