"""What the tests of poprt_serve share: a running server, and its clients."""

import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import BIN, DIGITS, ROOT

SERVE = os.path.join(BIN, "poprt_serve")
MODELS = os.path.join(ROOT, "tests", "bindings", "data")


def protocol(test_class):
    """The Python module of inference.proto, generated in the folder of the class and importable until its end."""
    proto = os.path.join(ROOT, "cli", "serve", "inference.proto")
    subprocess.run(["protoc", "-I" + os.path.dirname(proto), "--python_out=" + test_class.folder, proto], check=True)
    sys.path.insert(0, test_class.folder)
    test_class.addClassCleanup(sys.path.remove, test_class.folder)
    return importlib.import_module("inference_pb2")


def compiled(onnx, path, *options):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(BIN, "poprt"), "-i", onnx, *options, "--output_dir", folder, "--export_popef"], check=True,
                       capture_output=True)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.move(os.path.join(folder, "executable.popef"), path)


@contextlib.contextmanager
def serving(repository, *options, before=None):
    """A running server: its HTTP and gRPC ports and its process, whose `started` has the lines of its start. `before` is called in it."""
    process = subprocess.Popen([SERVE, repository, "--http_port", "0", "--grpc_port", "0", "--threads", "1", *options],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, preexec_fn=before)
    try:
        lines = []
        while not (lines and lines[-1].startswith("poprt_serve: http ")):
            line = process.stderr.readline()
            assert line, f"the server ended: {lines}"
            lines.append(line)
        http, grpc_port = re.findall(r":(\d+)(?:,|$)", lines[-1].strip())
        process.started = lines
        yield int(http), int(grpc_port), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        process.stderr.close()
    assert code == 0, f"exit code {code}"


def curl(port, path, *options, scheme="http", data=None):
    """The status, the header and the body that curl received."""
    printed = subprocess.run(["curl", "-s", "-i", "--max-time", "60", *options, f"{scheme}://127.0.0.1:{port}{path}"],
                          capture_output=True, check=True, input=data).stdout
    while printed.startswith(b"HTTP/1.1 100"):
        printed = printed.partition(b"\r\n\r\n")[2]
    header, _, body = printed.partition(b"\r\n\r\n")
    return int(header.split()[1]), header.decode(), body


def call(port, path, request=None, *options):
    """The status and the JSON of the answer."""
    if request is not None:
        options = ["--data-binary", "@-", *options]
        request = (request if isinstance(request, str) else json.dumps(request)).encode()
    status, _, body = curl(port, path, *options, data=request)
    return status, json.loads(body)


def image_request(rows, values=None, **more):
    return {"inputs": [{"name": "image", "shape": [rows, 1, 8, 8], "datatype": "FP32",
                        "data": values or [(7 * i) % 17 for i in range(64 * rows)]}], **more}


def field(number, content):
    """A field of protobuf: a number, a text or bytes."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def onnx_model(nodes, inputs, outputs):
    """An ONNX model in bytes: nodes (operator, inputs, output); tensors name -> dimensions, which are
    numbers, names or None; f32, or name -> (number of ONNX's type, dimensions)."""
    def tensor(name, shape):
        element, shape = shape if isinstance(shape, tuple) else (1, shape)
        dims = b"".join(field(1, b"" if d is None else field(1 if isinstance(d, int) else 2, d)) for d in shape)
        return field(1, name) + field(2, field(1, field(1, element) + field(2, dims)))
    graph = b"".join(field(1, b"".join(field(1, i) for i in ins) + field(2, out) + field(4, op)) for op, ins, out in nodes)
    graph += field(2, "g")
    graph += b"".join(field(11, tensor(*i)) for i in inputs.items()) + b"".join(field(12, tensor(*o)) for o in outputs.items())
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


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
