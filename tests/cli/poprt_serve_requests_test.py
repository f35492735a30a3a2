"""poprt_serve: parameters of requests in both protocols, and odd requests. Each has a clear status."""

import contextlib
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from serve_support import SERVE, call, compiled, curl, image_request, onnx_model, protocol, serving
from support import DIGITS, ROOT

MODELS = os.path.join(ROOT, "tests", "bindings", "data")
try:
    import grpc
except ImportError:
    grpc = None
INFER = "/v2/models/digits/infer"


@unittest.skipUnless(os.path.exists(SERVE), "poprt_serve is not built")
class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.repository = os.path.join(cls.folder, "models")
        compiled(DIGITS, os.path.join(cls.repository, "digits.popef"), "--input_shape", "image=8,1,8,8")
        onnx, types = os.path.join(cls.folder, "types.onnx"), {"u8": 2, "s8": 3, "u16": 4, "s16": 5, "s32": 6, "s64": 7, "u32": 12, "u64": 13}
        with open(onnx, "wb") as file:
            file.write(onnx_model([("Identity", [name], "y_" + name) for name in types], {name: (number, [1]) for name, number in types.items()},
                                  {"y_" + name: (number, [1]) for name, number in types.items()}))
        compiled(onnx, os.path.join(cls.repository, "types.popef"))
        compiled(os.path.join(MODELS, "half.onnx"), os.path.join(cls.repository, "half.popef"), "--input_shape", "x=2,4")
        with open(onnx, "wb") as file:
            file.write(onnx_model([("Identity", ["x"], "y")], {"x": (10, [2])}, {"y": (10, [2])}))
        compiled(onnx, os.path.join(cls.repository, "same.popef"))
        cls.port, cls.grpc_port, cls.process = cls.enterClassContext(serving(cls.repository))

    def tearDown(self):
        self.assertEqual(call(self.port, INFER, image_request(1))[0], 200)  # the server continues


class Parameters(Base):
    def refused(self, request, *facts, path=INFER, status=400):
        found, answer = call(self.port, path, request)
        self.assertEqual(found, status, (request, answer))
        for fact in facts:
            self.assertIn(fact, answer["error"])

    def accepted(self, request):
        status, answer = call(self.port, INFER, request)
        self.assertEqual(status, 200, answer)
        return answer

    def test_parameters_of_requests(self):
        def with_parameter(name, value):
            return image_request(1, parameters={name: value})
        for value, text in (("yes", '"yes"'), (1, "1"), (None, "null"), ([True], "[true]")):
            self.refused(with_parameter("binary_data_output", value), "'binary_data_output' is " + text, "expected true or false")
        for name in ("priority", "timeout"):
            for value, text in ((-1, "-1"), ("3", '"3"'), (1.5, "1.5"), (True, "true"), (1 << 64, "18446744073709551616")):
                self.refused(with_parameter(name, value), f"'{name}' is ", "expected a whole number")
                self.assertTrue(text)
            self.accepted(with_parameter(name, 0))
        self.refused(with_parameter("priority", 3), "'priority' is 3", "expected 0", "no priorities")
        self.refused(with_parameter("timeout", (1 << 63) - 1), "expected at most")
        self.accepted(with_parameter("timeout", 60000000))
        for value in (7, "seven", True, 1.5):
            self.refused(with_parameter("sequence_id", value), "'sequence_id' is", "no sequences")
        for value in (0, ""):
            self.accepted(with_parameter("sequence_id", value))
        for name in ("sequence_start", "sequence_end", "triton_enable_empty_final_response"):
            self.refused(with_parameter(name, True), f"'{name}' is true; expected false")
            self.refused(with_parameter(name, 0), f"'{name}' is 0; expected true or false")
            self.accepted(with_parameter(name, False))
        self.refused(with_parameter("binary_output", True), "no parameter 'binary_output'", "expected binary_data_output")
        self.refused(with_parameter("a" * 100000, True), "no parameter 'aaaa")
        self.refused(image_request(1, parameters=[1]), "'parameters' is [1]; expected an object")
        self.accepted(image_request(1, parameters={}))

    def test_fields_of_requests(self):
        self.refused(image_request(1, id=5), "'id' is 5; expected a string")
        self.refused(image_request(1, output=[]), "no field 'output'", "id inputs outputs parameters")
        self.refused(image_request(1, outputs={}), "'outputs' is an object; expected an array")
        self.assertEqual(self.accepted(image_request(1, id="\u00e9\U0001f600"))["id"], "\u00e9\U0001f600")

        def with_input(**more):
            request = image_request(1)
            request["inputs"][0].update(more)
            return request
        self.refused(with_input(type="FP32"), "input 'image': ", "no field 'type'", "datatype")
        self.refused(with_input(name=3), "'name' is 3; expected a string")
        self.refused(with_input(datatype=32), "'datatype' is 32; expected a string")
        self.refused(with_input(shape="1,1,8,8"), "'shape' is \"1,1,8,8\"; expected an array")
        self.refused(with_input(shape=[1.0, 1, 8, 8]), "size of 1.0")
        self.refused(with_input(data=None), "no 'data'")
        self.refused(with_input(data={"a": 1}), "no 'data'")
        self.refused(with_input(parameters={"binary_data_size": "256"}), "'binary_data_size' is \"256\"", "whole number")
        self.refused(with_input(parameters={"binary_data_size": -1}), "'binary_data_size' is -1", "whole number")
        self.refused(with_input(parameters={"binary_data_size": 256}), "'data' and binary_data_size")
        for name in ("shared_memory_region", "shared_memory_byte_size", "shared_memory_offset"):
            self.refused(with_input(parameters={name: "r"}), "input 'image': ", name, "no shared memory")
        self.refused(with_input(parameters={"content_type": "np"}), "no parameter 'content_type'", "binary_data_size")

    def test_parameters_of_outputs(self):
        def output(parameters, **more):
            return image_request(1, outputs=[{"name": "scores", "parameters": parameters, **more}])
        self.refused(output({"binary_data": 1}), "output 'scores': ", "'binary_data' is 1; expected true or false")
        self.refused(output({"classification": 3}), "'classification' is 3", "expected 0")
        self.refused(output({"classification": "3"}), "'classification' is \"3\"", "whole number")
        self.refused(output({"shared_memory_region": "r"}), "no shared memory")
        self.refused(output({"binary": True}), "no parameter 'binary'", "binary_data or classification")
        self.refused(output({}, data=[]), "no field 'data'", "name parameters")
        self.accepted(output({"classification": 0, "binary_data": False}))
        self.refused(image_request(1, outputs=[{"name": "scores"}] * 2), "output 'scores' is requested twice")

    def test_repository_requests(self):
        load, unload, index = "/v2/repository/models/digits/load", "/v2/repository/models/digits/unload", "/v2/repository/index"
        self.refused({"parameters": {"config": "{}"}}, "no parameter 'config'", "none", path=load)
        self.refused({"parameters": {"file:1/model.popef": "x"}}, "no parameter 'file:1/model.popef'", path=load)
        self.refused({"parameters": 3}, "'parameters' is 3", path=load)
        self.refused({"config": "{}"}, "no field 'config'", "parameters", path=load)
        self.refused("[]", "not a JSON object", path=load)
        self.refused({"parameters": {"unload_dependents": "no"}}, "'unload_dependents' is \"no\"", "true or false", path=unload)
        self.refused({"parameters": {"unload": True}}, "no parameter 'unload'", "unload_dependents", path=unload)
        self.refused({"ready": 1}, "'ready' is 1; expected true or false", path=index)
        self.refused({"raedy": True}, "no field 'raedy'", "ready", path=index)
        self.assertEqual(call(self.port, "/v2/repository/models/half/unload", {"parameters": {"unload_dependents": True}}), (200, {}))
        listed = [{m["name"] for m in call(self.port, index, {"ready": ready})[1]} for ready in (False, True)]
        self.assertEqual((listed[0] - listed[1], "half" in listed[0]), ({"half"}, True))
        self.assertEqual(call(self.port, "/v2/repository/models/half/load", {"parameters": {}}), (200, {}))
        self.assertEqual(curl(self.port, "/v2/repository/models/half/load", "-X", "POST")[0], 200)

    def test_timeout_ends_the_request(self):
        folder = os.path.join(self.folder, "slow")
        compiled(os.path.join(MODELS, "slow.onnx"), os.path.join(folder, "slow.popef"))
        request = {"inputs": [{"name": "x", "shape": [512, 512], "datatype": "FP32", "parameters": {"binary_data_size": 512 * 512 * 4}}],
                   "parameters": {"timeout": 1}}
        head = json.dumps(request).encode()
        with serving(folder) as (port, _, _):
            status, _, body = curl(port, "/v2/models/slow/infer", "--data-binary", "@-", "-H", f"Inference-Header-Content-Length: {len(head)}",
                                   data=head + bytes(512 * 512 * 4))
            if status == 200:  # it had begun within a microsecond
                self.assertIn(b"outputs", body)
            else:
                self.assertEqual(status, 504, body)
                self.assertNotIn(b"compilation", body)


class OddRequests(Base):
    def send(self, data):
        """The status of the answer to these bytes; 0 if the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as client:
            client.settimeout(20)
            client.sendall(data)
            answer = b""
            try:
                while b"\r\n" not in answer and (chunk := client.recv(65536)):
                    answer += chunk
            except OSError:
                return 0
            return int(answer.split()[1]) if answer else 0

    def post(self, body, *headers, path=INFER):
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\n" + "".join(h + "\r\n" for h in headers) + "\r\n"
        return self.send(head.encode() + body)

    def test_bodies(self):
        good = json.dumps(image_request(1)).encode()
        chunked = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (10, good[:10], len(good) - 10, good[10:])
        self.assertEqual(self.post(chunked, "Transfer-Encoding: chunked"), 200)
        self.assertEqual(self.post(b"0\r\n\r\n", "Transfer-Encoding: chunked"), 400)
        self.assertEqual(self.post(b"zz\r\n", "Transfer-Encoding: chunked"), 400)
        self.assertEqual(self.post(good, f"Content-Length: {len(good)}"), 200)
        self.assertEqual(self.post(good, f"Content-Length: {len(good) - 1}"), 400)
        for length in ("x", "1e3", "-5", "0x10", "+7", "1 2", ""):
            self.assertEqual(self.post(good, "Content-Length: " + length), 400, length)
        self.assertEqual(self.post(good, "Content-Length: 18446744073709551616"), 413)
        for encoding, body in (("gzip", gzip.compress(good)), ("deflate", good), ("br", b"x")):
            self.assertEqual(self.post(body, f"Content-Length: {len(body)}", f"Content-Encoding: {encoding}"), 415, encoding)
        self.assertEqual(self.post(good, f"Content-Length: {len(good)}", "Content-Encoding: identity"), 200)

    def test_a_header_with_two_ends_of_the_body_is_refused(self):
        good = json.dumps(image_request(1)).encode()
        chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(good), good)
        length, coding = f"Content-Length: {len(good)}", "Transfer-Encoding: chunked"
        start = f"POST {INFER} HTTP/1.1\r\n"
        second = b"GET /v2 HTTP/1.1\r\nHost: second\r\n\r\n"
        for head, body, word in (
                (f"{start}Host: x\r\n{length}\r\nContent-Length: 3", good, "several fields Content-Length"),
                (f"{start}Host: x\r\n{length}\r\n{length}", good, "several fields Content-Length"),
                (f"{start}Host: x\r\nContent-Length: 5\r\n{coding}", chunked, "Content-Length and Transfer-Encoding"),
                (f"{start}Host: x\r\n{coding}\r\n{length}", chunked, "Content-Length and Transfer-Encoding"),
                (f"{start}Host: x\r\n{coding}\r\n{coding}", chunked, "several fields Transfer-Encoding"),
                (f"{start}Host: x\r\nTransfer-Encoding: gzip", chunked, "'gzip'; expected chunked"),
                (f"{start}Host: x\r\nTransfer-Encoding: chunked, gzip", chunked, "'chunked, gzip'; expected chunked"),
                (f"{start}Host: x\r\nTransfer-Encoding:\r\n chunked", chunked, "values of one line"),
                (f"{start}Host: x\r\nContent-Length: 1\r\n 3", good, "values of one line"),
                (f"{start}Host: x\r\nContent-Length : 5", good, "without white space"),
                (f"{start}Host: x\r\nX: a\r\n {length}", good, "without white space"),
                (f"{start.replace('1.1', '1.0')}{coding}", chunked, "HTTP/1.0"),
                (f"{start}Host: x\r\nHost: y\r\n{length}", good, "several fields Host"),
                (f"{start}Host: x\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n{length}", good, "several fields Authorization"),
                (start + length, good, "no field Host")):
            with self.subTest(head=head), socket.create_connection(("127.0.0.1", self.port), 20) as client:
                client.sendall(head.encode() + b"\r\n\r\n" + body + second)
                answer = b""
                with contextlib.suppress(ConnectionResetError):  # the end, if the server did not read the rest
                    while chunk := client.recv(65536):
                        answer += chunk
                header, _, body = answer.partition(b"\r\n\r\n")
                self.assertTrue(header.startswith(b"HTTP/1.1 400 "), answer)
                self.assertIn(b"\r\nConnection: close", header)
                self.assertIn(word, json.loads(body)["error"])  # the second request has no answer
        for head, body in ((f"{start}Host: x\r\ntransfer-encoding: CHUNKED", chunked), (f"{start}host:\r\n{length}", good),
                           (f"{start.replace('1.1', '1.0')}{length}", good)):
            self.assertEqual(self.send(head.encode() + b"\r\n\r\n" + body), 200, head)

    def test_json(self):
        def answer(text):
            return call(self.port, INFER, text)
        values = ["0"] * 64

        def with_value(value):
            return '{"inputs":[{"name":"image","shape":[1,1,8,8],"datatype":"FP32","data":[' + ",".join([value, *values[1:]]) + "]}]}"
        self.assertEqual(answer(with_value("1"))[0], 200)
        for value, fact in (("NaN", "not valid JSON"), ("Infinity", "not valid JSON"), ("-Infinity", "not valid JSON"), ("1e400", "not valid JSON"),
                            ("1e39", "the value 1e+39"), ("-1e308", "the value -1e+308"), ("null", "the value null"), ("true", "the value true"),
                            ("\"1\"", 'the value "1"'), ("{}", "the value {}")):
            status, found = answer(with_value(value))
            self.assertEqual(status, 400, value)
            self.assertIn(fact, found["error"])
        for text, fact in (("[" * 40 + "]" * 40, "nested deeper"), ('{"inputs":' + "[" * 1000000, "nested deeper"), ("", "not a JSON object"),
                           ("null", "not a JSON object"), ('"x"', "not a JSON object"), ('{"inputs":[]}', "image"), ("{}", "image"),
                           ('{"inputs":[{}]}', "datatype ''"), ('{"id":"\\ud800"}', "not valid JSON"), ('{"a":1}' * 2, "not valid JSON")):
            status, found = answer(text)
            self.assertEqual(status, 400, text[:50])
            self.assertIn(fact, found["error"], text[:50])
        self.assertEqual(curl(self.port, INFER, "--data-binary", "@-", data=b'{"id":"\xff\xfe"}')[0], 400)

    def test_objects_with_many_fields(self):
        many = "{" + ",".join(f'"{i}":1' for i in range(500000)) + "}"  # would take minutes to parse
        for text in (many, '{"parameters":' + many + "}", '{"inputs":[' + many + "]}", "[" + many + "]"):
            begin = time.monotonic()
            status, answer = call(self.port, INFER, text)
            self.assertEqual(status, 400)
            self.assertIn("more than 64 fields", answer["error"])
            self.assertLess(time.monotonic() - begin, 20)
        for text, field in (('{"id":"a","id":"b"}', "id"), ('{"inputs":[],"x":{"a":{"b":1},"a":2}}', "a"), ('{"a\\"b":1,"a\\"b":2}', 'a"b'),
                            ('{"id":"a","\\u0069d":"b"}', "id")):
            status, answer = call(self.port, INFER, text)
            self.assertEqual(status, 400)
            self.assertIn(f"the field '{field}' twice", answer["error"])
        self.assertEqual(call(self.port, "/v1/completions", '{"model":"digits","model":"x"}')[0], 400)

    def test_values_beyond_their_type(self):
        metadata = call(self.port, "/v2/models/types")[1]
        ranges = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767), "UINT16": (0, 65535), "INT32": (-(1 << 31), (1 << 31) - 1),
                  "UINT32": (0, (1 << 32) - 1), "INT64": (-(1 << 63), (1 << 63) - 1), "UINT64": (0, (1 << 64) - 1)}
        inputs, tested = [], 0
        for tensor in metadata["inputs"]:
            count = 1
            shape = [1 if size < 0 else size for size in tensor["shape"]]
            for size in shape:
                count *= size
            inputs.append({**tensor, "shape": shape, "data": [1] * count})
        self.assertEqual(call(self.port, "/v2/models/types/infer", {"inputs": inputs})[0], 200)
        for i, tensor in enumerate(inputs):
            if tensor["datatype"] not in ranges:
                continue
            low, high = ranges[tensor["datatype"]]
            tested += 1
            for value, status in ((low, 200), (high, 200), (low - 1, 400), (high + 1, 400), (0.5, 400), (1 << 70, 400)):
                changed = [dict(t) for t in inputs]
                changed[i]["data"] = [value] + tensor["data"][1:]
                self.assertEqual(call(self.port, "/v2/models/types/infer", {"inputs": changed})[0], status, (tensor["datatype"], value))
        self.assertGreater(tested, 2)
        half = [{"name": "x", "shape": [2, 4], "datatype": "FP16", "data": [70000] + [0] * 7}]
        status, answer = call(self.port, "/v2/models/half/infer", {"inputs": half})
        self.assertEqual(status, 400)
        self.assertIn("the value 70000", answer["error"])

    def test_numbers_of_16_bits(self):
        def request(data, datatype="FP16"):
            return call(self.port, "/v2/models/same/infer", {"inputs": [{"name": "x", "shape": [2], "datatype": datatype, "data": data}]})
        # Just above and below the middle of two numbers of 16 bits, at a distance that float does not have.
        step = 2.0 ** -10
        status, answer = request([1 + step / 2 + 2.0 ** -40, -(1 + 3 * step / 2 - 2.0 ** -40)])
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["outputs"][0]["data"], [1 + step, -(1 + step)])
        self.assertEqual(request([65504, -65519])[0], 200)
        for value in (65520, 1e300):
            status, answer = request([0, value])
            self.assertEqual(status, 400, value)
            self.assertIn("input 'x' has the value ", answer["error"])
        status, answer = request([3.389e38, -3.3895e38], "BF16")
        self.assertEqual(status, 400)
        self.assertIn("expected FP16", answer["error"])

    def test_half_precision_is_rounded_once(self):
        """Numbers next to a tie between two numbers of FP16 or BF16, which FP32 does not distinguish from it."""
        folder = os.path.join(self.folder, "halves")
        os.makedirs(folder)
        for name, element in (("FP16", 10), ("BF16", 16)):
            with open(os.path.join(folder, name + ".onnx"), "wb") as file:
                file.write(onnx_model([("Identity", ["x"], "y")], {"x": (element, ["n"])}, {"y": (element, ["n"])}))
        os.environ["POPART_CACHE_DIR"] = os.path.join(self.folder, "cache")
        self.addCleanup(os.environ.pop, "POPART_CACHE_DIR")
        with serving(folder, "--compile") as (port, _, _):
            for name, step, most in (("FP16", 2.0 ** -10, 65504.0), ("BF16", 2.0 ** -7, 255 * 2.0 ** 120)):
                little, last = 2.0 ** -40, most * step / (2 - step)  # last: between the two largest numbers
                for given, expected in ((1 + step / 2, 1), (1 + step / 2 + little, 1 + step), (1 + step / 2 - little, 1), (-1 - step / 2 - little, -1 - step),
                                        (1 + 3 * step / 2 - little, 1 + step), (most, most), (most + 0.499999999 * last, most), (most + 0.5 * last, None),
                                        (3.4e38, None), (1e39, None), (-1e308, None)):
                    request = {"inputs": [{"name": "x", "shape": [1], "datatype": name, "data": [given]}]}
                    status, answer = call(port, f"/v2/models/{name}/infer", request)
                    if expected is None:
                        self.assertEqual(status, 400, (name, given, answer))
                        self.assertIn(f"which {name} does not have", answer["error"])
                    else:
                        self.assertEqual(status, 200, (name, given, answer))
                        self.assertEqual(answer["outputs"][0]["data"], [expected], (name, given))

    def test_inputs(self):
        twice = image_request(1)
        twice["inputs"] *= 2
        status, answer = call(self.port, INFER, twice)
        self.assertEqual(status, 400)
        self.assertIn("input 'image' is given twice", answer["error"])
        for shape in ([-1, 1, 8, 8], [1 << 39, 1 << 39, 8, 8], [1 << 63, 1, 8, 8], [0, 1, 8, 8], [1] * 100, [], [1, 1, 8, 8, 1]):
            request = image_request(1)
            request["inputs"][0]["shape"] = shape
            status, answer = call(self.port, INFER, request)
            self.assertEqual(status, 400, (shape, answer))

    def binary(self, size, body_size, json_size=None, header=True):
        request = image_request(1)
        del request["inputs"][0]["data"]
        request["inputs"][0]["parameters"] = {"binary_data_size": size}
        head = json.dumps(request).encode()
        options = ["-H", f"Inference-Header-Content-Length: {len(head) if json_size is None else json_size}"] if header else []
        return curl(self.port, INFER, "--data-binary", "@-", *options, data=head + bytes(body_size))[0]

    def test_binary_sizes(self):
        self.assertEqual(self.binary(256, 256), 200)
        for size, body in ((256, 255), (256, 257), (255, 256), (257, 257), (0, 0), (1 << 63, 256), ((1 << 64) - 1, 256)):
            self.assertEqual(self.binary(size, body), 400, (size, body))
        for json_size in ("0", "1", "99999999", "-1", "x", "", "18446744073709551617"):
            self.assertEqual(self.binary(256, 256, json_size), 400, json_size)
        self.assertEqual(self.binary(256, 256, header=False), 400)
        self.assertEqual(json.loads(curl(self.port, INFER, "-H", "Inference-Header-Content-Length: 99", "-d", "{}")[2])["error"],
                         "Inference-Header-Content-Length is '99'; expected a size within the body, which has 2 bytes")

    def test_a_wrong_type_is_named_before_a_value(self):
        request = image_request(1, [0.5] * 64)
        request["inputs"][0]["datatype"] = "INT64"
        self.assertEqual(call(self.port, INFER, request), (400, {"error": "input 'image' has type INT64; expected FP32"}))
        request = image_request(1)
        request["inputs"][0]["shape"] = [1 << 40, 1 << 40]
        self.assertEqual(call(self.port, INFER, request), (400, {"error": "input 'image': shape [1099511627776,1099511627776] is not possible"}))

    def test_models_and_versions(self):
        for version, status in (("1", 200), ("0", 404), ("-1", 404), ("latest", 404), ("01", 404), ("1.0", 404), ("99999999999999999999", 404), ("", 404)):
            for suffix in ("", "/ready"):
                self.assertEqual(curl(self.port, f"/v2/models/digits/versions/{version}{suffix}")[0], status, version + suffix)
            self.assertEqual(call(self.port, f"/v2/models/digits/versions/{version}/infer", image_request(1))[0], status, version)
        outside = os.path.join(self.folder, "outside.popef")
        shutil.copy(os.path.join(self.repository, "digits.popef"), outside)
        self.addCleanup(os.remove, outside)
        for name in ("../outside", "..%2foutside", "%2e%2e%2foutside", "..", ".", "%00", "digits%00", "a" * 5000, "%ff%fe", "%C3%A9", "%F0%9F%9A%80",
                     "digits.popef", "digits/", "DIGITS", "%2e%2e%5coutside", "~", "*", "%25"):
            for path, options in ((f"/v2/models/{name}", []), (f"/v2/models/{name}/infer", ["-d", "{}"]),
                                  (f"/v2/repository/models/{name}/load", ["-d", "{}"]), (f"/v2/repository/models/{name}/unload", ["-d", "{}"])):
                status = curl(self.port, path, "--path-as-is", *options)[0]
                self.assertIn(status, (404, 405), path)
        index = {m["name"] for m in call(self.port, "/v2/repository/index", {})[1]}
        self.assertEqual(index, {"digits", "half", "same", "types"})

    def test_a_model_may_have_a_name_in_unicode(self):
        folder = os.path.join(self.folder, "unicode")
        os.makedirs(folder)
        for name in ("h\u00e9 \U0001f680", "ready", "a%b"):
            shutil.copy(os.path.join(self.repository, "digits.popef"), os.path.join(folder, name + ".popef"))
        with serving(folder) as (port, _, _):
            for name in ("h%C3%A9%20%F0%9F%9A%80", "ready", "a%25b"):
                self.assertEqual(call(port, f"/v2/models/{name}/infer", image_request(1))[0], 200, name)
                self.assertEqual(call(port, f"/v2/models/{name}/ready"), (200, {"ready": True}), name)
                self.assertIn("inputs", call(port, f"/v2/models/{name}")[1])
            self.assertIn("h\u00e9 \U0001f680", curl(port, "/metrics")[2].decode())

    def test_methods(self):
        for path, method in (("/v2", "GET"), ("/v2/health/live", "GET"), ("/v2/models/digits", "GET"), ("/v2/models/digits/ready", "GET"),
                             ("/metrics", "GET"), (INFER, "POST"), ("/v2/repository/index", "POST"), ("/v1/completions", "POST"),
                             ("/v2/repository/models/digits/load", "POST")):
            for other in {"GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "NONSENSE"} - {method}:
                status, header, _ = curl(self.port, path, "-X", other)
                self.assertEqual(status, 405, (path, other))
                self.assertIn("Allow: " + method, header)
            status, header, body = curl(self.port, path, "--head")
            self.assertEqual((status, body), (200 if method == "GET" else 405, b""), path)
        for path in ("/", "/v3", "/v2/", "/v2//models", "/v2/models", "/v2/models/digits/", "/v2/models/digits/config", "/v2/health", "/v2/models/digits/infer/x",
                     "/v2/models/digits/version/1", "/v2/repository", "/v2/repository/models/digits/reload"):
            self.assertEqual(curl(self.port, path)[0], 404, path)
        for path in ("/v2?x=1", "/v2/models/digits?version=1", "/v2/health/live?x"):
            self.assertEqual(curl(self.port, path)[0], 400, path)
        self.assertEqual(curl(self.port, "/metrics?x=1")[0], 200)

    def test_files_that_are_replaced_while_they_are_served(self):
        folder = os.path.join(self.folder, "replaced")
        os.makedirs(folder)
        target = os.path.join(folder, "m.popef")
        shutil.copy(os.path.join(self.repository, "digits.popef"), target)
        with serving(folder) as (port, _, process):
            shutil.copy(os.path.join(self.repository, "half.popef"), target + ".new")
            os.rename(target + ".new", target)
            self.assertEqual(call(port, "/v2/models/m/infer", image_request(1))[0], 200)  # the old file is still served
            process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 60
            while call(port, "/v2/models/m")[1]["inputs"][0]["name"] != "x":
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
            os.remove(target)
            for _ in range(3):
                process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            half = {"inputs": [{"name": "x", "shape": [2, 4], "datatype": "FP16", "data": [1] * 8}]}
            self.assertEqual(call(port, "/v2/models/m/infer", half)[0], 200)  # a file that is gone changes nothing
            self.assertEqual(call(port, "/v2/repository/models/m/load", {})[0], 404)

    def test_a_model_that_is_loaded_again_has_a_line_in_the_log(self):
        folder = os.path.join(self.folder, "logged")
        os.makedirs(folder)
        target = os.path.join(folder, "m.popef")

        def replace(content):
            with open(target + ".new", "wb") as file:
                file.write(content)
            os.rename(target + ".new", target)

        with open(os.path.join(self.repository, "digits.popef"), "rb") as file:
            digits = file.read()
        replace(digits)
        with serving(folder, "--poll_seconds", "0.01") as (port, _, process):
            watch = threading.Timer(120, process.kill)  # ends readline() if a line is missing
            watch.start()
            self.addCleanup(watch.cancel)
            replace(digits)
            self.assertEqual(process.stderr.readline(), "poprt_serve: model 'm': loaded again, because its files changed\n")
            replace(b"broken")
            line = process.stderr.readline()
            self.assertRegex(line, r"^poprt_serve: model 'm': not loaded again, the old one stays: '.*m.popef': truncated")
            (model,) = call(port, "/v2/repository/index", {})[1]
            self.assertEqual(model["state"], "READY")
            self.assertIn("it was not loaded again: ", model["reason"])
            self.assertIn("truncated", model["reason"])
            os.remove(target)
            self.assertIn("not loaded again, the old one stays: the repository has no file of model 'm'", process.stderr.readline())
            self.assertEqual(call(port, "/v2/repository/models/m/load", {})[0], 404)
            self.assertIn("the old one stays: the repository has no file of model 'm'", process.stderr.readline())  # nothing between was written twice
            replace(digits)
            self.assertIn("loaded again, because", process.stderr.readline())
            self.assertEqual(call(port, "/v2/repository/index", {})[1][0]["reason"], "")
            self.assertEqual(call(port, "/v2/repository/models/m/unload", {})[0], 200)
            self.assertEqual(process.stderr.readline(), "poprt_serve: model 'm': unloaded\n")
            self.assertEqual(call(port, "/v2/repository/models/m/load", {})[0], 200)
            self.assertEqual(process.stderr.readline(), "poprt_serve: model 'm': loaded\n")
            self.assertEqual(call(port, "/v2/repository/models/none%0A/load", {})[0], 404)  # a client's name is not written
        self.assertEqual(process.returncode, 0)

    def refused_start(self, *options):
        ports = [word for option in ("--http_port", "--grpc_port") if option not in options for word in (option, "0")]
        done = subprocess.run([SERVE, self.repository, *ports, *options], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        return done.stderr

    def test_a_server_that_cannot_start_states_why(self):
        for option, port in (("--http_port", self.port), ("--grpc_port", self.grpc_port)):
            self.assertRegex(self.refused_start(option, str(port)), f"cannot listen on 127.0.0.1:{port}")
        self.assertIn(f"127.0.0.1:{self.port}: Address already in use\n", self.refused_start("--http_port", str(self.port)))
        self.assertIn("--address: 'localhost' is not an address of IPv4 or IPv6, such as 127.0.0.1", self.refused_start("--address", "localhost"))
        names = [os.path.join(self.folder, name) for name in ("key1", "certificate1", "key2", "certificate2")]
        for key, certificate in (names[:2], names[2:]):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", key,
                            "-out", certificate], check=True, capture_output=True)
        empty = os.path.join(self.folder, "empty")
        with open(empty, "wb"):
            pass
        for key, certificate in ((names[2], names[1]), (empty, names[1]), (names[0], empty), (names[1], names[0]), (os.path.abspath(__file__), names[1])):
            for off in ("--http_port", "--grpc_port"):
                message = self.refused_start("--tls_key", key, "--tls_certificate", certificate, off, "-1")
                self.assertRegex(message, "has no (certificate|private key); expected a PEM file|--tls_certificate and --tls_key")
                self.assertNotRegex(message, r"UNKNOWN|\.cc|\.;")
        for option, other in (("--token_file", []), ("--tls_key", ["--tls_certificate", names[1]]), ("--tls_certificate", ["--tls_key", names[0]])):
            self.assertIn(f"{option}: cannot open '/none': No such file or directory", self.refused_start(option, "/none", *other))
            self.assertIn(f"{option}: cannot read '{self.folder}': Is a directory", self.refused_start(option, self.folder, *other))
        token = os.path.join(self.folder, "token")
        for content, fact in (("", "no token"), (" \n\t", "no token"), ("two words\n", "white space"), ("first\nsecond\n", "white space"), ("\u00e9", "not ASCII"),
                              ("a\0b", "not ASCII")):
            with open(token, "w", encoding="utf-8") as file:
                file.write(content)
            self.assertIn(fact, self.refused_start("--token_file", token))
        with open(token, "w", encoding="utf-8") as file:
            file.write("\n  secret \r\n")
        with serving(self.repository, "--token_file", token) as (port, _, _):
            for given, status in (("Bearer secret", 200), ("bearer secret", 200), ("Bearer  secret", 200), ("Bearer secret ", 200), ("Basic secret", 401),
                                  ("secret", 401), ("Bearer", 401), ("Bearersecret", 401), ("Bearer secret secret", 401)):
                self.assertEqual(curl(port, "/v2", "-H", "Authorization: " + given)[0], status, given)


@unittest.skipUnless(grpc, "there is no Python package grpc")
class Grpc(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pb = protocol(cls)
        cls.channel = cls.enterClassContext(grpc.insecure_channel(f"127.0.0.1:{cls.grpc_port}"))

    def call(self, method, request):
        answer = getattr(self.pb, method + "Response")
        function = self.channel.unary_unary(f"/inference.GRPCInferenceService/{method}", type(request).SerializeToString, answer.FromString)
        return function(request, timeout=60)

    def refused(self, request, *facts, method="ModelInfer", code=grpc and grpc.StatusCode.INVALID_ARGUMENT):
        with self.assertRaises(grpc.RpcError) as raised:
            self.call(method, request)
        self.assertEqual(raised.exception.code(), code, raised.exception.details())
        for fact in facts:
            self.assertIn(fact, raised.exception.details())

    def infer(self, **parameters):
        request = self.pb.ModelInferRequest(model_name="digits")
        request.inputs.add(name="image", datatype="FP32", shape=[1, 1, 8, 8])
        request.raw_input_contents.append(bytes(256))
        self.fill(request.parameters, parameters)
        return request

    @staticmethod
    def fill(parameters, values):
        for name, value in values.items():
            kind = {bool: "bool_param", int: "int64_param", str: "string_param", float: "double_param", bytes: "bytes_param"}[type(value)]
            setattr(parameters[name], kind, value)

    def test_parameters_of_requests(self):
        for name, value, facts in (("priority", 3, ["'priority' is 3", "expected 0"]), ("priority", "3", ["'priority' is '3'", "whole number"]),
                                   ("timeout", -1, ["'timeout' is -1"]), ("timeout", 1.5, ["'timeout' is 1.5"]), ("sequence_id", 7, ["no sequences"]),
                                   ("sequence_id", "a", ["no sequences"]), ("sequence_start", True, ["expected false"]),
                                   ("sequence_end", 1, ["true or false"]), ("binary_data_output", False, ["expected true", "raw_output_contents"]),
                                   ("color", "red", ["no parameter 'color'"])):
            self.refused(self.infer(**{name: value}), *facts)
        for name, value in (("priority", 0), ("timeout", 60000000), ("sequence_id", 0), ("sequence_id", ""), ("sequence_start", False)):
            self.assertEqual(len(self.call("ModelInfer", self.infer(**{name: value})).raw_output_contents), 1)
        unset = self.infer()
        unset.parameters["timeout"].SetInParent()
        self.refused(unset, "'timeout' is of no known type")
        unsigned = self.infer()
        unsigned.parameters["priority"].uint64_param = 4
        self.refused(unsigned, "'priority' is 4")

    def test_parameters_of_tensors(self):
        for name, facts in (("shared_memory_region", ["input 'image': ", "no shared memory"]), ("binary_data_size", ["for HTTP"]), ("color", ["no parameter"])):
            request = self.infer()
            self.fill(request.inputs[0].parameters, {name: 256})
            self.refused(request, *facts)
        for name, value, facts in (("classification", 3, ["output 'scores': ", "'classification' is 3"]), ("shared_memory_region", "r", ["no shared memory"]),
                                   ("binary_data", False, ["expected true"]), ("binary_data", 1, ["true or false"]), ("color", "red", ["no parameter"])):
            request = self.infer()
            self.fill(request.outputs.add(name="scores").parameters, {name: value})
            self.refused(request, *facts)
        request = self.infer()
        for _ in range(2):
            request.outputs.add(name="scores")
        self.refused(request, "requested twice")

    def test_contents(self):
        for size in (0, 1, 255, 257, 512):
            request = self.infer()
            request.raw_input_contents[0] = bytes(size)
            self.refused(request, f"{size} bytes", "256")
        request = self.infer()
        request.inputs[0].contents.fp32_contents.append(1)
        self.refused(request, "fp32_contents and raw_input_contents")
        request = self.infer()
        del request.raw_input_contents[:]
        self.refused(request, "0 bytes")
        request.inputs[0].contents.int_contents.extend([1] * 64)
        self.refused(request, "has int_contents; expected fp32_contents for FP32")
        request = self.infer()
        request.inputs.append(request.inputs[0])
        request.raw_input_contents.append(bytes(256))
        self.refused(request, "given twice")
        for shape in ([-1, 1, 8, 8], [1 << 62, 1 << 62, 8, 8], [0, 1, 8, 8], []):
            request = self.infer()
            request.inputs[0].shape[:] = shape
            self.refused(request)
        for version in ("0", "-1", "latest"):
            request = self.infer()
            request.model_version = version
            self.refused(request, "expected 1 or none", code=grpc.StatusCode.NOT_FOUND)

    def test_values_beyond_their_type(self):
        names = {"INT8": ("int_contents", 128), "INT16": ("int_contents", 1 << 15), "UINT8": ("uint_contents", 256), "UINT16": ("uint_contents", 1 << 16)}
        tested = 0
        metadata = self.call("ModelMetadata", self.pb.ModelMetadataRequest(name="types"))
        for tensor in metadata.inputs:
            if tensor.datatype not in names:
                continue
            request = self.pb.ModelInferRequest(model_name="types")
            given = request.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
            kind, value = names[tensor.datatype]
            getattr(given.contents, kind).append(value)
            self.refused(request, f"a value of {value}, which {tensor.datatype} does not have")
            tested += 1
        self.assertGreater(tested, 0)

    def test_health_is_that_of_http(self):
        folder = os.path.join(self.folder, "health")
        compiled(os.path.join(MODELS, "slow.onnx"), os.path.join(folder, "slow.popef"))
        with open(os.path.join(folder, "bad.popef"), "wb") as file:
            file.write(b"not a model")
        serves, waits = b"\x08\x01", b"\x08\x02"  # status SERVING and NOT_SERVING
        with serving(folder) as (http, port, _), grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            watch = channel.unary_stream("/grpc.health.v1.Health/Watch", lambda _: b"", lambda b: b)(None, timeout=60)
            check = channel.unary_unary("/grpc.health.v1.Health/Check", lambda _: b"", lambda b: b)

            def health():
                return check(None, timeout=60), call(http, "/v2/health/ready")[0]
            self.assertEqual((health(), next(watch)), ((waits, 503), waits))
            self.assertEqual(call(http, "/v2/repository/models/bad/unload", {}), (200, {}))
            self.assertEqual((health(), next(watch)), ((serves, 200), serves))
            self.assertEqual(call(http, "/v2/repository/models/bad/load", {})[0], 500)
            self.assertEqual((health(), next(watch)), ((waits, 503), waits))
            call(http, "/v2/repository/models/bad/unload", {})
            self.assertEqual((health(), next(watch)), ((serves, 200), serves))

    def test_repository_requests(self):
        self.refused(self.pb.RepositoryIndexRequest(repository_name="other"), "'other'", "expected none", method="RepositoryIndex")
        load = self.pb.RepositoryModelLoadRequest(model_name="digits")
        load.parameters["config"].string_param = "{}"
        self.refused(load, "no parameter 'config'", method="RepositoryModelLoad")
        self.refused(self.pb.RepositoryModelLoadRequest(model_name="digits", repository_name="r"), "'r'", method="RepositoryModelLoad")
        for name in ("", "..", "../outside", "a/b", "\0"):
            self.refused(self.pb.RepositoryModelLoadRequest(model_name=name), method="RepositoryModelLoad", code=grpc.StatusCode.NOT_FOUND)
        unload = self.pb.RepositoryModelUnloadRequest(model_name="half")
        unload.parameters["unload_dependents"].int64_param = 1
        self.refused(unload, "unload_dependents with a bool_param", method="RepositoryModelUnload")
        unload.parameters["unload_dependents"].bool_param = True
        self.call("RepositoryModelUnload", unload)
        self.call("RepositoryModelLoad", self.pb.RepositoryModelLoadRequest(model_name="half"))


if __name__ == "__main__":
    unittest.main()
