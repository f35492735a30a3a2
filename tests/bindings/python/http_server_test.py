"""examples/python/http_server.py serves PopEF files from a model repository as Triton has it."""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from poprt.compiler import Compiler, CompilerOptions

BINDINGS = pathlib.Path(__file__).resolve().parents[1]
SERVER = BINDINGS.parents[1] / "examples" / "python" / "http_server.py"


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name, names in (("affine", None), ("renamed", {"x": "input/0", "y": "output/0"})):
            version = pathlib.Path(cls.folder.name, name, "1")
            version.mkdir(parents=True)
            Compiler.compile_and_export(str(BINDINGS / "data" / "affine.onnx"), None, str(version / "executable.popef"),
                                        CompilerOptions(input_shape={"x": [2, 4]}))
            if names:
                (version / "name_map.json").write_text(json.dumps(names), encoding="utf-8")
        cls.process = subprocess.Popen([sys.executable, str(SERVER), cls.folder.name], stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "POPRT_THREADS": "1"})
        address, _, served = cls.process.stdout.readline().partition(" serves ")
        assert served == "affine, renamed\n", served
        cls.port = int(address.rpartition(":")[2])

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.process.stdout.close()
        cls.folder.cleanup()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def infer(self, data, model="affine", name="x", shape=(2, 4), datatype="FP32"):
        tensor = {"name": name, "shape": shape, "datatype": datatype, "data": data}
        return self.ask("POST", f"/v2/models/{model}/infer", {"id": "7", "inputs": [tensor]})

    def test_it_says_what_it_serves(self):
        self.assertEqual(self.ask("GET", "/v2/health/ready")[0], 200)
        status, said = self.ask("GET", "/v2/models/affine")
        self.assertEqual((status, said["inputs"], said["outputs"]), (
            200, [{"name": "x", "shape": [2, 4], "datatype": "FP32"}], [{"name": "y", "shape": [2, 4], "datatype": "FP32"}]))
        self.assertEqual(self.ask("GET", "/v2/models/renamed")[1]["inputs"][0]["name"], "input/0")

    def test_requests_of_several_clients(self):
        answers = {}

        def client(number):
            for i in range(20):
                first = 100 * number + i
                answers[first] = self.infer(list(range(first, first + 8)), *(("renamed", "input/0") if number % 2 else ()))

        clients = [threading.Thread(target=client, args=(n,)) for n in range(4)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        self.assertEqual(len(answers), 80)
        for first, (status, said) in answers.items():
            self.assertEqual((status, said.get("id")), (200, "7"), said)
            output, = said["outputs"]
            self.assertEqual((output["name"], output["shape"], output["datatype"]),
                             ("output/0" if first // 100 % 2 else "y", [2, 4], "FP32"))
            self.assertEqual(output["data"], [2 * v + 1 for v in range(first, first + 8)])

    def test_what_is_wrong_is_an_answer(self):
        for status, asked, why in ((404, lambda: self.infer([0] * 8, "other"), "other"), (400, lambda: self.infer([0] * 8, name="z"), "'z'"),
                                   (400, lambda: self.infer([0] * 7), "shape"), (400, lambda: self.infer([0] * 8, datatype="FP8"), "FP8"),
                                   (404, lambda: self.ask("GET", "/v2/models/other"), "other"),
                                   (400, lambda: self.ask("POST", "/v2/models/affine/infer", {}), "inputs")):
            got, said = asked()
            self.assertEqual(got, status, said)
            self.assertIn(why, said["error"])
        self.assertEqual(self.infer([1] * 8)[1]["outputs"][0]["data"], [3] * 8)


if __name__ == "__main__":
    unittest.main()
