"""poprt_serve: the Open Inference Protocol over HTTP (curl and plain sockets) and gRPC, limits, and hostile clients."""

import concurrent.futures
import contextlib
import http.client
import importlib
import json
import math
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import onnx_writer
from serve_support import SERVE, call, compiled, curl, image_request, onnx_model, serving
from support import BIN, DIGITS, ROOT, model

MODELS = os.path.join(ROOT, "tests", "bindings", "data")
DATA = os.path.join(ROOT, "examples", "digits")
GENERATION = os.path.join(ROOT, "tests", "data", "generation")
TOKENIZERS = os.path.join(GENERATION, "tokenizers")
SENTENCEPIECE = os.path.exists(os.path.join(BIN, "..", "lib", "libpoprt_tokenizer.so.1"))
PROTO = os.path.join(ROOT, "cli", "serve", "inference.proto")
try:
    import grpc
except ImportError:
    grpc = None


@unittest.skipUnless(os.path.exists(SERVE), "poprt_serve is not built")
class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.repository = os.path.join(cls.folder, "models")
        compiled(DIGITS, os.path.join(cls.repository, "digits.popef"), "--input_shape", "image=8,1,8,8")
        compiled(DIGITS, os.path.join(cls.repository, "buckets", "1", "model.popef"), "--input_shape",
                 "image=1,1,8,8/4,1,8,8/20,1,8,8")
        compiled(os.path.join(MODELS, "half.onnx"), os.path.join(cls.repository, "half.popef"), "--input_shape", "x=2,4")
        with open(os.path.join(cls.repository, "buckets", "1", "name_map.json"), "w", encoding="utf-8") as file:
            json.dump({"image": "image", "scores": "output/0"}, file)

    @contextlib.contextmanager
    def given_up(self):
        """A server: its ports. In the block, five requests of one row wait, and four of them are given up. A batch has eight rows."""
        with serving(self.repository, "--batch_wait_ms", "600000") as (port, grpc_port, _):
            def metric(name):
                return int(re.search(rf"poprt_{name}{{model=.digits.}} (\d+)", curl(port, "/metrics")[2].decode()).group(1))
            def wait_for(name, count):
                end = time.monotonic() + 60
                while metric(name) != count:
                    self.assertLess(time.monotonic(), end, name)
                    time.sleep(0.01)
            yield port, grpc_port, lambda: self.wait_for_requests(port, 5)
            wait_for("requests_failed_total", 4)
            self.assertEqual(call(port, "/v2/models/digits/infer", image_request(7))[0], 200)
            wait_for("requests_succeeded_total", 2)
            self.assertEqual(metric("batches_total"), 1)

    def wait_for_requests(self, port, count):
        end = time.monotonic() + 60
        while f"poprt_requests_in_flight {count}\n" not in curl(port, "/metrics")[2].decode():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class Http(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = serving(cls.repository, "--access_log", os.path.join(cls.folder, "log"))
        cls.port, cls.grpc_port, cls.process = cls.enterClassContext(server)

    def test_health_and_metadata(self):
        self.assertEqual(call(self.port, "/v2/health/live"), (200, {"live": True}))
        self.assertEqual(call(self.port, "/v2/health/ready"), (200, {"ready": True}))
        self.assertEqual(call(self.port, "/v2/models/digits/ready"), (200, {"ready": True}))
        self.assertEqual(call(self.port, "/v2")[1]["name"], "poprt_serve")
        expected = {"name": "buckets", "versions": ["1"], "platform": "poprt_popef",
                    "inputs": [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}],
                    "outputs": [{"name": "output/0", "datatype": "FP32", "shape": [-1, 10]}]}
        self.assertEqual(call(self.port, "/v2/models/buckets/versions/1"), (200, expected))

    def test_digits_have_the_accuracy_of_the_training(self):
        with open(os.path.join(DATA, "heldout-images.idx3-ubyte"), "rb") as file:
            images = [pixel / 16 for pixel in file.read()[16:]]
        with open(os.path.join(DATA, "heldout-labels.idx1-ubyte"), "rb") as file:
            labels = list(file.read()[8:])
        with open(os.path.join(DATA, "accuracy.json"), encoding="utf-8") as file:
            expected = json.load(file)["fp32"]
        status, answer = call(self.port, "/v2/models/digits/infer", image_request(len(labels), images))
        self.assertEqual((status, answer["outputs"][0]["shape"]), (200, [len(labels), 10]))
        scores = answer["outputs"][0]["data"]
        found = [max(range(10), key=lambda c, i=i: scores[10 * i + c]) for i in range(len(labels))]
        right = sum(a == b for a, b in zip(found, labels)) / len(labels)
        self.assertAlmostEqual(right, expected, delta=0.001)

    def test_nested_data_and_id(self):
        flat = image_request(2)
        nested = json.loads(json.dumps(flat))
        data = nested["inputs"][0]["data"]
        nested["inputs"][0]["data"] = [[[data[64 * i + 8 * r:64 * i + 8 * r + 8] for r in range(8)]] for i in range(2)]
        nested["id"] = "seven"
        first, second = (call(self.port, "/v2/models/digits/infer", r)[1] for r in (flat, nested))
        self.assertEqual(second.pop("id"), "seven")
        self.assertEqual(first, second)

    def test_binary_tensors(self):
        request = image_request(3)
        _, expected = call(self.port, "/v2/models/digits/infer", request)
        values = request["inputs"][0].pop("data")
        request["inputs"][0]["parameters"] = {"binary_data_size": 4 * len(values)}
        request["outputs"] = [{"name": "scores", "parameters": {"binary_data": True}}]
        head = json.dumps(request).encode()
        path = os.path.join(self.folder, "body")
        with open(path, "wb") as file:
            file.write(head + struct.pack(f"<{len(values)}f", *values))
        status, header, body = curl(self.port, "/v2/models/digits/infer", "--data-binary", "@" + path, "-H",
                                    f"Inference-Header-Content-Length: {len(head)}")
        self.assertEqual(status, 200)
        size = int(re.search(r"Inference-Header-Content-Length: (\d+)", header)[1])
        (output,) = json.loads(body[:size])["outputs"]
        self.assertEqual(output["parameters"], {"binary_data_size": 120})
        found = struct.unpack("<30f", body[size:])
        for a, b in zip(found, expected["outputs"][0]["data"]):
            self.assertAlmostEqual(a, b, delta=1e-4)

    def test_half_precision(self):
        metadata = call(self.port, "/v2/models/half")[1]
        self.assertEqual({t["datatype"] for t in metadata["inputs"] + metadata["outputs"]}, {"FP16"})
        ones, twos = (call(self.port, "/v2/models/half/infer",
                           {"inputs": [{"name": "x", "shape": [2, 4], "datatype": "FP16", "data": [v] * 8}]})[1] for v in (1, 2))
        zeros = call(self.port, "/v2/models/half/infer",
                     {"inputs": [{"name": "x", "shape": [2, 4], "datatype": "FP16", "data": [0] * 8}]})[1]
        columns = [r["outputs"][0]["data"] for r in (zeros, ones, twos)]
        for zero, one, two in zip(*columns):  # the model is affine
            self.assertAlmostEqual(two - one, one - zero, delta=0.01)

    def test_refusals_name_the_expected_values(self):
        infer = "/v2/models/digits/infer"

        def refused(request, *facts):
            status, answer = call(self.port, infer, request)
            self.assertEqual(status, 400)
            for fact in facts:
                self.assertIn(fact, answer["error"])

        good = image_request(1)

        def with_input(**changed):
            return {"inputs": [{**good["inputs"][0], **changed}]}

        refused(with_input(name="picture"), "no input 'picture'", "'image'")
        refused(with_input(datatype="FP64"), "has type FP64; expected FP32")
        refused(with_input(datatype="FLOAT"), "'FLOAT', which is not known")
        refused(with_input(shape=[2, 1, 8, 8]), "has 256 bytes", "512")
        refused(with_input(shape=[1, 8, 8, 1]), "[1,8,8,1]")
        refused(with_input(shape=[1 << 39, 1 << 39, 1 << 39, 8]), "is not possible")
        refused(with_input(shape=[-1]), "size of -1, which is not possible")
        refused(with_input(data=["x"] * 64), "the value \"x\", which FP32 does not have")
        refused(with_input(data=[0] * 65), "more values than its shape")
        columns = [[[[0] * 8] * 7 + [[0] * 7]]]  # 7 rows of 8 and one of 7
        refused(with_input(data=columns), "'data' has arrays with 8 and with 7 elements at one depth")
        refused(with_input(data=[[[[0] * 8] * 7 + [[[0] * 8]]]]), "'data' has arrays with 8 and with 1 elements at one depth")
        refused(with_input(data=[0] * 63 + [[0]]), "'data' has a number next to an array")
        refused(with_input(data=[[0]] + [0] * 63), "'data' has a number next to an array")
        refused(with_input(data=[[[[0] * 4] * 16]]), "'data' has arrays of shape [1,1,16,4]; expected [1,1,8,8], or one array of all numbers")
        for same in ([[[[0] * 8] * 8]], [[0] * 8] * 8, [0] * 64):
            self.assertEqual(call(self.port, infer, with_input(data=same))[0], 200)
        refused(with_input(parameters={"binary_data_size": 1 << 60}), "'data' and binary_data_size")
        refused({"inputs": 3}, "'inputs' is 3; expected an array")
        refused({"inputs": [3]}, "'inputs' is 3; expected objects")
        refused({}, "image")
        refused({**good, "outputs": [{"name": "score"}]}, "no output 'score'", "'scores'")
        refused("{", "not a JSON object")
        refused("[" * 100000, "nested deeper")
        many = ",".join(['{"":1}'] * 200000)  # takes linear time
        refused('{"inputs":[{"name":"image","shape":[1],"datatype":"FP32","data":[' + many + "]}]}", "does not have")
        for path, status in (("/v2/models/nothing/infer", 404), ("/v2/models/digits/versions/2/infer", 404), ("/v3", 404)):
            self.assertEqual(call(self.port, path, good)[0], status)
        self.assertEqual(curl(self.port, "/v2", "-X", "DELETE")[0], 405)

    def test_a_target_in_absolute_form_is_its_path(self):
        for target, expected in (("http://x/v2/models/digits", 200), ("http://x:1/v2/health/ready", 200), ("http://x", 404), ("http://x/v3", 404)):
            with socket.create_connection(("127.0.0.1", self.port), 60) as client:
                client.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                self.assertTrue(client.recv(100).startswith(f"HTTP/1.1 {expected} ".encode()), target)

    def test_metrics_and_access_log(self):
        call(self.port, "/v2/models/buckets/infer", image_request(3))
        text = curl(self.port, "/metrics")[2].decode()
        count = int(re.search(r'^poprt_requests_succeeded_total\{model="buckets"\} (\d+)$', text, re.M)[1])
        self.assertGreaterEqual(count, 1)
        self.assertRegex(text, r'(?m)^poprt_model_ready\{model="digits"\} 1$')
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        mine = [line for line in lines if line["request"] == "POST /v2/models/buckets/infer"]
        self.assertEqual((mine[-1]["protocol"], mine[-1]["status"]), ("http", 200))

    def test_a_renamed_access_log_begins_again_after_a_signal(self):
        log = os.path.join(self.folder, "rotated")
        with serving(self.repository, "--access_log", log) as (port, _, process):
            call(port, "/v2")
            os.rename(log, log + ".1")
            process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 30
            while not os.path.exists(log):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            call(port, "/v2/models/digits")
        for path, request in ((log + ".1", "GET /v2"), (log, "GET /v2/models/digits")):
            with open(path, encoding="utf-8") as file:
                self.assertEqual([json.loads(line)["request"] for line in file], [request])

    def test_the_access_log_has_the_ends_of_requests_and_streams(self):
        folder, log = os.path.join(self.folder, "logged"), os.path.join(self.folder, "ends")
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "digits.popef"), folder)
        subprocess.run([os.path.join(BIN, "poprt_exec"), "generate", os.path.join(GENERATION, "genai"), "--ids", "1", "--max-new-tokens", "1",
                        "--save", os.path.join(folder, "text.popef")], check=True, capture_output=True)
        with serving(folder, "--batch_wait_ms", "600000", "--access_log", log) as (port, _, _):
            infer = ["curl", "-s", "-m", "0.5", "--data-binary", "@-", f"http://127.0.0.1:{port}/v2/models/digits/infer"]
            self.assertEqual(subprocess.run(infer, input=json.dumps(image_request(1)).encode(), check=False).returncode, 28)
            events = curl(port, "/v1/completions", "--data-binary", "@-", data=b'{"model": "text", "prompt": [1, 5], "max_tokens": 3, "stream": true}')[2]
            end = time.monotonic() + 30
            lines = []
            while len(lines) < 2:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
                with open(log, encoding="utf-8") as file:
                    lines = [json.loads(line) for line in file]
        found = {line["request"]: (line["status"], line["bytes_out"]) for line in lines}
        self.assertEqual(found["POST /v2/models/digits/infer"][0], 499)
        self.assertEqual(found["POST /v1/completions"], (200, len(events)))

    def test_metrics_count_the_requests_of_each_model(self):
        with serving(self.repository) as (port, _, _):
            begin = time.monotonic()
            for rows in (3, 8, 2):
                self.assertEqual(call(port, "/v2/models/digits/infer", image_request(rows))[0], 200)
            self.assertEqual(call(port, "/v2/models/digits/infer", {"inputs": []})[0], 400)
            text = curl(port, "/metrics")[2].decode()
            longest = time.monotonic() - begin
        metrics = {model: dict(re.findall(rf'^poprt_(\w+){{model="{model}"}} (\S+)$', text, re.M)) for model in ("digits", "half")}
        duration = float(metrics["digits"].pop("request_duration_seconds_total"))
        self.assertGreater(duration, 0)
        self.assertLess(duration, longest)
        self.assertEqual(float(metrics["half"].pop("request_duration_seconds_total")), 0)
        names = ("requests_succeeded_total", "requests_failed_total", "requests_rejected_total", "rows_total", "batches_total",
                 "padded_rows_total", "model_ready")
        self.assertEqual(metrics["digits"], dict(zip(names, ("3", "1", "0", "13", "3", "11", "1"))))
        self.assertEqual(metrics["half"], dict.fromkeys(names, "0") | {"model_ready": "1"})
        self.assertIn("\npoprt_requests_in_flight 0\n", text)
        for kind, name in re.findall(r"^# (HELP|TYPE) (\w+) ", text, re.M):
            self.assertEqual(text.count(f"# {kind} {name} "), 1)
            self.assertRegex(text, rf"(?m)^# HELP {name} .*\.\n# TYPE {name} (counter|gauge)\n{name}[ {{]")

    def test_readiness_of_each_model_is_a_metric(self):
        folder = os.path.join(self.folder, "partly ready")
        os.makedirs(folder)
        for name in ("good", "gone"):
            shutil.copy(os.path.join(self.repository, "digits.popef"), os.path.join(folder, name + ".popef"))
        with open(os.path.join(folder, "broken.popef"), "wb") as file:
            file.write(b"damaged")
        subprocess.run([os.path.join(BIN, "poprt_exec"), "generate", os.path.join(GENERATION, "genai"), "--ids", "1", "--max-new-tokens", "1",
                        "--save", os.path.join(folder, "text.popef")], check=True, capture_output=True)
        with serving(folder) as (port, _, _):
            call(port, "/v2/repository/models/gone/unload", {})
            found = dict(re.findall(r'^poprt_model_ready\{model="(\w+)"\} (\d)$', curl(port, "/metrics")[2].decode(), re.M))
        self.assertEqual(found, {"broken": "0", "gone": "0", "good": "1", "text": "1"})

    def test_rows_of_models_at_several_shapes_are_counted(self):
        def rows():
            return int(re.search(r"poprt_rows_total{model=.buckets.} (\d+)", curl(self.port, "/metrics")[2].decode()).group(1))
        before = rows()
        self.assertEqual(call(self.port, "/v2/models/buckets/infer", image_request(3))[0], 200)
        self.assertEqual(rows(), before + 3)

    def test_many_clients_get_their_own_answers(self):
        requests = [image_request(n, [(i * n + 3) % 17 for i in range(64 * n)]) for n in range(1, 9)]
        alone = [call(self.port, "/v2/models/buckets/infer", r)[1]["outputs"][0]["data"] for r in requests]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda r: call(self.port, "/v2/models/digits/infer", r)[1]["outputs"][0]["data"], requests * 4))
        for i, found in enumerate(together):
            for a, b in zip(found, alone[i % 8]):
                self.assertAlmostEqual(a, b, delta=1e-3)

    def send(self, data, end=False):
        """Sends `data` and returns the first bytes of the answer, or with `end` all of it. A wait takes two seconds at most."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as client:
            client.settimeout(2)
            answer = b""
            try:
                client.sendall(data)
                if end:
                    client.shutdown(socket.SHUT_WR)
                while chunk := client.recv(65536):
                    answer += chunk
                    if not end:
                        break
            except OSError:
                pass
            return answer

    def test_hostile_bytes_do_not_stop_the_server(self):
        post = b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\n"
        self.assertIn(b" 413 ", self.send(post + b"Content-Length: 9999999999\r\n\r\n"))
        self.assertRegex(self.send(b"GET /v2 HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100000 + b"\r\n\r\n"), rb" 4(31|13|00) |^$")
        for data in (post + b"Content-Length: 100\r\n\r\n{", post + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                     post + b"Content-Length: -1\r\n\r\n", b"\0" * 5000, b"GET  HTTP/9.9\r\n\r\n", bytes(range(256)) * 20,
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            self.send(data, end=True)
        with socket.create_connection(("127.0.0.1", self.grpc_port), 10) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
        with socket.create_connection(("127.0.0.1", self.grpc_port), 10) as client:  # pings without end
            with contextlib.suppress(OSError):
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\x08\6\0\0\0\0\0" + b"p" * 8)
                for _ in range(20000):
                    client.sendall(b"\0\0\x08\6\0\0\0\0\0" + b"p" * 8)
        self.assertEqual(call(self.port, "/v2/models/digits/infer", image_request(1))[0], 200)

    def test_idle_and_slow_clients_do_not_block_others(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        count = min(1000, (hard - 100) // 2)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 200)), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with contextlib.ExitStack() as stack:
            for i in range(count):
                client = stack.enter_context(socket.create_connection(("127.0.0.1", self.port), 10))
                if i % 2:  # a body that never ends
                    client.sendall(b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            self.assertEqual(call(self.port, "/v2/models/digits/infer", image_request(2))[0], 200)
        self.assertEqual(call(self.port, "/v2/health/ready")[0], 200)


    def test_much_json_does_not_delay_others(self):
        body = json.dumps(image_request(4000, [i % 17 / 7 for i in range(256000)])).encode()
        path = os.path.join(self.folder, "much")
        with open(path, "wb") as file:
            file.write(body)
        begin = time.monotonic()
        status, _, answer = curl(self.port, "/v2/models/digits/infer", "--data-binary", "@" + path)
        alone = time.monotonic() - begin
        self.assertEqual((status, json.loads(answer)["outputs"][0]["shape"]), (200, [4000, 10]))
        times = []
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            much = [pool.submit(curl, self.port, "/v2/models/digits/infer", "--data-binary", "@" + path) for _ in range(8)]
            while not all(m.done() for m in much):
                begin = time.monotonic()
                with socket.create_connection(("127.0.0.1", self.port), 60) as client:
                    client.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
                    self.assertIn(b" 200 ", client.recv(1000))
                times.append(time.monotonic() - begin)
                time.sleep(0.01)
        for one in much:
            self.assertEqual((one.result()[0], one.result()[2]), (200, answer))
        self.assertLess(sorted(times)[len(times) // 2], alone / 4)


class Limits(ServeTest):
    def test_size_of_requests_and_waiting_requests(self):
        with serving(self.repository, "--max_request_mib", "1", "--max_waiting", "1") as (port, _, _):
            rejected = 0
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                while not rejected:
                    for status, answer in pool.map(lambda rows: call(port, "/v2/models/digits/infer", image_request(rows)), [40] * 16):
                        self.assertIn(status, (200, 429))
                        if status == 429:
                            rejected += 1
                            self.assertEqual(answer["error"], "more than 1 requests wait; try again later")
            path = os.path.join(self.folder, "large")
            with open(path, "wb") as file:
                file.truncate(2 << 20)
            for header in ("Accept: */*", "Transfer-Encoding: chunked"):
                printed = curl(port, "/v2/models/digits/infer", "--data-binary", "@" + path, "-H", header)
                self.assertEqual(printed[0], 413, header)
            self.assertIn(f'poprt_requests_rejected_total{{model="digits"}} {rejected}\n', curl(port, "/metrics")[2].decode())
            with socket.create_connection(("127.0.0.1", port), 60) as client:  # reads only after it has sent its body
                client.sendall(f"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {3 << 20}\r\n\r\n".encode())
                time.sleep(0.3)
                for _ in range(3):
                    client.sendall(bytes(1 << 20))
                self.assertIn(b" 413 ", client.recv(100))

    def test_connections_end_when_the_client_closes_them(self):
        post = b"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
        with serving(self.repository, "--max_connections", "20") as (port, _, _):
            for length in [20, len(post)] * 150:
                with socket.create_connection(("127.0.0.1", port), 10) as client, contextlib.suppress(OSError):
                    client.sendall(post[:length])
            self.wait_until_live(port)

    def live(self, port, stack=None):
        """The begin of the answer, or b"" if the connection is closed. With `stack`, it stays open until that ends."""
        with contextlib.ExitStack() as own, contextlib.suppress(ConnectionError):
            client = (stack or own).enter_context(socket.create_connection(("127.0.0.1", port), 10))
            client.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            return client.recv(100)
        return b""

    def wait_until_live(self, port):
        end = time.monotonic() + 20
        while b" 200 " not in self.live(port):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_connections_beyond_the_limit_are_closed(self):
        with serving(self.repository, "--max_connections", "20") as (port, _, _), contextlib.ExitStack() as stack:
            for _ in range(20):
                self.assertIn(b" 200 ", self.live(port, stack))
            for _ in range(6):
                self.assertEqual(self.live(port), b"")
            stack.close()
            self.wait_until_live(port)

    def test_connections_are_as_many_as_the_descriptors_allow(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
        with serving(self.repository, before=limit) as (port, grpc_port, process), contextlib.ExitStack() as stack:
            self.assertEqual(process.started[0], "poprt_serve: warning: --max_connections is 40 instead of 4096, because the process can "
                                                 "have 80 file descriptors (ulimit -Hn)\n")
            for _ in range(40):
                self.assertIn(b" 200 ", self.live(port, stack))
            for _ in range(100):
                self.assertEqual(self.live(port), b"")
            with socket.create_connection(("127.0.0.1", grpc_port), timeout=30) as client:  # HTTP/2
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
                self.assertNotEqual(client.recv(100), b"")

    def test_requests_that_clients_close_are_not_computed(self):
        body = json.dumps(image_request(1))
        post = f"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        with self.given_up() as (port, _, wait):
            clients = [self.enterContext(socket.create_connection(("127.0.0.1", port), 60)) for _ in range(5)]
            for client in clients:
                client.sendall(post)
            wait()
            time.sleep(0.3)  # a client may close its sending side right after the request
            for client in clients[1:]:
                client.close()

    def test_clients_may_close_their_sending_side(self):
        body = json.dumps(image_request(1))
        post = f"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        with serving(self.repository) as (port, _, _):
            for _ in range(100):
                with socket.create_connection(("127.0.0.1", port), 60) as client:
                    client.sendall(post)
                    client.shutdown(socket.SHUT_WR)
                    self.assertIn(b" 200 ", client.recv(100))

    def test_size_of_all_bodies(self):
        """Clients that send large bodies get 429 together, and do not block requests of 64 KiB or less."""
        def post(size):
            request = image_request(size // 256, parameters={"binary_data_output": True})
            del request["inputs"][0]["data"]
            request["inputs"][0]["parameters"] = {"binary_data_size": size}
            head = json.dumps(request).encode()
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as client:
                client.request("POST", "/v2/models/digits/infer", head + bytes(size), {"Inference-Header-Content-Length": len(head)})
                response = client.getresponse()
                answer = response.status, response.headers, response.read()
                # The server answers this after it has released the body. Otherwise a slow client could be refused.
                client.request("GET", "/v2/health/live")
                self.assertEqual(client.getresponse().read(), b'{"live":true}')
                return answer
        with serving(self.repository, "--max_request_mib", "2", "--max_bodies_mib", "2") as (port, _, _):
            self.assertEqual(post(1 << 20)[0], 200)
            for kind in (f"Content-Length: {2 << 20}", "Transfer-Encoding: chunked"):
                with contextlib.ExitStack() as stack:
                    for _ in range(2):
                        slow = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                        part = bytes(900 << 10)
                        chunk = f"{len(part):x}\r\n".encode() if "chunked" in kind else b""
                        slow.sendall(f"POST /v2/models/digits/infer HTTP/1.1\r\nHost: x\r\n{kind}\r\n\r\n".encode() + chunk + part)
                    end = time.monotonic() + 60
                    while post(1 << 20)[0] != 429:
                        self.assertLess(time.monotonic(), end)
                    status, header, body = post(1 << 20)
                    self.assertEqual(status, 429)
                    self.assertIn("Retry-After", header)
                    self.assertIn("the limit, which is 2097152", json.loads(body)["error"])
                    self.assertEqual(post(32 << 10)[0], 200)
                end = time.monotonic() + 60
                while post(1 << 20)[0] != 200:  # the connections are closed
                    self.assertLess(time.monotonic(), end)

    def test_the_token_is_read_again_after_a_signal(self):
        path = os.path.join(self.folder, "changing token")

        def write(token):
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(token)
            os.rename(path + ".new", path)

        def status(token):
            return curl(port, "/v2", "-H", f"Authorization: Bearer {token}")[0]
        write("first")
        with serving(self.repository, "--token_file", path) as (port, _, process):
            self.assertEqual((status("first"), status("second")), (200, 401))
            write("second")
            process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 30
            while status("second") != 200:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            self.assertEqual(status("first"), 401)
            write("")
            process.send_signal(signal.SIGHUP)
            self.assertEqual(process.stderr.readline(), f"poprt_serve: --token_file: '{path}' has no token; the old token stays\n")
            self.assertEqual((status("second"), status("")), (200, 401))

    def test_token_and_tls(self):
        token, key, certificate = (os.path.join(self.folder, n) for n in ("token", "key.pem", "certificate.pem"))
        with open(token, "w", encoding="utf-8") as file:
            file.write("secret\n")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-days", "2", "-keyout", key, "-out", certificate], check=True,
                       capture_output=True)
        tls = ["--tls_certificate", certificate, "--tls_key", key]
        with serving(self.repository, "--token_file", token, *tls) as (port, _, process):
            trust = ["--cacert", certificate]
            self.assertEqual(curl(port, "/v2/health/ready", *trust, scheme="https")[0], 200)
            status, header, _ = curl(port, "/v2", *trust, scheme="https")
            self.assertEqual(status, 401)
            self.assertIn("WWW-Authenticate: Bearer", header)
            for given, expected in (("secret", 200), ("secre", 401), ("secrets", 401), ("", 401)):
                printed = curl(port, "/v2", *trust, "-H", f"Authorization: Bearer {given}", scheme="https")
                self.assertEqual(printed[0], expected, given)
            plain = subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/v2"], capture_output=True, check=False)
            self.assertNotEqual(plain.returncode, 0)
            shutil.copy(certificate, certificate + ".new")
            os.rename(certificate + ".new", certificate)
            process.send_signal(signal.SIGHUP)
            self.assertEqual(process.stderr.readline(), "poprt_serve: the files of --tls_certificate and --tls_key have changed since the "
                                                        "start; restart the server to use the new ones\n")
        encrypted = os.path.join(self.folder, "encrypted.pem")
        subprocess.run(["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", encrypted], check=True, capture_output=True)
        done = subprocess.run([SERVE, self.repository, *tls[:3], encrypted], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (1, f"poprt_serve: --tls_key: '{encrypted}' is encrypted; expected a file without "
                                                             "a password\n"))
        other = os.path.join(self.folder, "other.pem")
        subprocess.run(["openssl", "genrsa", "-out", other, "2048"], check=True, capture_output=True)
        for http_port, grpc_port, protocol in (("0", "-1", "HTTP"), ("-1", "0", "gRPC")):
            done = subprocess.run([SERVE, self.repository, "--http_port", http_port, "--grpc_port", grpc_port, *tls[:3], other],
                                  capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(f"{protocol} cannot use the certificate with the key: ", done.stderr)
            self.assertIn("expected a certificate and the private key that belongs to it, both as PEM", done.stderr)


class Repository(ServeTest):
    def test_load_unload_and_reload(self):
        folder = os.path.join(self.folder, "changing")
        os.makedirs(folder)
        target = os.path.join(folder, "m.popef")
        shutil.copy(os.path.join(self.repository, "digits.popef"), target)
        with serving(folder, "--poll_seconds", "0.1") as (port, _, _):
            self.assertEqual(call(port, "/v2/repository/models/m/unload", {}), (200, {}))
            self.assertEqual(call(port, "/v2/models/m/infer", image_request(1))[0], 503)
            self.assertEqual(call(port, "/v2/repository/models/m/load", {}), (200, {}))
            self.assertEqual(call(port, "/v2/models/m/infer", image_request(1))[0], 200)
            self.assertEqual(call(port, "/v2/repository/models/n/load", {})[0], 404)
            with open(target + ".new", "wb") as file:
                file.write(b"damaged")
            os.rename(target + ".new", target)
            time.sleep(0.5)
            self.assertEqual(call(port, "/v2/models/m/infer", image_request(1))[0], 200)  # the old file is still served
            shutil.copy(os.path.join(self.repository, "half.popef"), target + ".new")
            os.rename(target + ".new", target)
            end = time.monotonic() + 30
            while call(port, "/v2/models/m")[1]["inputs"][0]["name"] != "x":
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)

    @staticmethod
    def replace(path, content, date=None):
        with open(path + ".new", "wb") as file:
            file.write(content)
        if date:
            os.utime(path + ".new", (date, date))
        os.rename(path + ".new", path)

    def expect_sum(self, port, name, expected):
        """Waits until model `name` adds `expected` to its input."""
        end = time.monotonic() + 30
        while True:
            status, answer = call(port, f"/v2/models/{name}/infer", {"inputs": [
                {"name": "x", "shape": [2], "datatype": "FP32", "data": [0, 0]}]})
            if status == 200 and answer["outputs"][0]["data"] == [expected, expected]:
                return
            self.assertLess(time.monotonic(), end, answer)
            time.sleep(0.05)

    @staticmethod
    def adding(location):
        """An ONNX file that adds the two values in the file `location` to x."""
        data = onnx_writer.message(13, onnx_writer.message(1, "location"), onnx_writer.message(2, location))
        weights = onnx_writer.message(5, onnx_writer.number(1, 2), onnx_writer.number(2, onnx_writer.F32), onnx_writer.message(8, "w"), data,
                                      onnx_writer.number(14, 1))
        x, y = (onnx_writer.value(name, onnx_writer.F32, [2]) for name in "xy")
        return onnx_writer.model([onnx_writer.node("Add", ["x", "w"], ["y"])], [x], [y], [weights])

    def test_a_replaced_file_of_a_model_is_loaded(self):
        folder = os.path.join(self.folder, "several files")
        os.makedirs(os.path.join(folder, "a", "1", "data"))
        first, second = os.path.join(folder, "a", "1", "data", "w"), os.path.join(folder, "b.weights")
        one, two, three = (struct.pack("<2f", v, v) for v in (1, 2, 3))
        for path, data in ((first, one), (second, one), (os.path.join(folder, "a", "1", "model.onnx"), self.adding("data/w")),
                           (os.path.join(folder, "b.onnx"), self.adding("b.weights"))):
            self.replace(path, data, 1e9)
        with serving(folder, "--compile", "--poll_seconds", "0.1") as (port, _, _):
            for name, path in (("a", first), ("b", second)):
                self.expect_sum(port, name, 1)
                self.replace(path, two, 1e9)  # the same size and date
                self.expect_sum(port, name, 2)
                with open(path, "wb") as file:  # a copy that is not complete
                    file.write(three[:4])
                    file.flush()
                    time.sleep(0.5)
                    self.expect_sum(port, name, 2)
                    file.write(three[4:])
                self.expect_sum(port, name, 3)
            names = os.path.join(folder, "a", "1", "name_map.json")
            self.replace(names, b'{"y": "sum"}')
            for expected in ("sum", "y"):
                end = time.monotonic() + 30
                while call(port, "/v2/models/a")[1]["outputs"][0]["name"] != expected:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.05)
                if expected == "sum":
                    os.remove(names)

    def test_files_of_a_model_are_compared_after_a_signal(self):
        folder = os.path.join(self.folder, "files by signal")
        os.makedirs(folder)
        self.replace(os.path.join(folder, "b.weights"), struct.pack("<2f", 1, 1), 1e9)
        self.replace(os.path.join(folder, "b.onnx"), self.adding("b.weights"), 1e9)
        with serving(folder, "--compile") as (port, _, process):
            self.expect_sum(port, "b", 1)
            self.replace(os.path.join(folder, "b.weights"), struct.pack("<2f", 2, 2), 1e9)
            process.send_signal(signal.SIGHUP)
            self.expect_sum(port, "b", 2)

    def test_clients_load_no_models_without_control(self):
        with serving(self.repository, "--model_control", "none") as (port, _, _):
            for action in ("unload", "load"):
                status, answer = call(port, f"/v2/repository/models/digits/{action}", {})
                self.assertEqual(status, 403)
                self.assertIn("--model_control none", answer["error"])
            self.assertEqual(call(port, "/v2/models/digits/infer", image_request(1))[0], 200)

    def test_a_model_that_failed_at_the_start_is_tried_again(self):
        good = os.path.join(self.repository, "digits.popef")
        for options, by_signal in ((["--poll_seconds", "0.1"], False), ([], True)):
            folder = os.path.join(self.folder, f"failed {by_signal}")
            os.makedirs(os.path.join(folder, "late", "1"))
            target = os.path.join(folder, "broken.popef")
            with open(target, "wb") as file:
                file.write(b"damaged")
            with serving(folder, *options) as (port, _, process):
                self.assertEqual(call(port, "/v2/health/ready")[0], 503)
                shutil.copy(good, target + ".new")
                os.rename(target + ".new", target)
                shutil.copy(good, os.path.join(folder, "late", "m"))
                os.rename(os.path.join(folder, "late", "m"), os.path.join(folder, "late", "1", "m.popef"))
                if by_signal:
                    process.send_signal(signal.SIGHUP)
                end = time.monotonic() + 30
                while call(port, "/v2/health/ready")[0] != 200:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.05)
                for name in ("broken", "late"):
                    self.assertEqual(call(port, f"/v2/models/{name}/infer", image_request(1))[0], 200)

    def slow_to_compile(self, path):
        """An ONNX file with products of constants, which the compiler computes."""
        size, products = 1000, 60
        nodes = [onnx_writer.node("MatMul", [f"w{i}", "w0"], [f"w{i + 1}"]) for i in range(products)]
        nodes.append(onnx_writer.node("Add", ["x", f"w{products}"], ["y"]))
        with open(path + ".new", "wb") as file:
            file.write(onnx_writer.model(nodes, [onnx_writer.value("x", onnx_writer.F32, [1, size])],
                                         [onnx_writer.value("y", onnx_writer.F32, [size, size])],
                                         [onnx_writer.floats("w0", [size, size], [0.0] * size * size)]))
        os.rename(path + ".new", path)

    def compiling(self, name):
        """A repository with a model that is compiled at once, and its path."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "digits.popef"), folder)
        target = os.path.join(folder, "m.onnx")
        shutil.copy(model("relu"), target)
        os.environ["POPART_CACHE_DIR"] = os.path.join(self.folder, name + " cache")
        self.addCleanup(os.environ.pop, "POPART_CACHE_DIR")
        return folder, target

    def test_a_generator_of_features_is_not_ready(self):
        folder = os.path.join(self.folder, "features")
        shutil.copytree(os.path.join(GENERATION, "whisper_genai"), os.path.join(folder, "audio", "1"))
        with serving(folder, "--compile") as (port, _, _):
            self.assertEqual(call(port, "/v2/health/ready")[0], 503)
            status, = call(port, "/v2/repository/index", {})[1]
            self.assertEqual(status["state"], "UNAVAILABLE")
            self.assertIn("the encoder of the model takes features", status["reason"])

    def test_an_output_of_another_model_of_a_fused_one_is_refused(self):
        folder = os.path.join(self.folder, "fused")
        config = os.path.join(self.folder, "fused.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"output_dir: '{folder}'\nexport_popef: True\nmodel_fusion:\n" + 2 * f"  - input_model: '{model('relu')}'\n")
        subprocess.run([os.path.join(BIN, "poprt"), "--config_yaml", config], check=True, capture_output=True)
        with serving(folder) as (port, _, _):
            metadata = call(port, "/v2/models/executable")[1]
            given = next(t for t in metadata["inputs"] if t["name"].startswith("graph1/"))
            outputs = sorted(t["name"] for t in metadata["outputs"])
            request = {"inputs": [{"name": given["name"], "shape": given["shape"], "datatype": given["datatype"],
                                   "data": [1] * math.prod(given["shape"])}]}
            self.assertEqual([t["name"] for t in call(port, "/v2/models/executable/infer", request)[1]["outputs"]], [outputs[1]])
            for wanted in ([outputs[0]], outputs):
                status, answer = call(port, "/v2/models/executable/infer", {**request, "outputs": [{"name": n} for n in wanted]})
                self.assertEqual((status, answer["error"]),
                                 (400, f"output '{outputs[0]}' belongs to another model of a fused one than the inputs"))

    def test_other_files_are_no_models(self):
        folder = os.path.join(self.folder, "with others")
        os.makedirs(os.path.join(folder, "lost+found"))
        os.makedirs(os.path.join(folder, "folder.popef"))
        shutil.copy(os.path.join(self.repository, "digits.popef"), folder)
        for name in ["README.md", ".hidden.popef", *(f"note {i}" for i in range(50))]:  # one of them is the last entry
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("no model")
        with serving(folder) as (port, _, _):
            self.assertEqual([m["name"] for m in call(port, "/v2/repository/index", {})[1]], ["digits"])
            self.assertEqual(call(port, "/v2/health/ready"), (200, {"ready": True}))

    def test_damaged_files_are_found_with_verify(self):
        folder = os.path.join(self.folder, "flipped")
        os.makedirs(folder)
        with open(os.path.join(self.repository, "digits.popef"), "rb") as file:
            data = bytearray(file.read())
        shutil.copy(os.path.join(self.repository, "digits.popef"), os.path.join(folder, "whole.popef"))
        for damaged in range(len(data) // 2, len(data)):  # the first byte there that is no padding
            data[damaged] ^= 1
            with open(os.path.join(folder, "flip.popef"), "wb") as file:
                file.write(data)
            data[damaged] ^= 1
            if subprocess.run([os.path.join(BIN, "popef_dump"), "--verify", os.path.join(folder, "flip.popef")], capture_output=True,
                              check=False).returncode != 0:
                break
        with serving(folder, "--verify") as (port, _, _):
            states = {m["name"]: (m["state"], m["reason"]) for m in call(port, "/v2/repository/index", {})[1]}
            self.assertEqual(states["whole"], ("READY", ""))
            self.assertEqual(states["flip"][0], "UNAVAILABLE")
            self.assertIn("checksum", states["flip"][1])

    def test_sources_with_the_same_name_are_reported(self):
        folder = os.path.join(self.folder, "twice")
        os.makedirs(os.path.join(folder, "m", "1"))
        for name in ("m.popef", os.path.join("m", "1", "other.popef")):
            shutil.copy(os.path.join(self.repository, "digits.popef"), os.path.join(folder, name))
        shutil.copy(DIGITS, os.path.join(folder, "m.onnx"))
        with serving(folder) as (_, _, process):
            self.assertIn("poprt_serve: model 'm': 'm.popef' is used, without 'm.onnx', 'm/1' of the same name\n", process.started)

    def test_a_model_that_cannot_be_found_has_a_reason(self):
        folder = os.path.join(self.folder, "dangling")
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "digits.popef"), folder)
        os.symlink("nothing", os.path.join(folder, "gone.popef"))
        with serving(folder) as (port, _, _):
            (gone,) = (m for m in call(port, "/v2/repository/index", {})[1] if m["name"] == "gone")
            self.assertEqual((gone["state"], gone["reason"]), ("UNAVAILABLE", "the repository has no file of model 'gone': "
                                                                             "'gone.popef' is no regular file and no link to one"))
            os.remove(os.path.join(folder, "digits.popef"))
            self.assertEqual(call(port, "/v2/models/digits/infer", image_request(1))[0], 200)
            for name, message in (("digits", "the repository has no file of model 'digits'"), ("none", "there is no model 'none'")):
                self.assertEqual(call(port, f"/v2/repository/models/{name}/load", {}), (404, {"error": message}))
            self.assertEqual(call(port, "/v2/models/digits/infer", image_request(1))[0], 200)

    def test_a_model_whose_file_vanishes_has_a_reason_until_it_is_back(self):
        folder = os.path.join(self.folder, "vanishing")
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "digits.popef"), folder)
        with open(os.path.join(folder, "broken.popef"), "wb") as file:
            file.write(b"damaged")

        def wait_for(**expected):
            end = time.monotonic() + 30
            while True:
                found = {m["name"]: (m["state"], m["reason"]) for m in call(port, "/v2/repository/index", {})[1]}
                if all(found[name][0] == state and found[name][1].startswith(reason) and (reason or not found[name][1])
                       for name, (state, reason) in expected.items()):
                    return
                self.assertLess(time.monotonic(), end, found)
                time.sleep(0.05)
        with serving(folder, "--poll_seconds", "0.1") as (port, _, _):
            for name in ("digits", "broken"):
                os.rename(os.path.join(folder, name + ".popef"), os.path.join(self.folder, name + ".away"))
            wait_for(digits=("READY", "it was not loaded again: the repository has no file of model 'digits'"),
                     broken=("UNAVAILABLE", "the repository has no file of model 'broken'"))
            os.rename(os.path.join(self.folder, "digits.away"), os.path.join(folder, "digits.popef"))
            wait_for(digits=("READY", ""))

    def test_files_of_several_models_in_a_folder_are_refused(self):
        folder = os.path.join(self.folder, "several", "both", "1")
        os.makedirs(folder)
        for name in "digits", "half":
            shutil.copy(os.path.join(self.repository, name + ".popef"), folder)
        with serving(os.path.dirname(os.path.dirname(folder))) as (port, _, _):
            (both,) = call(port, "/v2/repository/index", {})[1]
            self.assertEqual(both["state"], "UNAVAILABLE")
            self.assertTrue(both["reason"].endswith(f"; the *.popef files of '{folder}' must be the parts of one model"), both["reason"])

    def test_a_model_that_is_unloaded_during_its_reload_stays_unloaded(self):
        folder, target = self.compiling("reloading")
        with serving(folder, "--compile") as (port, _, process):
            self.slow_to_compile(target)
            process.send_signal(signal.SIGHUP)
            time.sleep(0.5)
            self.assertEqual(call(port, "/v2/repository/models/m/unload", {}), (200, {}))
            self.assertEqual(call(port, "/v2/repository/models/digits/load", {}), (200, {}))  # after the reload
            (found,) = (m for m in call(port, "/v2/repository/index", {})[1] if m["name"] == "m")
            self.assertEqual((found["state"], found["reason"]), ("UNAVAILABLE", "unloaded"))

    def test_requests_are_refused_while_the_server_waits_for_a_compilation_to_stop(self):
        folder, target = self.compiling("stopping")
        padding = " " * 200000  # so that another thread reads the JSON
        requests = [("/v2/models/digits/infer", image_request(1)), ("/v1/completions", {"model": "digits", "prompt": [1]})]
        with serving(folder, "--compile", "--drain_seconds", "0") as (port, _, process):
            clients = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in requests]
            for client in clients:
                self.addCleanup(client.close)
                client.request("GET", "/v2/health/live")
                self.assertEqual(client.getresponse().read(), b'{"live":true}')
            self.slow_to_compile(target)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                loading = pool.submit(subprocess.run, ["curl", "-s", "-X", "POST", f"http://127.0.0.1:{port}/v2/repository/models/m/load"],
                                      capture_output=True, check=False)
                time.sleep(0.5)
                process.send_signal(signal.SIGTERM)
                time.sleep(2)
                for client, (path, request) in zip(clients, requests):
                    try:
                        client.request("POST", path, json.dumps(request) + padding)
                        response = client.getresponse()
                    except (ConnectionError, http.client.HTTPException):
                        continue  # the compilation has ended
                    self.assertIn(response.status, (503, 400), response.read())
                loading.result(60)
            self.assertEqual(process.wait(60), 0)

    def test_server_with_a_damaged_model_is_not_ready(self):
        folder = os.path.join(self.folder, "damaged")
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "digits.popef"), folder)
        with open(os.path.join(folder, "bad.popef"), "wb") as file:
            file.write(b"not a model")
        with serving(folder) as (port, _, _):
            self.assertEqual(call(port, "/v2/health/ready"), (503, {"ready": False}))
            self.assertEqual(call(port, "/v2/models/digits/infer", image_request(1))[0], 200)
            index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
            self.assertEqual((index["bad"]["state"], index["digits"]["state"]), ("UNAVAILABLE", "READY"))
            self.assertIn("truncated", index["bad"]["reason"])
            unload = "/v2/repository/models/bad/unload"
            self.assertEqual(call(port, unload, {}), (200, {}))
            self.assertEqual(call(port, "/v2/health/ready"), (200, {"ready": True}))
            index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
            self.assertEqual((index["bad"]["state"], index["bad"]["reason"]), ("UNAVAILABLE", "unloaded"))
            self.assertEqual(call(port, unload, {}), (404, {"error": "model 'bad' is not loaded"}))

    def test_onnx_is_compiled_if_it_is_allowed(self):
        folder = os.path.join(self.folder, "onnx")
        os.makedirs(folder)
        shutil.copy(model("relu"), os.path.join(folder, "relu.onnx"))
        request = {"inputs": [{"name": "x", "shape": [2, 3], "datatype": "FP32", "data": [-2, -1, 0, 1, 2, 3]}]}
        with serving(folder) as (port, _, _):
            status, answer = call(port, "/v2/models/relu/infer", request)
            self.assertEqual(status, 503)
            self.assertIn("compiling is not allowed", answer["error"])
            self.assertIn("poprt_serve --compile", answer["error"])
        os.environ["POPART_CACHE_DIR"] = os.path.join(self.folder, "cache")
        self.addCleanup(os.environ.pop, "POPART_CACHE_DIR")
        with serving(folder, "--compile") as (port, _, _):
            self.assertEqual(call(port, "/v2/models/relu/infer", request)[1]["outputs"][0]["data"], [0, 0, 0, 1, 2, 3])

    def test_models_of_16_bits_are_compiled_and_served(self):
        """PopEF, and so the cache of executables, has no type for BF16."""
        folder = os.path.join(self.folder, "half")
        types = {"FP16": onnx_writer.F16, "BF16": onnx_writer.BF16}
        os.makedirs(folder)
        for name, dtype in types.items():
            for sizes, rows in (("fixed", 2), ("open", "N")):
                x, y = (onnx_writer.value(tensor, dtype, [rows, 3]) for tensor in "xy")
                with open(os.path.join(folder, f"{sizes}_{name}.onnx"), "wb") as file:
                    file.write(onnx_writer.model([onnx_writer.node("Relu", ["x"], ["y"])], [x], [y]))
        os.environ["POPART_CACHE_DIR"] = os.path.join(self.folder, "cache")
        self.addCleanup(os.environ.pop, "POPART_CACHE_DIR")
        for options in [], ["--compile_option", "input_shape=x=1,3/4,3"]:
            if options:
                for name in os.listdir(folder):
                    if name.startswith("fixed"):
                        os.remove(os.path.join(folder, name))
            self.check_models_of_16_bits(folder, options)

    def check_models_of_16_bits(self, folder, options):
        with serving(folder, "--compile", *options) as (port, _, _):
            index = {m["name"]: (m["state"], m.get("reason", "")) for m in call(port, "/v2/repository/index", {})[1]}
            self.assertEqual(set(index.values()), {("READY", "")}, index)
            for model_name in index:
                name = model_name.split("_")[1]
                request = {"inputs": [{"name": "x", "shape": [2, 3], "datatype": name, "data": [-2, -1, 0, 1, 2.5, 3]}]}
                (output,) = call(port, f"/v2/models/{model_name}/infer", request)[1]["outputs"]
                self.assertEqual((output["datatype"], output["data"]), (name, [0, 0, 0, 1, 2.5, 3]), model_name)

    def test_a_model_of_an_unsupported_operator_is_not_ready(self):
        folder = os.path.join(self.folder, "strange")
        os.makedirs(folder)
        x, y = (onnx_writer.value(name, onnx_writer.F32, ["N", 3]) for name in "xy")
        with open(os.path.join(folder, "strange.onnx"), "wb") as file:  # its shapes are compiled on demand
            file.write(onnx_writer.model([onnx_writer.node("Mystery", ["x"], ["y"])], [x], [y]))
        shutil.copy(model("relu"), os.path.join(folder, "relu.onnx"))
        os.environ["POPART_CACHE_DIR"] = os.path.join(self.folder, "cache")
        self.addCleanup(os.environ.pop, "POPART_CACHE_DIR")
        with serving(folder, "--compile") as (port, _, _):
            index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
            self.assertEqual({name: m["state"] for name, m in index.items()}, {"strange": "UNAVAILABLE", "relu": "READY"})
            self.assertIn("operator Mystery of domain 'ai.onnx' is not supported", index["strange"]["reason"])
            status, answer = call(port, "/v2/models/strange")
            self.assertEqual(status, 503)
            self.assertIn("operator Mystery", answer["error"])

    def test_a_model_without_inputs_is_served(self):
        values = {"y1": [1.0, 2.0, 3.0, 4.0], "y2": [5.0, 6.0], "y3": [7.0, 8.0, 9.0, 10.0]}
        os.environ["POPART_CACHE_DIR"] = os.path.join(self.folder, "cache")
        self.addCleanup(os.environ.pop, "POPART_CACHE_DIR")
        for names in (("y1", "y2"), ("y1", "y3")):  # with different and equal numbers of rows
            folder = tempfile.mkdtemp(dir=self.folder)
            with open(os.path.join(folder, "constants.onnx"), "wb") as file:
                file.write(onnx_writer.model(
                    [onnx_writer.node("Neg", ["w" + name], [name]) for name in names], [],
                    [onnx_writer.value(name, onnx_writer.F32, [len(values[name])]) for name in names],
                    [onnx_writer.floats("w" + name, [len(values[name])], [-v for v in values[name]]) for name in names]))
            with serving(folder, "--compile") as (port, _, _):
                metadata = call(port, "/v2/models/constants")[1]
                self.assertEqual((metadata["inputs"], [t["shape"] for t in metadata["outputs"]]), ([], [[len(values[n])] for n in names]))
                for request in ({"inputs": []}, {"inputs": [], "outputs": [{"name": n} for n in names]}):
                    status, answer = call(port, "/v2/models/constants/infer", request)
                    self.assertEqual(status, 200, answer)
                    self.assertEqual({t["name"]: (t["shape"], t["data"]) for t in answer["outputs"]},
                                     {n: ([len(values[n])], values[n]) for n in names})

    def test_requests_in_flight_are_answered_when_the_server_stops(self):
        folder = os.path.join(self.folder, "slow")
        os.makedirs(folder)
        names = ["x"] + [f"p{i}" for i in range(40)]
        with open(os.path.join(folder, "slow.onnx"), "wb") as file:  # 40 products of 1024x1024 take more than half a second
            file.write(onnx_model([("MatMul", [a, "x"], b) for a, b in zip(names, names[1:])], {"x": [1024, 1024]}, {names[-1]: [1024, 1024]}))
        tensor = bytes(1024 * 1024 * 4)
        head = json.dumps({"inputs": [{"name": "x", "shape": [1024, 1024], "datatype": "FP32", "parameters": {"binary_data_size": len(tensor)}}],
                           "parameters": {"binary_data_output": True}}).encode()
        with serving(folder, "--compile") as (port, _, process):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                answer = pool.submit(curl, port, "/v2/models/slow/infer", "-H", f"Inference-Header-Content-Length: {len(head)}",
                                     "--data-binary", "@-", data=head + tensor)
                end = time.monotonic() + 60
                while "poprt_requests_in_flight 1\n" not in curl(port, "/metrics")[2].decode():
                    self.assertLess(time.monotonic(), end)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(answer.result(60)[0], 200)
            self.assertEqual(process.wait(60), 0)
            self.assertEqual(process.stderr.read(), "poprt_serve: stops when its requests are answered; in flight: 1\n")

    def test_wrong_usage_is_one_line_and_help_fits_the_terminal(self):
        def run_serve(*words):
            return subprocess.run([SERVE, *words], capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"})
        for words, names in (([], "REPOSITORY"), (["models", "--http_prot", "1"], "did you mean --http_port?"),
                             (["models", "--http_port", "x"], "'x'"), (["models", "--http-port", "70000"], "'70000'"),
                             (["models", "--tls-key", "/dev/null"], "--tls_certificate"), (["models", "--drain_seconds", "-1"], "'-1'"),
                             *((["models", option, value], f"'{value}'") for value in ("1e19", "1e30", "inf", "nan")
                               for option in ("--request_timeout_ms", "--batch_wait_ms", "--drain_seconds", "--poll_seconds")),
                             *((["models", option, "0"], "'0'") for option in ("--max_waiting", "--max_texts", "--max_connections")),
                             (["models", "--compile", "--compile_option", "fp16"], "NAME=VALUE"),
                             *((["models", option, value], f"{option} needs --compile") for option, value in
                               (("--compile_option", "precision=fp16"), ("--warm_up", "m/x=1"), ("--max_shapes", "2"), ("--max_shape_mib", "2"),
                                ("--slots", "2"), ("--max_length", "64"))),
                             (["models", "--http_port", "-1", "--grpc_port", "-1"], "no client could connect"),
                             (["models", "--batch_wait_ms", "800", "--request_timeout_ms", "800"], "--batch_wait_ms is not less"),
                             *((["models", "--compile", "--compile_option", option], fact) for option, fact in
                               (("nope=1", "--compile_option: there is no option 'nope'"), ("batch_sze=3", "did you mean 'batch_size'?"),
                                ("batch_size=x", "found 'x'"), ("shapes=none", "'none'"), ("output=x", "option of the command poprt")))):
            result = run_serve(*words)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), result.stderr)
            self.assertTrue(result.stderr.startswith("poprt_serve: "), result.stderr)
            self.assertIn(names, result.stderr)
        for words in (["-v"], ["--version"]):
            self.assertIn("PopRT version: ", run_serve(*words).stdout)
        text = run_serve("--help").stdout
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        for part in ("Usage: poprt_serve [OPTIONS] REPOSITORY", "Examples:", "Network:", "Limits:", "--drain_seconds"):
            self.assertIn(part, text)

    def test_options_without_an_effect_on_the_repository_are_reported(self):
        folder = os.path.join(self.folder, "effects")
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "digits.popef"), folder)
        options = {"--compile_option": "precision=fp16", "--slots": "2", "--max_length": "64", "--max_shapes": "2", "--max_shape_mib": "64"}
        given = [word for option in options.items() for word in option]
        with serving(folder, "--compile", *given) as (_, _, process):
            warned = [line for line in process.started if line.startswith("poprt_serve: warning: ")]
            self.assertEqual([line.split()[2] for line in warned], list(options))
            self.assertRegex(warned[0], "has no effect: the repository has no ONNX model that the server compiles")
        shutil.copy(DIGITS, os.path.join(folder, "onnx.onnx"))
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(folder, "text", "1"))
        with serving(folder, "--compile", *given) as (_, _, process):  # the generator refuses --compile_option
            self.assertFalse([line for line in process.started if "warning" in line], process.started)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_the_unit_of_systemd_is_valid_and_reloads_changed_files(self):
        name = "poprt-serve.service"
        root = os.path.join(self.folder, "root")
        for path in ("etc/systemd/system", "usr/bin", "bin"):
            os.makedirs(os.path.join(root, path))
        shutil.copy(os.path.join(ROOT, "cli", "serve", name), os.path.join(root, "etc/systemd/system"))
        for path in ("usr/bin/poprt_serve", "bin/sh"):  # no /bin/kill, which is in a package that may be missing
            shutil.copy(SERVE, os.path.join(root, path))
        checked = subprocess.run(["systemd-analyze", "verify", "--man=no", f"--root={root}", name], capture_output=True, text=True, check=False)
        # The root has no other units.
        self.assertEqual([line for line in checked.stderr.splitlines() if name in line and "sysinit.target" not in line], [])
        with open(os.path.join(root, "etc/systemd/system", name), encoding="utf-8") as file:
            unit = file.read()
        self.assertIn("\nExecReload=/bin/sh -c 'kill -HUP $MAINPID'\n", unit)
        drain = int(re.search(r"--drain_seconds FLOAT.*?\[(\d+)\]", subprocess.run([SERVE, "--help"], capture_output=True, text=True, check=True).stdout,
                              re.S)[1])
        self.assertGreater(int(re.search(r"TimeoutStopSec=(\d+)", unit)[1]), drain + 5)

    def test_folders_that_are_no_models_are_reported(self):
        folder = os.path.join(self.folder, "skipped")
        for path in ("flat/executable.popef", "second/2/executable.popef", "good.popef"):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            shutil.copy(os.path.join(self.repository, "digits.popef"), os.path.join(folder, path))
        os.makedirs(os.path.join(folder, "notes"))  # and files that are no models have no line
        shutil.copy(__file__, folder)
        os.makedirs(os.path.join(folder, "closed"), 0)
        with serving(folder) as (port, _, process):
            self.assertEqual(call(port, "/v2/health/ready"), (200, {"ready": True}))
            lines = {line.split("'")[1]: line for line in process.started if "is no model" in line}
            reason = f"it has 'executable.popef' and no folder '1'; expected the files of the model in '{folder}/flat/1'\n"
            self.assertEqual(lines.pop(folder + "/flat"), f"poprt_serve: '{folder}/flat' is no model: {reason}")
            self.assertIn("it has '2' and no folder '1'", lines.pop(folder + "/second"))
            if os.getuid():
                self.assertIn("Permission denied", lines.pop(folder + "/closed"))
            self.assertEqual(lines, {})

    def test_folder_without_models_is_refused(self):
        printed = subprocess.run([SERVE, self.folder + "/none", "--http_port", "0", "--grpc_port", "0"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(printed.returncode, 1)
        self.assertIn("poprt_serve: '", printed.stderr)
        self.assertIn("No such file or directory; expected a folder with NAME.popef", printed.stderr)


@unittest.skipUnless(os.path.exists(SERVE), "poprt_serve is not built")
class Completions(unittest.TestCase):
    """Generators: a compiled PopEF file and a folder of onnxruntime-genai, next to another model."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(os.path.join(GENERATION, "expected.json"), encoding="utf-8") as file:
            cls.expected = json.load(file)
        cls.repository = os.path.join(cls.folder, "models")
        os.makedirs(os.path.join(cls.repository, "text"))
        subprocess.run([os.path.join(BIN, "poprt_exec"), "generate", os.path.join(GENERATION, "genai"), "--ids", "1",
                        "--max-new-tokens", "1", "--slots", "2", "--save", os.path.join(cls.repository, "saved.popef")],
                       check=True, capture_output=True)
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "text", "1"))
        compiled(DIGITS, os.path.join(cls.repository, "digits.popef"), "--input_shape", "image=8,1,8,8")
        cls.port, cls.grpc_port, _ = cls.enterClassContext(serving(cls.repository, "--compile", "--max_texts", "128"))

    def complete(self, model="saved", text=1, **more):
        wanted = self.expected["genai"][text]
        request = {"model": model, "prompt": wanted["prompt"], "max_tokens": 8, "temperature": 0, "ignore_eos": True, **more}
        return call(self.port, "/v1/completions", request)

    def events(self, **more):
        request = {"model": "saved", "prompt": self.expected["genai"][1]["prompt"], "max_tokens": 8, "temperature": 0,
                   "ignore_eos": True, "stream": True, **more}
        status, header, body = curl(self.port, "/v1/completions", "--data-binary", "@-", "--no-buffer",
                                    data=json.dumps(request).encode())
        self.assertEqual(status, 200)
        self.assertIn("Content-Type: text/event-stream", header)
        parts = body.decode().split("\n\n")
        self.assertEqual(parts[-2:], ["data: [DONE]", ""])
        return [json.loads(part.removeprefix("data: ")) for part in parts[:-2]]

    def metric(self, name, model="saved"):
        text = curl(self.port, "/metrics")[2].decode()
        return float(re.search(rf'^poprt_{name}{{model="{model}"}} (\S+)$', text, re.M)[1])

    def test_models_are_listed_and_ready(self):
        listed = call(self.port, "/v1/models")[1]
        self.assertEqual([(m["id"], m["max_model_len"]) for m in listed["data"]], [("saved", 64), ("text", 64)])
        self.assertEqual(call(self.port, "/v2/models/saved/ready"), (200, {"ready": True}))
        self.assertEqual(call(self.port, "/v2/health/ready"), (200, {"ready": True}))
        self.assertIn("is a generator", call(self.port, "/v2/models/saved/infer", image_request(1))[1]["error"])
        self.assertEqual(call(self.port, "/v2/models/digits/infer", image_request(1))[0], 200)

    def test_tokens_are_those_of_the_reference(self):
        for model in ("saved", "text"):
            for text, wanted in enumerate(self.expected["genai"]):
                status, answer = self.complete(model, text, logprobs=0)
                self.assertEqual((status, answer["object"], answer["model"]), (200, "text_completion", model))
                (choice,) = answer["choices"]
                self.assertEqual(choice["token_ids"], wanted["tokens"][:8])
                for a, b in zip(choice["logprobs"]["token_logprobs"], wanted["log_probabilities"]):
                    self.assertAlmostEqual(a, b, 3)
                self.assertEqual(choice["finish_reason"], "length")
                count = len(wanted["prompt"])
                self.assertEqual(answer["usage"], {"prompt_tokens": count, "completion_tokens": 8, "total_tokens": count + 8})

    def test_the_most_probable_tokens(self):
        for text, wanted in enumerate(self.expected["genai"]):
            plain = self.complete("saved", text, logprobs=0)[1]["choices"][0]
            for count in (1, 5, 20):
                (choice,) = self.complete("saved", text, logprobs=count)[1]["choices"]
                self.assertEqual(choice["token_ids"], plain["token_ids"])
                for token, log, top, expected in zip(choice["logprobs"]["tokens"], choice["logprobs"]["token_logprobs"],
                                                     choice["logprobs"]["top_logprobs"], wanted["log_probabilities"]):
                    self.assertEqual(len(top), count)
                    self.assertEqual(list(top.values()), sorted(top.values(), reverse=True))
                    self.assertEqual(next(iter(top)), token)  # the choice is greedy
                    self.assertAlmostEqual(top[token], expected, 3)
                    self.assertAlmostEqual(log, expected, 3)
        _, answer = self.complete(logprobs=20, n=4, temperature=2, seed=1)
        _, again = self.complete(n=4, temperature=2, seed=1)
        self.assertEqual([c["token_ids"] for c in answer["choices"]], [c["token_ids"] for c in again["choices"]])
        for choice in answer["choices"]:
            for token, log, top in zip(choice["logprobs"]["tokens"], choice["logprobs"]["token_logprobs"], choice["logprobs"]["top_logprobs"]):
                self.assertAlmostEqual(top[token], log, 5)  # the chosen token is always there
                self.assertIn(len(top), (20, 21))
        events = self.events(logprobs=2)
        self.assertEqual([len(e["choices"][0]["logprobs"]["top_logprobs"]) for e in events], [1] * 8 + [0])

    def test_a_stream_has_an_event_for_each_token(self):
        events = self.events(stream_options={"include_usage": True})
        wanted = self.expected["genai"][1]
        choices = [e["choices"][0] for e in events[:-1]]
        self.assertEqual([c["token_ids"] for c in choices], [[t] for t in wanted["tokens"][:8]] + [[]])
        self.assertEqual([c["finish_reason"] for c in choices], [None] * 8 + ["length"])
        self.assertEqual(events[-1]["usage"]["completion_tokens"], 8)

    def test_several_prompts_and_texts(self):
        texts = self.expected["genai"][:2]
        _, answer = self.complete(prompt=[t["prompt"] for t in texts], n=2)
        self.assertEqual([c["token_ids"] for c in answer["choices"]], [t["tokens"][:8] for t in texts for _ in range(2)])
        self.assertEqual([c["index"] for c in answer["choices"]], [0, 1, 2, 3])
        found = {}
        for event in self.events(prompt=[t["prompt"] for t in texts]):
            for choice in event["choices"]:
                found.setdefault(choice["index"], []).extend(choice["token_ids"])
        self.assertEqual(found, {i: t["tokens"][:8] for i, t in enumerate(texts)})

    def test_options_of_sampling(self):
        def tokens(**more):
            return [c["token_ids"] for c in self.complete(temperature=2, max_tokens=12, **more)[1]["choices"]]
        self.assertEqual(tokens(seed=1), tokens(seed=1))
        self.assertNotEqual(tokens(seed=1), tokens(seed=2))
        self.assertEqual(tokens(seed=1, n=2), tokens(seed=1) + tokens(seed=2))
        greedy = self.expected["genai"][1]["tokens"]
        self.assertEqual(tokens(top_p=1e-6), [greedy[:12]])
        _, stopped = self.complete(stop_token_ids=[greedy[2]])
        self.assertEqual((stopped["choices"][0]["token_ids"], stopped["choices"][0]["finish_reason"]), (greedy[:3], "stop"))

    def test_fields_of_other_servers_may_request_nothing(self):
        status, answer = self.complete(frequency_penalty=0, presence_penalty=0.0, best_of=1, echo=False, suffix=None, logit_bias={}, user="me",
                                       seed=None, stop=None)
        self.assertEqual(status, 200, answer)
        for name, value in (("frequency_penalty", 0.5), ("presence_penalty", "0"), ("echo", True), ("suffix", "x"), ("logit_bias", {"1": 2})):
            status, answer = self.complete(**{name: value})
            self.assertEqual(status, 400)
            self.assertIn(f"'{name}': expected", answer["error"]["message"])
        self.assertEqual(call(self.port, "/v1/models/saved")[1]["id"], "saved")
        status, answer = call(self.port, "/v1/models/nothing")
        self.assertEqual((status, answer["error"]["type"]), (404, "not_found_error"))
        self.assertEqual(call(self.port, "/v1/models/digits")[0], 404)
        status, answer = call(self.port, "/v1/chat/completions", {"model": "saved", "messages": []})
        self.assertEqual(status, 404)
        self.assertIn("/v1/completions", answer["error"]["message"])

    def test_refusals_name_the_field(self):
        for more, fact in (({"prompt": "Hello"}, "no tokenizer"), ({"prompt": []}, "'prompt'"), ({"prompt": [1.5]}, "'prompt'"),
                           ({"prompt": [[1], "x"]}, "'prompt'"), ({"prompt": [-1]}, "'prompt'"), ({"prompt": [53]}, "token 53"),
                           ({"prompt": [[1], [53]]}, "prompt 1, counted from 0: token 53"),
                           ({"prompt": [[]]}, "prompt"), ({"prompt": [1] * 100000}, "100000 tokens"), ({"prompt": {"a": 1}}, "'prompt'"),
                           ({"max_tokens": 0}, "'max_tokens'"), ({"max_tokens": "8"}, "'max_tokens'"), ({"max_tokens": 1e300}, "max_tokens is 1e+300"),
                           ({"temperature": -1}, "temperature"), ({"top_p": 2}, "top_p"), ({"seed": -1}, "'seed'"), ({"n": 0}, "'n'"),
                           ({"n": 129}, "'n'"), ({"prompt": [[1]] * 65, "n": 2}, "more than 128 texts"), ({"stream": 1}, "'stream'"),
                           ({"logprobs": 21}, "'logprobs'"), ({"logprobs": -1}, "'logprobs'"), ({"stop": ["x"]}, "'stop_token_ids'"), ({"stop": ""}, "'stop'"),
                           ({"stop": ["x"] * 17}, "'stop'"), ({"stop": "x" * 1025}, "'stop'"), ({"stop": [[]]}, "'stop'"),
                           ({"prompt": ["a", [1]]}, "no tokenizer"), ({"prompt": ["a", 1]}, "'prompt'"),
                           ({"add_special_tokens": 1}, "'add_special_tokens'"), ({"best_of": 2}, "'best_of'"),
                           ({"min_tokens": 9, "max_tokens": 6}, "'min_tokens': expected at most 'max_tokens', which is 6"),
                           ({"stream_options": {"include_usage": True}, "stream": False}, "'stream_options'"),
                           ({"stop_token_ids": [99]}, "token 99"), ({"model": 3}, "'model'"), ({"model": "digits"}, "not a generator")):
            status, answer = self.complete(**more)
            self.assertEqual(status, 400, (more, answer))
            self.assertIn(fact, answer["error"]["message"])
            if "model" not in more:
                self.assertEqual(self.complete(**{**more, "stream": more.get("stream", True)})[0], 400)
        self.assertEqual(self.complete(model="nothing")[0], 404)
        for body in ("{", "[]", "[" * 100000, '{"model":"saved"}'):
            self.assertEqual(call(self.port, "/v1/completions", body)[0], 400)
        self.assertEqual(curl(self.port, "/v1/completions")[0], 405)
        self.assertEqual(self.complete()[0], 200)

    def test_clients_share_the_generator(self):
        wanted = self.expected["genai"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for i, (status, answer) in enumerate(pool.map(lambda i: self.complete(text=i % len(wanted)), range(32))):
                self.assertEqual((status, answer["choices"][0]["token_ids"]), (200, wanted[i % len(wanted)]["tokens"][:8]))
        self.assertGreater(self.metric("generated_tokens_total"), 32 * 8 - 1)
        self.assertGreater(self.metric("time_to_first_token_seconds_sum"), 0)
        self.assertEqual(self.metric("generator_slots"), 2)
        for name, least in (("prompt_seconds_total", 1e-9), ("decode_tokens_total", 32 * 7), ("decode_seconds_total", 1e-9),
                            ("cache_places", 2), ("cache_bytes", 1)):
            self.assertGreaterEqual(self.metric("generator_" + name), least, name)
        # The thread of the generator frees the slots after the last token.
        self.wait_until(lambda: all(self.metric("generator_" + name) == 0
                                    for name in ("busy_slots", "waiting_texts", "cache_used_places")))

    def wait_until(self, happened):
        end = time.monotonic() + 60
        while not happened():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_texts_end_when_the_client_disconnects(self):
        for stream in (True, False):
            body = json.dumps({"model": "saved", "prompt": [7], "max_tokens": 60, "n": 128, "ignore_eos": True, "stream": stream})
            failed, end = self.metric("texts_failed_total"), time.monotonic() + 60
            while self.metric("texts_failed_total") == failed:  # all texts may have ended before
                self.assertLess(time.monotonic(), end)
                prompts = self.metric("prompt_tokens_total")
                with socket.create_connection(("127.0.0.1", self.port), 10) as client:
                    client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                    if stream:
                        self.assertIn(b" 200 ", client.recv(1000))
                    self.wait_until(lambda prompts=prompts: self.metric("prompt_tokens_total") > prompts)
                self.wait_until(lambda: self.metric("texts_in_flight") == 0)
        self.assertEqual(self.complete()[0], 200)

    def test_a_client_that_does_not_read_delays_no_other(self):
        body = json.dumps({"model": "saved", "prompt": [7], "max_tokens": 60, "n": 100, "ignore_eos": True, "stream": True})
        with socket.create_connection(("127.0.0.1", self.port), 10) as client:
            client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            self.assertEqual(self.complete()[0], 200)

    def test_limit_of_texts(self):
        def post(port, **more):
            request = json.dumps({"model": "saved", "prompt": [1], **more})
            return subprocess.run(["curl", "-s", "-g", "-i", "-d", request, f"http://[::1]:{port}/v1/completions"],
                                  capture_output=True, text=True, check=True).stdout
        with serving(self.repository, "--compile", "--max_texts", "1", "--address", "::1") as (port, _, _):
            printed = post(port, n=2)
            self.assertIn(" 400 ", printed.splitlines()[0])
            self.assertIn("the request has 2 texts; the limit is 1", printed)
            refused, end = [], time.monotonic() + 60
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                while not refused:
                    self.assertLess(time.monotonic(), end)
                    refused = [p for p in pool.map(lambda _: post(port, max_tokens=60, ignore_eos=True), range(16)) if " 200 " not in p]
            for printed in refused:
                self.assertIn(" 429 ", printed.splitlines()[0])
                self.assertIn("Retry-After: 1", printed)
                self.assertIn("more than 1 texts wait", printed)


@unittest.skipUnless(os.path.exists(SERVE), "poprt_serve is not built")
@unittest.skipUnless(SENTENCEPIECE, "built without sentencepiece")
class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.repository = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.repository)
        with open(os.path.join(TOKENIZERS, "expected.json"), encoding="utf-8") as file:
            cls.expected = json.load(file)["words"]["texts"]
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "text", "1"))
        shutil.copy(os.path.join(TOKENIZERS, "words.model"), os.path.join(cls.repository, "text", "1", "tokenizer.model"))
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "json", "1"))
        with open(os.path.join(cls.repository, "json", "1", "tokenizer.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        saved = os.path.join(cls.repository, "saved", "1")
        os.makedirs(saved)
        subprocess.run([os.path.join(BIN, "poprt_exec"), "generate", os.path.join(GENERATION, "genai"), "--ids", "1",
                        "--max-new-tokens", "1", "--slots", "2", "--save", os.path.join(saved, "text.popef")],
                       check=True, capture_output=True)
        shutil.copy(os.path.join(TOKENIZERS, "words.model"), os.path.join(saved, "spiece.model"))
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "other", "1"))
        shutil.copy(os.path.join(TOKENIZERS, "bytes.model"), os.path.join(cls.repository, "other", "1", "tokenizer.model"))
        cls.port, _, _ = cls.enterClassContext(serving(cls.repository, "--compile", "--poll_seconds", "0.1"))

    def complete(self, prompt="the cat", model="text", **more):
        return call(self.port, "/v1/completions", {"model": model, "prompt": prompt, "max_tokens": 12, "temperature": 0,
                                                   "ignore_eos": True, **more})

    def choice(self, *prompt, **more):
        status, answer = self.complete(*prompt, **more)
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]

    def events(self, **more):
        request = {"model": "text", "prompt": "the cat", "max_tokens": 12, "temperature": 0, "ignore_eos": True, "stream": True, **more}
        body = curl(self.port, "/v1/completions", "--data-binary", "@-", "--no-buffer", data=json.dumps(request).encode())[2]
        parts = body.decode().split("\n\n")
        self.assertEqual(parts[-2:], ["data: [DONE]", ""])
        return [json.loads(part.removeprefix("data: "))["choices"][0] for part in parts[:-2]]

    def test_a_text_is_the_same_as_its_tokens(self):
        for text in self.expected[:3]:
            for model in ("text", "saved"):
                ids = [1, *text["tokens"]]
                tokens, texts = self.choice(ids, model=model), self.choice(text["text"], model=model)
                self.assertEqual(texts, tokens)
                self.assertTrue(texts["text"])
                self.assertEqual(self.complete(text["text"], model=model)[1]["usage"]["prompt_tokens"], len(ids))
            self.assertEqual(self.choice(text["text"], add_special_tokens=False), self.choice(text["tokens"]))
            spm = shutil.which("spm_decode")
            if spm:
                command = [spm, "--model=" + os.path.join(TOKENIZERS, "words.model"), "--input_format=id"]
                decode = [subprocess.run(command, input=" ".join(map(str, ids + more)), capture_output=True, check=True, text=True)
                          .stdout.removesuffix("\n") for more in ([], texts["token_ids"])]
                self.assertEqual(decode[1], decode[0] + texts["text"])

    def test_without_the_library_prompts_are_tokens(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "libpoprt_tokenizer.so.1"), "wb") as file:
                file.write(b"not a library")
            os.environ["LD_LIBRARY_PATH"] = folder
            self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
            with serving(self.repository, "--compile") as (port, _, _):
                request = {"model": "text", "prompt": "the cat", "max_tokens": 4, "temperature": 0, "ignore_eos": True}
                status, answer = call(port, "/v1/completions", request)
                self.assertEqual(status, 400)
                for fact in ("libpoprt_tokenizer.so.1", "install package libpoprt-tokenizer1", "expected an array of tokens"):
                    self.assertIn(fact, answer["error"]["message"])
                self.assertEqual(call(port, "/v1/completions", {**request, "prompt": [1, 30]})[0], 200)
                index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
                self.assertEqual((index["text"]["state"], index["json"]["reason"]), ("READY", ""))
                self.assertIn("install package", index["text"]["reason"])

    def test_several_texts(self):
        texts = [t["text"] for t in self.expected[:3]]
        _, answer = self.complete(texts, n=2)
        self.assertEqual([c["text"] for c in answer["choices"]], [self.choice(text)["text"] for text in texts for _ in range(2)])
        self.assertEqual(self.complete([texts[0], [1, 30]])[1]["choices"][1]["text"], self.choice([1, 30])["text"])

    def test_a_stream_has_the_pieces_of_the_text(self):
        whole, events = self.choice(logprobs=0), self.events(logprobs=0)
        self.assertEqual("".join(e["text"] for e in events), whole["text"])
        self.assertEqual(sum((e["token_ids"] for e in events), []), whole["token_ids"])
        self.assertEqual(events[-1]["finish_reason"], "length")
        self.assertEqual("".join(whole["logprobs"]["tokens"]), whole["text"])

    def test_a_text_ends_before_a_stop_string(self):
        whole = self.choice()["text"]
        stop = whole[5:8]
        for stops in (stop, ["#", stop]):
            cut = self.choice(stop=stops)
            self.assertEqual((cut["text"], cut["finish_reason"]), (whole[:whole.index(stop)], "stop"))
            self.assertLess(len(cut["token_ids"]), 12)
            events = self.events(stop=stops)
            self.assertEqual("".join(e["text"] for e in events), cut["text"])
            self.assertEqual((events[-1]["finish_reason"], events[-1]["token_ids"]), ("stop", []))
        self.assertEqual(self.choice(stop="#")["text"], whole)
        self.assertEqual(self.choice(stop=stop, min_tokens=12)["finish_reason"], "length")
        self.assertEqual(self.choice(stop=whole[-2:] + "#")["text"], whole)  # the end only begins the stop string

    def test_refusals_name_the_reason(self):
        for more, fact in (({"prompt": "a" * 100000}, "100000 bytes"), ({"prompt": "a" * 500}, "64"), ({"prompt": "", "add_special_tokens": False}, "no tokens"),
                           ({"model": "json"}, "tokenizer.json is not read"), ({"model": "json", "prompt": [1], "stop": "a"}, "no tokenizer")):
            status, answer = self.complete(**{"prompt": "the cat", **more})
            self.assertEqual(status, 400, answer)
            self.assertIn(fact, answer["error"]["message"])
        (other,) = [m for m in call(self.port, "/v2/repository/index", {})[1] if m["name"] == "other"]
        self.assertIn("309 tokens, and the model knows 53", other["reason"])
        status, _, body = curl(self.port, "/v1/completions", "--data-binary", "@-", data=b'{"model": "text", "prompt": "\xff"}')
        self.assertEqual(status, 400, body)
        self.assertEqual(self.choice("\u20ac \U0001f600")["finish_reason"], "length")

    def test_a_replaced_tokenizer_is_loaded(self):
        folder = os.path.join(self.repository, "saved", "1")
        before = self.complete(model="saved")[1]["usage"]["prompt_tokens"]
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({"add_bos_token": False}, file)
        end = time.monotonic() + 60
        while self.complete(model="saved")[1]["usage"]["prompt_tokens"] != before - 1:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        os.remove(os.path.join(folder, "tokenizer_config.json"))
        while self.complete(model="saved")[1]["usage"]["prompt_tokens"] != before:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)


@unittest.skipUnless(grpc, "there is no Python package grpc")
class Grpc(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run(["protoc", "-I" + os.path.dirname(PROTO), "--python_out=" + cls.folder, PROTO], check=True)
        sys.path.insert(0, cls.folder)
        cls.addClassCleanup(sys.path.remove, cls.folder)
        cls.pb = importlib.import_module("inference_pb2")
        token = os.path.join(cls.folder, "grpc_token")
        with open(token, "w", encoding="utf-8") as file:
            file.write("secret")
        _, cls.port, _ = cls.enterClassContext(serving(cls.repository, "--token_file", token, "--max_request_mib", "1"))
        cls.channel = cls.enterClassContext(grpc.insecure_channel(f"127.0.0.1:{cls.port}"))

    def call(self, method, request=None, token="secret"):
        request = request or getattr(self.pb, method + "Request")()
        answer = getattr(self.pb, method + "Response")
        function = self.channel.unary_unary(f"/inference.GRPCInferenceService/{method}", type(request).SerializeToString,
                                            answer.FromString)
        return function(request, timeout=60, metadata=[("authorization", "Bearer " + token)] if token else [])

    def refused(self, code, method, request=None, **options):
        with self.assertRaises(grpc.RpcError) as raised:
            self.call(method, request, **options)
        self.assertEqual(raised.exception.code(), code)
        return raised.exception.details()

    def infer(self, rows, raw=True, name="image", model_name="digits"):
        values = [(7 * i) % 17 for i in range(64 * rows)]
        request = self.pb.ModelInferRequest(model_name=model_name, id="5")
        tensor = request.inputs.add(name=name, datatype="FP32", shape=[rows, 1, 8, 8])
        if raw:
            request.raw_input_contents.append(struct.pack(f"<{len(values)}f", *values))
        else:
            tensor.contents.fp32_contents.extend(values)
        return request

    def test_health_and_metadata(self):
        self.assertTrue(self.call("ServerLive").live)
        self.assertTrue(self.call("ServerReady", token="").ready)
        self.assertTrue(self.call("ModelReady", self.pb.ModelReadyRequest(name="digits")).ready)
        metadata = self.call("ModelMetadata", self.pb.ModelMetadataRequest(name="digits"))
        self.assertEqual(list(metadata.inputs[0].shape), [-1, 1, 8, 8])
        self.assertEqual({m.name for m in self.call("RepositoryIndex").models}, {"digits", "buckets", "half"})
        health = self.channel.unary_unary("/grpc.health.v1.Health/Check", lambda _: b"", lambda b: b)
        self.assertEqual(health(None, timeout=60), b"\x08\x01")  # SERVING
        named = self.channel.unary_unary("/grpc.health.v1.Health/Check", lambda name: b"\x0a" + bytes([len(name)]) + name, lambda b: b)
        self.assertEqual(named(b"inference.GRPCInferenceService", timeout=60), b"\x08\x01")

    def test_raw_and_typed_contents_give_the_same(self):
        raw, typed = (self.call("ModelInfer", self.infer(11, raw)) for raw in (True, False))
        self.assertEqual((raw.id, list(raw.outputs[0].shape), len(raw.raw_output_contents[0])), ("5", [11, 10], 440))
        self.assertEqual(raw, typed)

    def test_requests_at_the_same_time(self):
        alone = {n: self.call("ModelInfer", self.infer(n)).raw_output_contents[0] for n in range(1, 9)}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for i, found in enumerate(pool.map(lambda i: self.call("ModelInfer", self.infer(i % 8 + 1)), range(64))):
                n = i % 8 + 1
                for a, b in zip(struct.unpack(f"<{10 * n}f", found.raw_output_contents[0]), struct.unpack(f"<{10 * n}f", alone[n])):
                    self.assertAlmostEqual(a, b, delta=1e-3)

    def test_requests_that_clients_cancel_are_not_computed(self):
        with self.given_up() as (_, port, wait):
            channel = self.enterContext(grpc.insecure_channel(f"127.0.0.1:{port}"))
            function = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", self.pb.ModelInferRequest.SerializeToString,
                                           self.pb.ModelInferResponse.FromString)
            calls = [function.future(self.infer(1), timeout=600) for _ in range(5)]
            wait()
            for call in calls[1:]:
                call.cancel()

    def test_errors_have_the_codes_of_grpc(self):
        codes = grpc.StatusCode
        self.assertIn("'nothing'", self.refused(codes.NOT_FOUND, "ModelInfer", self.infer(1, model_name="nothing")))
        self.assertIn("'image'", self.refused(codes.INVALID_ARGUMENT, "ModelInfer", self.infer(1, name="picture")))
        self.refused(codes.UNAUTHENTICATED, "ModelInfer", self.infer(1), token="")
        self.refused(codes.UNAUTHENTICATED, "ModelInfer", self.infer(1), token="secrets")
        truncated = self.infer(2)
        truncated.raw_input_contents[0] = b"123"
        self.assertIn("3 bytes", self.refused(codes.INVALID_ARGUMENT, "ModelInfer", truncated))
        truncated.raw_input_contents.append(b"")
        self.assertIn("2 entries", self.refused(codes.INVALID_ARGUMENT, "ModelInfer", truncated))
        self.refused(codes.RESOURCE_EXHAUSTED, "ModelInfer", self.infer(5000))
        self.assertIn("image", self.refused(codes.INVALID_ARGUMENT, "ModelInfer", self.pb.ModelInferRequest(model_name="digits")))
        for method in "ModelConfig", "RepositoryModelLoads":
            function = self.channel.unary_unary("/inference.GRPCInferenceService/" + method)
            with self.assertRaises(grpc.RpcError) as raised:
                function(b"", timeout=60)
            self.assertEqual((raised.exception.code(), raised.exception.details()),
                             (codes.UNIMPLEMENTED, f"there is no method '/inference.GRPCInferenceService/{method}'; see poprt help serving"))
        negative = self.infer(1)
        negative.inputs[0].shape[0] = -1
        self.refused(codes.INVALID_ARGUMENT, "ModelInfer", negative)

    def test_clients_load_no_models_without_control(self):
        with serving(self.repository, "--model_control", "none") as (_, port, _), grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            for method in ("RepositoryModelUnload", "RepositoryModelLoad"):
                function = channel.unary_unary(f"/inference.GRPCInferenceService/{method}", getattr(self.pb, method + "Request").SerializeToString)
                with self.assertRaises(grpc.RpcError) as raised:
                    function(getattr(self.pb, method + "Request")(model_name="digits"), timeout=60)
                self.assertEqual(raised.exception.code(), grpc.StatusCode.PERMISSION_DENIED)

    def test_pings_of_keepalive_do_not_end_a_call(self):
        options = [("grpc.keepalive_time_ms", 1000), ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0)]
        with serving(self.repository, "--batch_wait_ms", "7000") as (_, port, _), grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
            infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", self.pb.ModelInferRequest.SerializeToString,
                                        self.pb.ModelInferResponse.FromString)
            self.assertEqual(infer(self.infer(1), timeout=60).outputs[0].name, "scores")

    def test_load_and_unload(self):
        unload = self.pb.RepositoryModelUnloadRequest(model_name="half")
        self.call("RepositoryModelUnload", unload)
        self.refused(grpc.StatusCode.NOT_FOUND, "RepositoryModelUnload", unload)
        self.assertFalse(self.call("ModelReady", self.pb.ModelReadyRequest(name="half")).ready)
        self.call("RepositoryModelLoad", self.pb.RepositoryModelLoadRequest(model_name="half"))
        self.assertTrue(self.call("ModelReady", self.pb.ModelReadyRequest(name="half")).ready)


if __name__ == "__main__":
    unittest.main()
