"""``poprt.serving`` in Ray Data and Ray Serve. Skipped without Ray (engine.py): pip install 'ray[data,serve]'.

Checked with ray 2.60.0."""

import json
import os
import shutil
import tempfile
import unittest
import urllib.error
import urllib.request

import engine

engine.enter("ray", "ray", "'ray[data,serve]'")

import numpy  # noqa: E402
import ray  # noqa: E402
from ray import serve  # noqa: E402

import poprt.serving  # noqa: E402


class WithRay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images, cls.labels, cls.accuracy = engine.digits()
        cls.popef = engine.compiled(cls)
        folder = tempfile.mkdtemp(dir="/tmp")  # sockets need a short path
        cls.addClassCleanup(shutil.rmtree, folder, True)
        ray.init(num_cpus=2, include_dashboard=False, _temp_dir=folder, configure_logging=False, log_to_driver=False,
                 runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
        cls.addClassCleanup(ray.shutdown)

    def test_data_has_the_accuracy_of_the_training(self):
        dataset = ray.data.from_numpy(self.images).rename_columns({"data": "pixels"})
        scored = dataset.map_batches(poprt.serving.RayPredictor, fn_constructor_args=[self.popef, {"image": "pixels"}],
                                     compute=ray.data.ActorPoolStrategy(size=2), batch_size=50)
        rows = scored.take_all()
        self.assertEqual(len(rows), len(self.images))
        expected = {image.tobytes(): label for image, label in zip(self.images, self.labels)}
        right = [expected[row["pixels"].tobytes()] == row["scores"].argmax() for row in rows]
        self.assertAlmostEqual(numpy.mean(right), self.accuracy, delta=0.001)

    def test_the_examples_have_the_accuracy_of_the_training(self):
        for name in ("ray_data.py", "ray_serve.py"):
            with self.subTest(name):
                self.assertAlmostEqual(engine.accuracy_of_example(name, self.popef), self.accuracy, delta=0.001)

    def test_deployment_answers_handles_and_http(self):
        handle = serve.run(poprt.serving.ray_deployment(self.popef, num_replicas=2, ray_actor_options={"num_cpus": 0.5}).bind())
        self.addCleanup(serve.shutdown)
        expected = poprt.serving.Predictor(self.popef)({"image": self.images[:20]})["scores"]
        answers = [handle.predict.remote({"image": self.images[i:i + 5]}) for i in range(0, 20, 5)]
        numpy.testing.assert_allclose(numpy.concatenate([a.result()["scores"] for a in answers]), expected, rtol=1e-5, atol=1e-5)

        def post(content):
            request = urllib.request.Request("http://127.0.0.1:8000/", json.dumps(content).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)

        numpy.testing.assert_allclose(post({"image": self.images[:3].tolist()})["scores"], expected[:3], rtol=1e-5, atol=1e-5)
        for wrong, message in (({"image": [[1, 2]]}, "image"), ({"picture": self.images[:1].tolist()}, "picture"), ([1], "list")):
            with self.subTest(wrong=message), self.assertRaises(urllib.error.HTTPError) as raised:
                post(wrong)
            self.assertEqual(raised.exception.code, 400)
            self.assertIn(message, raised.exception.read().decode())


if __name__ == "__main__":
    unittest.main()
