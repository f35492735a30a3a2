"""Serves compiled models over HTTP from a model repository in Triton's layout, with Triton's protocol (KServe's version
2, JSON).

    http_server.py REPOSITORY [PORT]

REPOSITORY/MODEL/1/executable.popef is served as MODEL. name_map.json in the same folder may map external tensor names
to PopEF names, as a JSON object. Port 0, the default, selects a free port, and the first output line contains it. Each
client has a thread, and all threads share the runner.

    GET  /v2/health/ready
    GET  /v2/models/MODEL
    POST /v2/models/MODEL/infer   {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}
"""

import json
import pathlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from poprt.errors import Error
from poprt.runtime import Runner

DATATYPES = {"BOOL": "bool", "FP16": "float16", "FP32": "float32", "FP64": "float64"} | {
    f"{kind.upper()}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
NAMES = {dtype: name for name, dtype in DATATYPES.items()}


class UnknownModel(Exception):
    pass


class Model:
    def __init__(self, folder):
        names = folder / "name_map.json"
        self.outside = json.loads(names.read_text(encoding="utf-8")) if names.exists() else {}
        self.inside = {outside: name for name, outside in self.outside.items()}
        self.runner = Runner(str(folder / "executable.popef"))

    def describe(self, anchors):
        return [{"name": self.outside.get(a.name, a.name), "shape": list(a.shape),
                 "datatype": NAMES[np.dtype(a.numpy_data_type()).name]} for a in anchors]

    def metadata(self, name):
        return {"name": name, "versions": ["1"], "platform": "popef", "inputs": self.describe(self.runner.get_execute_inputs()),
                "outputs": self.describe(self.runner.get_execute_outputs())}

    def infer(self, name, request):
        inputs = {self.inside.get(t["name"], t["name"]): np.array(t["data"], DATATYPES[t["datatype"]]).reshape(t["shape"])
                  for t in request["inputs"]}
        outputs = self.runner.run(inputs)
        return {"model_name": name, "model_version": "1", "id": request.get("id", ""), "outputs": [
            {"name": self.outside.get(n, n), "shape": list(v.shape), "datatype": NAMES[v.dtype.name], "data": v.ravel().tolist()}
            for n, v in outputs.items()]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    models = {}

    def answer(self, respond):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        try:
            status, said = 200, respond(body)
        except UnknownModel as e:
            status, said = 404, {"error": f"there is no model {e}"}
        except (Error, LookupError, TypeError, ValueError) as e:
            status, said = 400, {"error": str(e)}
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def model(self):
        name = self.path.removeprefix("/v2/models/").removesuffix("/infer")
        if name not in self.models:
            raise UnknownModel(name)
        return name, self.models[name]

    def do_GET(self):
        self.answer(self.show)

    def do_POST(self):
        self.answer(self.infer)

    def show(self, body):
        if self.path == "/v2/health/ready":
            return {}
        name, model = self.model()
        return model.metadata(name)

    def infer(self, body):
        name, model = self.model()
        return model.infer(name, json.loads(body))

    def log_message(self, *arguments):
        pass


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    Handler.models = {f.parent.parent.name: Model(f.parent) for f in pathlib.Path(sys.argv[1]).glob("*/1/executable.popef")}
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port} serves {', '.join(sorted(Handler.models))}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
