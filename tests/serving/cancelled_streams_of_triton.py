"""Shows that Triton 2.51 keeps a model loaded after a client has cancelled a stream at its last response, without the backend poprt: a
decoupled model of Triton's own Python backend sends 60 responses, and clients cancel at random times around the last one.

    ENV/bin/python tests/serving/cancelled_streams_of_triton.py    # ENV: see with_triton_test.py

The state of the model after it is unloaded is UNLOADING for ever, although all requests were released. In Triton's log
(--log-verbose=1), such a stream has "Waiting for the callback to retrieve cancellation" after the callback of its last response, and never
"Completing cancellation": its state keeps the request, which keeps the model."""

import contextlib
import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy
import tritonclient.grpc as by_grpc
from tritonclient.utils import InferenceServerException

ROOT = os.path.join(sys.prefix, "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")
TRITON = os.path.join(ROOT, "pytriton", "tritonserver")
MODEL = """
import numpy
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for i in range(60):
                if request.is_cancelled():
                    break
                sender.send(pb.InferenceResponse([pb.Tensor("y", numpy.array([i], "i8"))]))
            sender.send(flags=pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
CONFIG = """backend: "python"
max_batch_size: 0
input [{ name: "x" data_type: TYPE_INT64 dims: [-1] }]
output [{ name: "y" data_type: TYPE_INT64 dims: [-1] }]
model_transaction_policy { decoupled: true }
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_model(folder, model=MODEL, config=CONFIG):
    os.makedirs(os.path.join(folder, "models/text/1"))
    for path, text in (("models/text/1/model.py", model), ("models/text/config.pbtxt", config)):
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    backend = os.path.join(folder, "backends/python")
    os.makedirs(backend)
    for file in glob.glob(os.path.join(TRITON, "backends/python/*")):
        if os.path.isfile(file) and not file.endswith("stub"):
            os.symlink(file, os.path.join(backend, os.path.basename(file)))
    stub = f"python_backend_stubs/{sys.version_info.major}.{sys.version_info.minor}/triton_python_backend_stub"
    shutil.copy(os.path.join(TRITON, stub), backend)


def cancel_streams(address, count):
    tensor = by_grpc.InferInput("x", [1], "INT64")
    tensor.set_data_from_numpy(numpy.array([7], "i8"))
    for _ in range(count):
        received = []
        client = by_grpc.InferenceServerClient(address)
        client.start_stream(lambda result, error, to=received: to.append(error))
        try:
            client.async_stream_infer("text", [tensor], enable_empty_final_response=True)
        except InferenceServerException:  # the stream has ended before
            client.close()
            continue
        while not received:
            time.sleep(0.0002)
        time.sleep(random.random() * 0.012)
        client.stop_stream(cancel_requests=True)
        client.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder)
        port = free_port()
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            server = subprocess.Popen(
                [os.path.join(TRITON, "bin/tritonserver"), f"--model-repository={folder}/models", f"--backend-directory={folder}/backends",
                 "--grpc-address=127.0.0.1", f"--grpc-port={port}", "--allow-http=false", "--allow-metrics=false",
                 "--model-control-mode=explicit", "--load-model=text", "--exit-timeout-secs=2"], stdout=log, stderr=log,
                env={**os.environ, "LD_LIBRARY_PATH": os.path.join(ROOT, "nvidia_pytriton.libs")})
            try:
                client = by_grpc.InferenceServerClient(f"127.0.0.1:{port}")
                end = time.monotonic() + 60
                while time.monotonic() < end:
                    with contextlib.suppress(Exception):
                        if client.is_model_ready("text"):
                            break
                    time.sleep(0.1)
                cancel_streams(f"127.0.0.1:{port}", 150)
                time.sleep(1)
                client.unload_model("text")
                time.sleep(3)
                print("state after the unload:", [model.state for model in client.get_model_repository_index().models])
                client.close()
            finally:
                server.send_signal(signal.SIGTERM)
                try:
                    server.wait(30)
                except subprocess.TimeoutExpired:
                    server.kill()
                    server.wait()


if __name__ == "__main__":
    main()
