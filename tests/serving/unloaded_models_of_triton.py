"""Shows that Triton 2.51 uses the memory of a model after it is unloaded, without the backend poprt: a model of Triton's own Python backend is
unloaded as soon as its last request is answered, while valgrind checks the server.

    ENV/bin/python tests/serving/unloaded_models_of_triton.py    # ENV: see with_triton_test.py; needs valgrind, takes about 4 minutes

valgrind reports that Payload::Execute signals a condition variable of the dynamic batcher, which ~TritonModel has freed. The thread of the
instance does so after the backend has released the requests, and no request keeps the model any more. Without valgrind, one of 1981
such unloads damaged the heap, and the server hung."""

import contextlib
import glob
import os
import subprocess
import tempfile
import time

import numpy
import tritonclient.http as by_http

from cancelled_streams_of_triton import ROOT, TRITON, free_port, write_model

MODEL = """
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        return [pb.InferenceResponse([pb.Tensor("y", pb.get_input_tensor_by_name(r, "x").as_numpy())]) for r in requests]
"""
CONFIG = """backend: "python"
max_batch_size: 8
input [{ name: "x" data_type: TYPE_INT64 dims: [1] }]
output [{ name: "y" data_type: TYPE_INT64 dims: [1] }]
dynamic_batching { }
"""
SECONDS = 240


def unload_after_each_answer(client):
    end = time.monotonic() + SECONDS
    tensor = by_http.InferInput("x", [1, 1], "INT64")
    tensor.set_data_from_numpy(numpy.array([[7]], "i8"))
    count = 0
    while time.monotonic() < end:
        client.infer("text", [tensor])
        client.unload_model("text")
        client.load_model("text")
        count += 1
    return count


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder, MODEL, CONFIG)
        port = free_port()
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            server = subprocess.Popen(
                ["valgrind", "--num-callers=6", f"--log-file={folder}/valgrind.%p", os.path.join(TRITON, "bin/tritonserver"),
                 f"--model-repository={folder}/models", f"--backend-directory={folder}/backends", "--http-address=127.0.0.1",
                 f"--http-port={port}", "--allow-grpc=false", "--allow-metrics=false", "--model-control-mode=explicit", "--load-model=text"],
                stdout=log, stderr=log, env={**os.environ, "LD_LIBRARY_PATH": os.path.join(ROOT, "nvidia_pytriton.libs")})
            try:
                client = by_http.InferenceServerClient(f"127.0.0.1:{port}", connection_timeout=300, network_timeout=300)
                end = time.monotonic() + 120
                while time.monotonic() < end:
                    with contextlib.suppress(Exception):
                        if client.is_server_ready():
                            break
                    time.sleep(0.1)
                print(unload_after_each_answer(client), "times answered and unloaded")
            finally:
                server.kill()
                server.wait()
        with open(glob.glob(f"{folder}/valgrind.{server.pid}")[0], encoding="utf-8") as report:
            errors = report.read().split("Invalid read")[1:]
        print("\n".join("Invalid read" + error.split("Block was alloc'd")[0] for error in errors) or "no use of freed memory was seen")


if __name__ == "__main__":
    main()
