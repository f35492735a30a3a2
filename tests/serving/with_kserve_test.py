"""``poprt.serving.kserve_model`` in KServe's model server, by HTTP and gRPC. Skipped without KServe (engine.py):
pip install kserve.

Checked with kserve 0.21.0."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import engine

engine.enter("kserve", "kserve", "kserve")

import kserve  # noqa: E402
import numpy  # noqa: E402

import poprt.serving  # noqa: E402

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class WithKServe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.images, cls.labels, cls.accuracy = engine.digits()
        popef = engine.compiled(cls)
        cls.expected = poprt.serving.Predictor(popef)({"image": cls.images[:20]})["scores"]
        cls.http, cls.grpc = free_port(), free_port()
        cls.server = subprocess.Popen([sys.executable, os.path.join(engine.EXAMPLES, "engines", "kserve_server.py"), "--model_name", "digits",
                                       "--model", popef, "--http_port", str(cls.http), "--grpc_port", str(cls.grpc)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.stop)
        end = time.monotonic() + 120
        while True:
            try:
                cls.get("/v2/health/ready")
                break
            except OSError:
                assert cls.server.poll() is None and time.monotonic() < end, "the server does not start"
                time.sleep(0.2)

    @classmethod
    def stop(cls):
        cls.server.send_signal(signal.SIGTERM)
        try:
            cls.server.wait(60)
        except subprocess.TimeoutExpired:
            cls.server.kill()
            cls.server.wait()

    @classmethod
    def get(cls, path, content=None):
        request = urllib.request.Request(f"http://127.0.0.1:{cls.http}{path}", content and json.dumps(content).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def input_of(self, images, binary):
        tensor = kserve.InferInput("image", list(images.shape), "FP32")
        tensor.set_data_from_numpy(images, binary_data=binary)
        return tensor

    def test_metadata(self):
        found = self.get("/v2/models/digits")
        self.assertEqual(found["inputs"], [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}])
        self.assertEqual(found["outputs"], [{"name": "scores", "datatype": "FP32", "shape": [-1, 10]}])

    def test_version_1(self):
        found = self.get("/v1/models/digits:predict", {"instances": self.images[:5].tolist()})
        numpy.testing.assert_allclose(found["predictions"], self.expected[:5], rtol=1e-5, atol=1e-5)

    def test_version_2_by_json(self):
        found = self.get("/v2/models/digits/infer", {"inputs": [{"name": "image", "shape": [11, 1, 8, 8], "datatype": "FP32",
                                                                 "data": self.images[:11].ravel().tolist()}]})
        numpy.testing.assert_allclose(numpy.reshape(found["outputs"][0]["data"], (11, 10)), self.expected[:11], rtol=1e-5, atol=1e-5)

    def test_version_2_by_binary_tensors_and_grpc_has_the_accuracy_of_the_training(self):
        async def score():
            async with kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2", timeout=60)) as rest:
                request = kserve.InferRequest("digits", [self.input_of(self.images, True)], parameters={"binary_data_output": True})
                by_http = await rest.infer(f"http://127.0.0.1:{self.http}", request, model_name="digits")
            async with kserve.InferenceGRPCClient(f"127.0.0.1:{self.grpc}") as grpc:
                request = kserve.InferRequest("digits", [self.input_of(self.images, True)])
                by_grpc = await grpc.infer(request)
            return [r.outputs[0].as_numpy() for r in (by_http, by_grpc)]

        for scores in asyncio.run(score()):
            self.assertEqual(scores.shape, (len(self.images), 10))
            self.assertAlmostEqual((scores.argmax(1) == self.labels).mean(), self.accuracy, delta=0.001)

    def test_a_wrong_request_gets_400(self):
        for data in ({"name": "picture", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": [0.0] * 64},
                     {"name": "image", "shape": [1, 64], "datatype": "FP32", "data": [0.0] * 64}):
            with self.subTest(name=data["name"]), self.assertRaises(urllib.error.HTTPError) as raised:
                self.get("/v2/models/digits/infer", {"inputs": [data]})
            self.assertEqual(raised.exception.code, 400)
            self.assertIn("image", raised.exception.read().decode())


if __name__ == "__main__":
    unittest.main()
