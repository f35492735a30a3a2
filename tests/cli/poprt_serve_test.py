"""poprt_serve: the Open Inference Protocol over HTTP (curl and plain sockets), limits, and hostile clients."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

from serve_support import SERVE, ServeTest, call, curl, image_request, serving
from support import BIN, ROOT, model

DATA = os.path.join(ROOT, "examples", "digits")
GENERATION = os.path.join(ROOT, "tests", "data", "generation")


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

    def test_invalid_requests_are_counted_as_failed(self):
        with serving(self.repository) as (port, _, _):
            picture = image_request(1)
            picture["inputs"][0]["name"] = "picture"
            for request in (picture, image_request(1, [1, 2]), image_request(1, priority=1), image_request(1, outputs=[{"name": "none"}]), "{"):
                self.assertEqual(call(port, "/v2/models/digits/infer", request)[0], 400)
            text = curl(port, "/metrics")[2].decode()
        self.assertIn('\npoprt_requests_failed_total{model="digits"} 5\n', text)
        self.assertIn('\npoprt_requests_rejected_total{model="digits"} 0\n', text)

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


if __name__ == "__main__":
    unittest.main()
