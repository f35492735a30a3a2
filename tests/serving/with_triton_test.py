"""The backend in the real Triton Inference Server, by HTTP, gRPC and shared memory. Skipped without a server.

    python3 -m venv ENV
    ENV/bin/pip install --no-deps nvidia-pytriton==0.7.0
    ENV/bin/pip install 'tritonclient[grpc,http]'

Environment: POPRT_BUILD; POPRT_SERVING_ENV (ENV, default ~/.cache/poprt/serving); POPRT_SERVING_BERT (an ONNX model with inputs
input_ids, token_type_ids and input_mask of variable size; without it, its test is skipped); POPRT_SERVING_SECONDS (of the soak test,
default 5)."""

import contextlib
import glob
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ENVIRONMENT = os.environ.get("POPRT_SERVING_ENV", os.path.expanduser("~/.cache/poprt/serving"))
SERVERS = glob.glob(os.path.join(ENVIRONMENT, "lib/python3*/site-packages/pytriton/tritonserver/bin/tritonserver"))
PYTHON = os.path.join(ENVIRONMENT, "bin", "python")
BUILD = os.environ["POPRT_BUILD"]
GENERATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "generation")
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "digits")
BERT = os.environ.get("POPRT_SERVING_BERT", "")
SECONDS = float(os.environ.get("POPRT_SERVING_SECONDS", "5"))

if not SERVERS:
    print(f"skipped: there is no tritonserver in {ENVIRONMENT}; see the head of {os.path.basename(__file__)}")
    sys.exit(77)
if os.path.realpath(sys.prefix) != os.path.realpath(ENVIRONMENT):
    os.execv(PYTHON, [PYTHON, "-B", *sys.argv])

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import numpy  # noqa: E402
import onnx_writer  # noqa: E402
import tritonclient.grpc as by_grpc  # noqa: E402
import tritonclient.http as by_http  # noqa: E402
from tritonclient.utils import InferenceServerException, shared_memory  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def compiled(onnx, target, *options):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(BUILD, "bin/poprt"), "-i", onnx, *options, "--output_dir", folder, "--export_popef"], check=True,
                       capture_output=True)
        shutil.move(os.path.join(folder, "executable.popef"), target)


class WithTriton(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        onnx = os.path.join(DIGITS, "digits.onnx")
        cls.popef = os.path.join(cls.folder, "models/digits/1/executable.popef")
        compiled(onnx, cls.popef, "--input_shape", "image=8,1,8,8")
        with open(os.path.join(cls.folder, "models/digits/config.pbtxt"), "w", encoding="utf-8") as file:
            file.write('backend: "poprt"\n')
        compiled(onnx, os.path.join(cls.folder, "models/buckets.poprt/1/model.poprt"), "--input_shape",
                 "image=1,1,8,8/4,1,8,8/20,1,8,8")
        os.makedirs(os.path.join(cls.folder, "models/late.poprt/1"))
        text = os.path.join(cls.folder, "models/text/1/text.popef")
        os.makedirs(os.path.dirname(text))
        with open(os.path.join(cls.folder, "models/text/config.pbtxt"), "w", encoding="utf-8") as file:
            file.write('backend: "poprt"\n')
        subprocess.run([os.path.join(BUILD, "bin/poprt_exec"), "generate", os.path.join(GENERATION, "genai"), "--ids", "1",
                        "--max-new-tokens", "1", "--slots", "2", "--save", cls.folder + "/text.popef"], check=True, capture_output=True)
        shutil.move(cls.folder + "/text.popef", text)
        os.makedirs(os.path.join(cls.folder, "models/whole/1"))
        shutil.copy(text, os.path.join(cls.folder, "models/whole/1/text.popef"))
        with open(os.path.join(cls.folder, "models/whole/config.pbtxt"), "w", encoding="utf-8") as file:
            file.write('backend: "poprt"\nmodel_transaction_policy { decoupled: false }\n')
        for name in ("open", "source"):
            os.makedirs(os.path.join(cls.folder, "models", name, "1"))
            with open(os.path.join(cls.folder, "models", name, "config.pbtxt"), "w", encoding="utf-8") as file:
                file.write('backend: "poprt"\nparameters { key: "max_shapes" value { string_value: "3" } }\n')
        shutil.copy(onnx, os.path.join(cls.folder, "models/open/1/model.onnx"))
        compiled(onnx, os.path.join(cls.folder, "models/source/1/executable.popef"), "--input_shape", "image=8,1,8,8", "--embed_source")
        scaled = cls.scaled_model(cls.folder, 3)
        compiled(scaled, os.path.join(cls.folder, "models/scaled/1/executable.popef"))
        cls.scaled_model(os.path.join(cls.folder, "models/scaled_open/1"), "n")
        for name in ("scaled", "scaled_open"):
            with open(os.path.join(cls.folder, "models", name, "config.pbtxt"), "w", encoding="utf-8") as file:
                file.write('backend: "poprt"\n')
        cls.names = ["digits", "buckets.poprt", "text", "whole", "open", "source", "scaled", "scaled_open"]
        if BERT:
            compiled(BERT, os.path.join(cls.folder, "models/bert.poprt/1/model.poprt"), "--input_shape",
                     "input_ids=1,32/1,64/1,128")
            cls.names.append("bert.poprt")
        http, grpc, cls.metrics_port = free_port(), free_port(), free_port()
        cls.log = cls.enterClassContext(open(os.path.join(cls.folder, "log"), "w", encoding="utf-8"))
        cls.server = subprocess.Popen(
            [SERVERS[0], f"--model-repository={cls.folder}/models", f"--backend-directory={BUILD}/lib/backends",
             "--http-address=127.0.0.1", "--grpc-address=127.0.0.1", f"--http-port={http}", f"--grpc-port={grpc}",
             "--backend-config=poprt,compile=true", f"--metrics-port={cls.metrics_port}", "--metrics-address=127.0.0.1", "--model-control-mode=explicit", "--exit-timeout-secs=5",
             *(f"--load-model={name}" for name in cls.names)], stdout=cls.log, stderr=cls.log,
            env={**os.environ, "POPART_CACHE_DIR": os.path.join(cls.folder, "cache")})
        cls.addClassCleanup(cls.stop)
        cls.urls = {by_http: f"127.0.0.1:{http}", by_grpc: f"127.0.0.1:{grpc}"}
        cls.http, cls.grpc = (m.InferenceServerClient(url) for m, url in cls.urls.items())
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(Exception):
                if cls.http.is_server_ready():
                    break
            assert cls.server.poll() is None and time.monotonic() < end, "the server does not start"
            time.sleep(0.1)

    @staticmethod
    def scaled_model(folder, size):
        """y = x * s, and m is the largest of y. s and m have no dimensions."""
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "model.onnx")
        nodes = [onnx_writer.node("Mul", ["x", "s"], ["y"]), onnx_writer.node("ReduceMax", ["y"], ["m"], keepdims=0)]
        with open(path, "wb") as file:
            file.write(onnx_writer.model(nodes, [onnx_writer.value("x", onnx_writer.F32, [size]), onnx_writer.value("s", onnx_writer.F32, [])],
                                         [onnx_writer.value("y", onnx_writer.F32, [size]), onnx_writer.value("m", onnx_writer.F32, [])]))
        return path

    @classmethod
    def stop(cls):
        cls.http.close()
        cls.grpc.close()
        cls.server.send_signal(signal.SIGTERM)
        try:
            cls.server.wait(120)  # Triton waits for connections and requests
        except subprocess.TimeoutExpired:
            cls.server.kill()
            cls.server.wait()
            raise

    def resident_mb(self):
        with open(f"/proc/{self.server.pid}/status", encoding="utf-8") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1]) / 1024

    def infer(self, images, model="digits", module=by_grpc, client=None):
        tensor = module.InferInput("image", list(images.shape), "FP32")
        tensor.set_data_from_numpy(images)
        client = client or {by_grpc: self.grpc, by_http: self.http}[module]
        return client.infer(model, [tensor]).as_numpy("scores")

    def test_digits_have_the_accuracy_of_the_training(self):
        with open(os.path.join(DIGITS, "heldout-images.idx3-ubyte"), "rb") as file:
            images = numpy.frombuffer(file.read()[16:], numpy.uint8).reshape(-1, 1, 8, 8).astype("f4") / 16
        with open(os.path.join(DIGITS, "heldout-labels.idx1-ubyte"), "rb") as file:
            labels = numpy.frombuffer(file.read()[8:], numpy.uint8)
        with open(os.path.join(DIGITS, "accuracy.json"), encoding="utf-8") as file:
            expected = json.load(file)["fp32"]
        for module in (by_http, by_grpc):
            for model, rows in (("digits", 8), ("digits", 5), ("buckets.poprt", 17)):
                scores = numpy.concatenate([self.infer(images[i:i + rows], model, module) for i in range(0, len(images), rows)])
                self.assertAlmostEqual((scores.argmax(1) == labels).mean(), expected, delta=0.001)

    def test_any_shape_is_compiled_when_it_arrives(self):
        images = numpy.random.default_rng(3).random((13, 1, 8, 8), "f4")
        expected = self.infer(images[:8])
        for model in ("open", "source"):
            metadata = self.http.get_model_metadata(model)
            self.assertEqual([t["shape"] for t in metadata["inputs"] + metadata["outputs"]], [[-1, 1, 8, 8], [-1, 10]])
            self.assertEqual(self.grpc.get_model_config(model).config.max_batch_size, 0)
            for module in (by_http, by_grpc):
                for rows in (1, 5, 8, 3, 2, 7, 13, 5):
                    numpy.testing.assert_allclose(self.infer(images[:rows], model, module)[:8], expected[:rows], rtol=1e-3, atol=1e-4)
            with self.assertRaises(InferenceServerException) as raised:
                self.infer(numpy.zeros((2, 1, 8, 9), "f4"), model)
            self.assertIn("image", str(raised.exception))

    def test_a_tensor_without_dimensions_has_one_for_clients(self):
        for model in ("scaled", "scaled_open"):
            metadata = self.http.get_model_metadata(model)
            self.assertEqual([metadata["inputs"][1]["shape"], metadata["outputs"][1]["shape"]], [[1], [1]])
            for module, client in ((by_http, self.http), (by_grpc, self.grpc)):
                tensors = []
                for name, values in (("x", [1, 2, 3]), ("s", [2])):
                    tensors.append(module.InferInput(name, [len(values)], "FP32"))
                    tensors[-1].set_data_from_numpy(numpy.array(values, "f4"))
                answer = client.infer(model, tensors)
                self.assertEqual((answer.as_numpy("y").tolist(), answer.as_numpy("m").tolist()), ([2, 4, 6], [6]))

    def test_a_shape_that_is_compiled_delays_no_other_client(self):
        images = numpy.random.default_rng(4).random((40, 1, 8, 8), "f4")
        self.infer(images[:4], "open")
        answers, failures = [], []

        def client(rows):
            try:
                with by_grpc.InferenceServerClient(self.urls[by_grpc]) as own:
                    answers.append(self.infer(images[:rows], "open", client=own).shape)
            except InferenceServerException as e:
                failures.append(e)
        threads = [threading.Thread(target=client, args=[rows]) for rows in range(1, 41)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((sorted(answers), failures), ([(rows, 10) for rows in range(1, 41)], []))

    def text_inputs(self, prompt, count, module=by_grpc):
        inputs = []
        for name, values, kind in (("input_ids", numpy.array(prompt, "i8"), "INT64"), ("max_new_tokens", numpy.array([count], "i8"), "INT64"),
                                   ("ignore_stop", numpy.array([True]), "BOOL")):
            inputs.append(module.InferInput(name, list(values.shape), kind))
            inputs[-1].set_data_from_numpy(values)
        return inputs

    def test_a_generator_has_a_response_for_each_token(self):
        with open(os.path.join(GENERATION, "expected.json"), encoding="utf-8") as file:
            texts = json.load(file)["genai"]
        for module in (by_grpc, by_http):
            client = {by_grpc: self.grpc, by_http: self.http}[module]
            answer = client.infer("whole", self.text_inputs(texts[1]["prompt"], 8, module))
            self.assertEqual(answer.as_numpy("token_ids").tolist(), texts[1]["tokens"][:8])
            parameters = {"temperature": 1.5, "seed": 5}
            first, again, other = (client.infer("whole", self.text_inputs(texts[1]["prompt"], 30, module), parameters=p).as_numpy("token_ids").tolist()
                                   for p in (parameters, parameters, {**parameters, "seed": 6}))
            self.assertEqual(first, again)
            self.assertNotEqual(first, other)
        received = queue.Queue()
        client = by_grpc.InferenceServerClient(self.urls[by_grpc])
        client.start_stream(lambda result, error: received.put((result, error)))
        for i in range(30):
            client.async_stream_infer("text", self.text_inputs(texts[i % len(texts)]["prompt"], 8), request_id=str(i),
                                      enable_empty_final_response=True)
        tokens, ended = {}, set()
        while len(ended) < 30:
            result, error = received.get(timeout=60)
            self.assertIsNone(error)
            response = result.get_response()
            if response.parameters["triton_final_response"].bool_param:
                ended.add(response.id)
            else:
                tokens.setdefault(response.id, []).append(result.as_numpy("token_ids").tolist())
        client.stop_stream()
        client.close()
        self.assertEqual(tokens, {str(i): [[t] for t in texts[i % len(texts)]["tokens"][:8]] for i in range(30)})

    def test_a_client_may_leave_a_text(self):
        """Triton 2.51 may keep the model of such clients when it is unloaded, with any backend: cancelled_streams_of_triton.py."""
        for _ in range(20):
            client = by_grpc.InferenceServerClient(self.urls[by_grpc])
            client.start_stream(lambda result, error: None)
            client.async_stream_infer("text", self.text_inputs([7], 60))
            client.stop_stream(cancel_requests=True)
            client.close()
        answer = self.grpc.infer("whole", self.text_inputs([7], 3))
        self.assertEqual(answer.as_numpy("token_ids").shape, (3,))
        with self.assertRaises(InferenceServerException):
            self.grpc.infer("whole", self.text_inputs([99], 3))

    @unittest.skipUnless(BERT, "POPRT_SERVING_BERT is not set")
    def test_bert_with_buckets(self):
        ids = numpy.arange(2, 62)[None] % 90
        types = {t["name"]: t["datatype"] for t in self.http.get_model_metadata("bert.poprt")["inputs"]}
        names = ("input_ids", "token_type_ids", "input_mask")

        def fill(tensor, name, value):
            tensor.set_data_from_numpy(value.astype(types[name].lower()))

        for module, client in ((by_http, self.http), (by_grpc, self.grpc)):
            found = []
            for length in (7, 32, 60):
                tensors = [module.InferInput(n, [1, length], types[n]) for n in names]
                for tensor, name, value in zip(tensors, names, (ids[:, :length], 0 * ids[:, :length], 0 * ids[:, :length] + 1)):
                    fill(tensor, name, value)
                found.append(client.infer("bert.poprt", tensors).as_numpy("prediction_scores"))
            self.assertEqual([f.shape for f in found], [(1, n, 99) for n in (7, 32, 60)])
            # Padding on the client's side, masked, gives the same as the padding of the backend.
            padded = [numpy.zeros((1, 32), numpy.int64) for _ in range(3)]
            padded[0][:, :7], padded[2][:, :7] = ids[:, :7], 1
            for tensor, name, value in zip(tensors, names, padded):
                tensor.set_shape([1, 32])
                fill(tensor, name, value)
            numpy.testing.assert_allclose(client.infer("bert.poprt", tensors).as_numpy("prediction_scores")[:, :7], found[0],
                                          rtol=1e-3, atol=1e-4)

    def test_the_example_of_a_client_has_the_accuracy_of_the_training(self):
        files = [os.path.join(DIGITS, name) for name in ("heldout-images.idx3-ubyte", "heldout-labels.idx1-ubyte")]
        client = os.path.join(DIGITS, "..", "clients", "client.py")
        done = subprocess.run([sys.executable, client, self.urls[by_http], "digits", *files], capture_output=True, text=True, check=True)
        with open(os.path.join(DIGITS, "accuracy.json"), encoding="utf-8") as file:
            self.assertAlmostEqual(float(done.stdout.rsplit("accuracy", 1)[1]), json.load(file)["fp32"], delta=0.001)

    def test_shared_memory(self):
        images = numpy.random.default_rng(1).random((3, 1, 8, 8), "f4")
        name = f"poprt_{os.getpid()}"
        region = shared_memory.create_shared_memory_region(name, "/" + name, images.nbytes)
        self.addCleanup(shared_memory.destroy_shared_memory_region, region)
        shared_memory.set_shared_memory_region(region, [images])
        self.grpc.register_system_shared_memory(name, "/" + name, images.nbytes)
        self.addCleanup(self.grpc.unregister_system_shared_memory, name)
        tensor = by_grpc.InferInput("image", [3, 1, 8, 8], "FP32")
        tensor.set_shared_memory(name, images.nbytes)
        numpy.testing.assert_allclose(self.grpc.infer("digits", [tensor]).as_numpy("scores"), self.infer(images), rtol=1e-5)

    def test_fifty_loads_use_no_more_memory(self):
        """Triton 2.51 may use freed memory if a model is unloaded just after an answer, with any backend: unloaded_models_of_triton.py."""
        images = numpy.zeros((2, 1, 8, 8), "f4")
        after = []
        for _ in range(50):
            time.sleep(0.1)  # the thread of the instance must have ended the last request
            self.http.unload_model("digits")
            self.http.load_model("digits")
            self.infer(images)
            after.append(self.resident_mb())
        print(f"resident after 10 and 50 loads: {after[9]:.1f} MB, {after[49]:.1f} MB")
        self.assertLess(after[49] - after[9], 16)

    def test_truncated_file_is_an_error_of_the_load_alone(self):
        with open(self.popef, "rb") as file:
            data = file.read()
        with open(os.path.join(self.folder, "models/late.poprt/1/model.poprt"), "wb") as file:
            file.write(data[:len(data) // 2])
        with self.assertRaises(InferenceServerException) as raised:
            self.http.load_model("late.poprt")
        self.assertIn("truncated", str(raised.exception))
        self.infer(numpy.zeros((1, 1, 8, 8), "f4"))

    def test_errors_have_codes(self):
        with self.assertRaises(InferenceServerException) as raised:
            self.infer(numpy.zeros((21, 1, 8, 8), "f4"), "buckets.poprt")
        self.assertEqual(raised.exception.status(), "StatusCode.INVALID_ARGUMENT")
        self.assertIn("expected 1 to 20", str(raised.exception))

    def test_eight_clients_get_every_answer_once(self):
        images = numpy.random.default_rng(2).random((8, 1, 8, 8), "f4")
        expected = self.infer(images)
        times, wrong = [], []
        end = time.monotonic() + SECONDS

        def client(rows):
            with by_grpc.InferenceServerClient(self.urls[by_grpc]) as own:
                while time.monotonic() < end:
                    begin = time.perf_counter()
                    found = self.infer(images[:rows], client=own)
                    times.append(time.perf_counter() - begin)
                    if found.shape != (rows, 10) or abs(found - expected[:rows]).max() > 1e-3:
                        wrong.append(found)

        before = self.grpc.get_inference_statistics("digits").model_stats[0]
        threads = [threading.Thread(target=client, args=[rows]) for rows in (1, 1, 2, 3, 4, 5, 7, 8)]
        for thread in threads:
            thread.start()
        time.sleep(SECONDS / 5)
        early = self.resident_mb()
        for thread in threads:
            thread.join()
        after = self.grpc.get_inference_statistics("digits").model_stats[0]
        self.assertEqual(wrong, [])
        self.assertEqual(after.inference_stats.success.count - before.inference_stats.success.count, len(times))
        self.assertEqual(after.inference_stats.fail.count, before.inference_stats.fail.count)
        runs = after.execution_count - before.execution_count
        self.assertLess(self.resident_mb() - early, 16)
        times.sort()
        print(f"8 clients, {SECONDS:.0f} s: {len(times)} requests in {runs} runs, p50 {times[len(times) // 2] * 1e3:.2f} ms, "
              f"p99 {times[len(times) * 99 // 100] * 1e3:.2f} ms; resident {early:.1f} MB, then {self.resident_mb():.1f} MB")


if __name__ == "__main__":
    unittest.main()
