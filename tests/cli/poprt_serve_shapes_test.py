"""poprt_serve with models whose shapes are compiled when their first request arrives."""

import concurrent.futures
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from serve_support import SERVE, call, compiled, curl, field, image_request, onnx_model, serving, varint
from support import BIN, DIGITS

try:
    import grpc
except ImportError:
    grpc = None


def product(rows=None, columns=None):
    """y [n, n] of x [n, m]: rows affect each other. Without names in x, the sizes of y have none."""
    return onnx_model([("Transpose", ["x"], "t"), ("MatMul", ["x", "t"], "g"), ("Softmax", ["g"], "y")],
                      {"x": [rows, columns]}, {"y": [rows, rows]})


class Hold:
    """Holds compilations of shapes of 30 or more rows back, by the plug-in of tests/plugins/hold.cpp, between begun() and release().
    A shape that is in the engine cache is not compiled."""
    def __init__(self, path):
        self.path, self.file = path, None

    def __enter__(self):
        os.mkfifo(self.path)
        return self

    def has_begun(self):
        try:
            self.file = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:  # no compilation reads the FIFO
            assert error.errno == errno.ENXIO, error
            return False
        os.unlink(self.path)
        return True

    def begun(self):
        """Waits until the compilation has begun."""
        while not self.has_begun():
            time.sleep(0.001)

    def release(self):
        os.close(self.file)
        self.file = None

    def __exit__(self, *_):
        if self.file is not None:
            self.release()
        elif os.path.exists(self.path):
            os.unlink(self.path)


def floats(rows, columns, name="x", **more):
    return {"inputs": [{"name": name, "shape": [rows, columns], "datatype": "FP32", "data": [i % 7 / 7 for i in range(rows * columns)]}],
            **more}


@unittest.skipUnless(os.path.exists(SERVE), "poprt_serve is not built")
class Shapes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        before = os.environ.get("POPART_CACHE_DIR")
        cls.addClassCleanup(lambda: os.environ.pop("POPART_CACHE_DIR") if before is None else os.environ.update(POPART_CACHE_DIR=before))
        os.environ["POPART_CACHE_DIR"] = os.path.join(cls.folder, "cache")
        cls.repository = os.path.join(cls.folder, "models")
        os.makedirs(cls.repository)
        shutil.copy(DIGITS, os.path.join(cls.repository, "digits.onnx"))
        compiled(DIGITS, os.path.join(cls.repository, "source.popef"), "--input_shape", "image=8,1,8,8", "--embed_source")
        compiled(DIGITS, os.path.join(cls.repository, "buckets.popef"), "--input_shape", "image=1,1,8,8/4,1,8,8", "--embed_source")
        with open(os.path.join(cls.repository, "product.onnx"), "wb") as file:
            file.write(product())
        for name, shape in (("named", ["n", "m"]), ("unnamed", [None, None])):
            with open(os.path.join(cls.repository, name + ".onnx"), "wb") as file:
                file.write(product(*shape))
        os.environ["POPRT_PLUGINS"] = os.path.join(BIN, "..", "plugins", "libhold.so")
        os.environ["POPRT_TEST_HOLD"] = cls.fifo = os.path.join(cls.folder, "hold")
        for name in ("POPRT_PLUGINS", "POPRT_TEST_HOLD"):
            cls.addClassCleanup(os.environ.pop, name)
        cls.port, cls.grpc_port, cls.process = cls.enterClassContext(serving(cls.repository, "--compile", "--max_shapes", "3"))

    def infer(self, model, request, port=None):
        return call(port or self.port, f"/v2/models/{model}/infer", request)

    def scores(self, model, rows, port=None):
        status, answer = self.infer(model, image_request(rows), port)
        self.assertEqual((status, answer.get("outputs", [{}])[0].get("shape")), (200, [rows, 10]), answer)
        return answer["outputs"][0]["data"]

    def metric(self, name, model, port=None):
        text = curl(port or self.port, "/metrics")[2].decode()
        return int(re.search(rf'^poprt_{name}{{model="{model}"}} (\d+)$', text, re.M)[1])

    def test_metadata_has_open_dimensions(self):
        def shapes(model):
            metadata = call(self.port, f"/v2/models/{model}")[1]
            return [tensor["shape"] for tensor in metadata["inputs"] + metadata["outputs"]]
        for model in ("digits", "source", "buckets"):
            self.assertEqual(shapes(model), [[-1, 1, 8, 8], [-1, 10]], model)
        self.assertEqual(shapes("product"), [[-1, -1], [-1, -1]])

    def test_every_shape_has_the_same_results(self):
        for rows in (1, 5, 3, 9, 5):
            for a, b in zip(self.scores("digits", rows), self.scores("source", rows), strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3)
        for rows, columns in ((2, 3), (4, 1), (3, 5), (2, 3)):
            status, answer = self.infer("product", floats(rows, columns))
            self.assertEqual((status, answer["outputs"][0]["shape"]), (200, [rows, rows]), answer)
            values = answer["outputs"][0]["data"]
            for row in range(rows):
                self.assertAlmostEqual(sum(values[rows * row:rows * (row + 1)]), 1, delta=1e-5)

    def test_outputs_have_sizes_that_depend_on_data(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, size in (("named", "n"), ("fixed", 3)):  # the second one has one shape
                with open(os.path.join(folder, name + ".onnx"), "wb") as file:
                    file.write(onnx_model([("NonZero", ["x"], "places"), ("Relu", ["x"], "y")], {"x": [size, 2]},
                                          {"places": (7, [2, None]), "y": [size, 2]}))
            for options in ([], ["--warm_up", "named/x=3,2"], ["--compile_option", "batch_size=3", "--compile_option", "batch_axis=0"]):
                with serving(folder, "--compile", *options) as (port, _, _):
                    self.assertEqual([tensor["shape"] for tensor in call(port, "/v2/models/named")[1]["outputs"]], [[2, -1], [-1, 2]])
                    for rows, data, places in ((3, [0, 1, 2, 0, 0, 0], [0, 1, 1, 0]), (3, [0] * 6, []), (1, [5, 6], [0, 0, 0, 1]),
                                               (4, [0] * 7 + [1], [3, 1])):
                        for model in ("named", "fixed") if rows == 3 else ("named",):
                            status, answer = self.infer(model, {"inputs": [{"name": "x", "shape": [rows, 2], "datatype": "FP32",
                                                                           "data": data}]}, port)
                            self.assertEqual(status, 200, (options, model, answer))
                            self.assertEqual([(tensor["name"], tensor["shape"], tensor["data"]) for tensor in answer["outputs"]],
                                             [("places", [2, len(places) // 2], places), ("y", [rows, 2], data)])

    def test_a_request_without_rows_has_results_without_rows(self):
        request = {"inputs": [{"name": "image", "shape": [0, 1, 8, 8], "datatype": "FP32", "data": []}]}
        for model in ("digits", "source"):
            status, answer = self.infer(model, request)
            self.assertEqual((status, [(t["shape"], t["data"]) for t in answer["outputs"]]), (200, [([0, 10], [])]), model)

    def test_a_request_that_no_shape_fits_is_refused(self):
        for shape in ([3, 8, 8, 1], [3, 64], [1, 0, 8, 8], []):
            count = 1
            for size in shape:
                count *= size
            request = {"inputs": [{"name": "image", "shape": shape, "datatype": "FP32", "data": [0] * count}]}
            for model in ("digits", "source"):
                status, answer = self.infer(model, request)
                self.assertEqual(status, 400, (model, shape, answer))
                self.assertIn("image", answer["error"])
        status, answer = self.infer("buckets", image_request(5))  # a file with several shapes compiles no other ones
        self.assertEqual(status, 400)
        self.assertIn("expected 1 to 4", answer["error"])

    def test_a_request_without_an_input_is_refused(self):
        for model in ("named", "unnamed", "source"):
            name = "image" if model == "source" else "x"
            for request in ({}, {"inputs": []}):
                self.assertEqual(self.infer(model, request), (400, {"error": f"input '{name}' is missing"}), model)

    def test_an_error_of_the_compilation_names_the_shape(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sum.onnx"), "wb") as file:
                file.write(onnx_model([("Transpose", ["x"], "t"), ("Add", ["x", "t"], "y")], {"x": ["n", "m"]}, {"y": ["n", "m"]}))
            with serving(folder, "--compile") as (port, _, _):
                self.assertEqual(self.infer("sum", floats(3, 3), port)[0], 200)
                for _ in range(2):
                    status, answer = self.infer("sum", floats(2, 3), port)
                    self.assertEqual(status, 400, answer)
                    self.assertRegex(answer["error"], "n 2, m 3")
                self.assertEqual(self.infer("sum", floats(3, 3), port)[0], 200)
                self.assertEqual(self.metric("shapes_failed_total", "sum", port), 2)

    def test_a_compilation_delays_no_other_shape_and_no_other_model(self):
        for model in ("named", "unnamed"):
            self.assertEqual(self.infer(model, floats(2, 2))[0], 200)
            with concurrent.futures.ThreadPoolExecutor(8) as pool, Hold(self.fifo) as hold:
                new = [pool.submit(self.infer, model, floats(30, 5))]
                hold.begun()
                new += [pool.submit(self.infer, model, floats(rows, 5)) for rows in (31, 31, 32)]
                for _ in range(3):
                    for other, request in ((model, floats(2, 2)), ("digits", image_request(1))):
                        self.assertEqual(self.infer(other, request)[0], 200)
                    with socket.create_connection(("127.0.0.1", self.port), 60) as client:
                        client.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
                        self.assertIn(b" 200 ", client.recv(1000))
                self.assertFalse(any(one.done() for one in new), model)
                hold.release()
                self.assertEqual([one.result()[0] for one in new], [200] * 4)

    def test_shapes_beyond_the_limit_are_removed_and_compiled_again(self):
        for _ in range(2):
            for rows in range(2, 9):
                self.assertEqual(self.infer("product", floats(rows, 2))[0], 200)
        self.assertEqual(self.metric("shapes_kept", "product"), 3)
        self.assertGreater(self.metric("shapes_removed_total", "product"), 8)

    def test_requests_of_the_shape_compiled_ahead_share_batches(self):
        alone = {rows: self.scores("source", rows) for rows in range(1, 9)}
        before, failed = self.metric("batches_total", "source"), self.metric("requests_failed_total", "source")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda i: (i % 8 + 1, self.scores("source", i % 8 + 1)), range(64)))
        for rows, found in answers:
            for a, b in zip(found, alone[rows], strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3)
        self.assertLessEqual(self.metric("batches_total", "source") - before, 64)
        self.assertEqual(self.metric("requests_failed_total", "source"), failed)

    def test_warm_up_compiles_before_the_model_is_ready(self):
        with serving(self.repository, "--compile", "--warm_up", "digits/image=2,1,8,8/6,1,8,8", "--warm_up", "product/x=2,2") as (port, _, _):
            self.assertEqual([self.metric("shapes_kept", model, port) for model in ("digits", "product", "named")], [2, 1, 0])
            self.scores("digits", 6, port)
            self.assertEqual(self.metric("shapes_kept", "digits", port), 2)
        with serving(self.repository, "--compile", "--warm_up", "digits/image=2,8", "--warm_up", "buckets/image=2,1,8,8") as (port, _, _):
            index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
            self.assertEqual([index[name]["state"] for name in ("digits", "buckets", "product")], ["UNAVAILABLE"] * 2 + ["READY"])
            self.assertIn("given [2,8]", index["digits"]["reason"])
            self.assertIn("fixed", index["buckets"]["reason"])
        for words, fact in ((["digits"], "MODEL/INPUT=SHAPE"), (["digits/image"], "MODEL/INPUT=SHAPE"), (["/image=2"], "MODEL/INPUT=SHAPE"),
                            (["none/image=2,1,8,8"], "has no model 'none'")):
            done = subprocess.run([SERVE, self.repository, "--http_port", "0", "--grpc_port", "-1", "--compile", "--warm_up", *words],
                                  capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(fact, done.stderr)

    def test_shapes_are_those_of_the_file_without_permission_to_compile(self):
        with serving(self.repository, "--compile", "--compile_option", "shapes=fixed") as (port, _, _):
            self.assertEqual(len(self.scores("source", 3, port)), 30)  # part of a batch
            index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
            self.assertEqual(index["digits"]["state"], "UNAVAILABLE")
            self.assertIn("input_shape", index["digits"]["reason"])
        with serving(self.repository) as (port, _, _):
            self.assertEqual(len(self.scores("source", 3, port)), 30)
            index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
            self.assertIn("compiling is not allowed", index["digits"]["reason"])

    def test_a_source_that_cannot_be_compiled_is_reported(self):
        folder = os.path.join(self.folder, "without")
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "source.popef"), folder)
        # A copy of the library has no compiler library next to it.
        libraries = os.path.join(self.folder, "libraries")
        os.makedirs(libraries)
        shutil.copy(os.path.join(BIN, "..", "lib", "libpoprt.so.1"), libraries)
        os.environ["LD_LIBRARY_PATH"] = libraries
        self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
        with serving(folder, "--compile") as (port, _, _):
            (model,) = call(port, "/v2/repository/index", {})[1]
            self.assertIn("its shapes are those of the file", model["reason"])
            self.assertIn("libpoprt_compiler", model["reason"])
            self.assertEqual((model["state"], len(self.scores("source", 3, port))), ("READY", 30))

    def test_a_model_that_is_unloaded_answers_its_requests(self):
        folder = os.path.join(self.folder, "unloaded")
        os.makedirs(folder)
        for name in ("named", "unnamed"):
            shutil.copy(os.path.join(self.repository, name + ".onnx"), folder)
        with serving(folder, "--compile") as (port, _, _):
            for name in ("named", "unnamed"):
                with concurrent.futures.ThreadPoolExecutor(4) as pool, Hold(self.fifo) as hold:
                    new = [pool.submit(self.infer, name, floats(rows, 3), port) for rows in (40, 41)]
                    hold.begun()
                    while "requests_in_flight 2\n" not in curl(port, "/metrics")[2].decode():
                        time.sleep(0.001)
                    self.assertEqual(call(port, f"/v2/repository/models/{name}/unload", {}), (200, {}))
                    hold.release()
                    self.assertEqual([one.result()[0] for one in new], [200, 200])
                self.assertEqual(self.infer(name, floats(2, 2), port)[0], 503)
                self.assertEqual(call(port, f"/v2/repository/models/{name}/load", {}), (200, {}))
                self.assertEqual(self.infer(name, floats(2, 2), port)[0], 200)

    def test_a_compilation_does_not_delay_the_end_of_the_server(self):
        folder = os.path.join(self.folder, "ended")
        os.makedirs(folder)
        shutil.copy(os.path.join(self.repository, "product.onnx"), folder)
        with Hold(self.fifo) as hold:  # while the model is loaded
            process = subprocess.Popen([SERVE, folder, "--http_port", "0", "--grpc_port", "0", "--compile", "--warm_up", "product/x=43,3"],
                                       stderr=subprocess.DEVNULL)
            hold.begun()
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(60), 0)
        with Hold(self.fifo) as hold, concurrent.futures.ThreadPoolExecutor(1) as pool:  # while a request waits
            with serving(folder, "--compile", "--drain_seconds", "0.1") as (port, _, process):
                waiting = pool.submit(self.infer, "product", floats(44, 3), port)
                hold.begun()
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), 0)
            self.assertIsInstance(waiting.exception(), (subprocess.CalledProcessError, type(None)))

    def test_a_time_limit_ends_requests_while_their_shape_is_compiled(self):
        with serving(self.repository, "--compile", "--request_timeout_ms", "20") as (port, grpc_port, _):
            for name in ("named", "unnamed"):
                with Hold(self.fifo) as hold:
                    while not hold.has_begun():
                        self.assertEqual(self.infer(name, floats(50, 3), port)[0], 504)
                    for rows in (50, 51):
                        status, answer = self.infer(name, floats(rows, 3), port)
                        self.assertEqual(status, 504, (name, answer))
                        self.assertTrue(answer["error"])
                        if grpc:
                            self.assertEqual(self.grpc_error(grpc_port, name, rows, 3), grpc.StatusCode.DEADLINE_EXCEEDED)
                    answered = self.metric("requests_failed_total", name, port)
                    self.assertGreaterEqual(answered, 3)
                # The compilation continues after the deadline, and later requests use its result.
                while self.metric("shapes_compiled_total", name, port) == 0:
                    time.sleep(0.001)
                while (status := self.infer(name, floats(50, 3), port)[0]) == 504:  # on a busy machine
                    pass
                self.assertEqual(status, 200)

    @unittest.skipUnless(grpc, "there is no Python package grpc")
    def test_the_deadline_of_a_client_ends_its_request(self):
        for name in ("named", "unnamed"):
            failed = self.metric("requests_failed_total", name)
            with concurrent.futures.ThreadPoolExecutor(1) as pool, Hold(self.fifo) as hold:
                first = pool.submit(self.infer, name, floats(60, 3))
                hold.begun()
                timeout = 0.05
                while self.metric("requests_failed_total", name) == failed:  # a short one may end before the server has the request
                    self.assertEqual(self.grpc_error(self.grpc_port, name, 61, 3, timeout), grpc.StatusCode.DEADLINE_EXCEEDED)
                    timeout *= 1.5
                self.assertFalse(first.done())
                hold.release()
                self.assertEqual(first.result()[0], 200)

    def grpc_error(self, port, model, rows, columns, timeout=60):
        tensor = field(1, "x") + field(2, "FP32") + field(3, varint(rows) + varint(columns))
        request = field(1, model) + field(5, tensor) + field(7, bytes(4 * rows * columns))
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, self.assertRaises(grpc.RpcError) as raised:
            channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", lambda b: b, lambda b: b)(request, timeout=timeout)
        return raised.exception.code()

    def test_a_shape_that_needs_too_much_memory_is_refused(self):
        with serving(self.repository, "--compile", "--max_shape_mib", "1") as (port, _, _):
            for name in ("named", "unnamed"):
                status, answer = self.infer(name, floats(1000, 2), port)
                self.assertEqual(status, 400, (name, answer))
                self.assertRegex(answer["error"], r"one run needs \d{7,} bytes of memory, and `max_shape_memory` allows 1048576")
                self.assertEqual(self.infer(name, floats(20, 2), port)[0], 200)
        for name in ("named", "unnamed"):  # by default, half of the memory
            status, answer = self.infer(name, floats(1 << 18, 1))
            self.assertEqual(status, 400, (name, answer))
            self.assertIn("max_shape_memory", answer["error"])
            self.assertEqual(self.infer(name, floats(2, 2))[0], 200)


if __name__ == "__main__":
    unittest.main()
