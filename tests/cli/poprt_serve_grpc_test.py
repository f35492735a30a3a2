"""poprt_serve: the Open Inference Protocol over gRPC."""

import concurrent.futures
import contextlib
import json
import os
import socket
import struct
import unittest

from serve_support import ServeTest, call, protocol, serving

try:
    import grpc
except ImportError:
    grpc = None


@unittest.skipUnless(grpc, "there is no Python package grpc")
class Grpc(ServeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pb = protocol(cls)
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

    def test_the_access_log_has_the_calls_and_their_sizes(self):
        log = os.path.join(self.folder, "grpc_log")
        with serving(self.repository, "--access_log", log) as (_, port, _), grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", self.pb.ModelInferRequest.SerializeToString,
                                        self.pb.ModelInferResponse.FromString)
            metadata = channel.unary_unary("/inference.GRPCInferenceService/ModelMetadata",
                                           self.pb.ModelMetadataRequest.SerializeToString, self.pb.ModelMetadataResponse.FromString)
            request = self.infer(3)
            answer = infer(request, timeout=60)
            named = self.pb.ModelMetadataRequest(name="digits")
            described = metadata(named, timeout=60)
            request.inputs[0].name = "picture"
            with self.assertRaises(grpc.RpcError):
                infer(request, timeout=60)
            service = "/inference.GRPCInferenceService/"
            for method, body in ((service + "ModelConfig", b""), (service + "ModelInfer", b"\xff"), (service + "ServerLive", b""), ("/grpc.health.v1.Health/Check", b"")):
                with contextlib.suppress(grpc.RpcError):
                    channel.unary_unary(method)(body, timeout=60)
        with open(log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        request.inputs[0].name = "image"
        self.assertEqual([(line["protocol"], line["request"], line["status"], line["bytes_in"], line["bytes_out"]) for line in lines],
                         [("grpc", "ModelInfer digits", 0, request.ByteSize(), answer.ByteSize()),
                          ("grpc", "ModelMetadata", 0, named.ByteSize(), described.ByteSize()),
                          ("grpc", "ModelInfer digits", grpc.StatusCode.INVALID_ARGUMENT.value[0], request.ByteSize() + 2, 0),
                          ("grpc", "ModelConfig", grpc.StatusCode.UNIMPLEMENTED.value[0], 0, 0),
                          ("grpc", "ModelInfer", grpc.StatusCode.UNIMPLEMENTED.value[0], 0, 0),
                          ("grpc", "ServerLive", 0, 0, 2),
                          ("grpc", "/grpc.health.v1.Health/Check", 0, 0, 2)])

    def test_idle_connections_are_closed(self):
        with serving(self.repository, "--idle_seconds", "1") as (_, port, _), grpc.insecure_channel(f"127.0.0.1:{port}") as channel, \
             socket.create_connection(("127.0.0.1", port), 30) as silent, socket.create_connection(("127.0.0.1", port), 30) as idle:
            idle.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            live = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
            self.assertEqual(live(b"", timeout=60), b"\x08\x01")
            for client in (silent, idle):
                while client.recv(4096):
                    pass
            self.assertEqual(live(b"", timeout=60), b"\x08\x01")

    def test_load_and_unload(self):
        unload = self.pb.RepositoryModelUnloadRequest(model_name="half")
        self.call("RepositoryModelUnload", unload)
        self.refused(grpc.StatusCode.NOT_FOUND, "RepositoryModelUnload", unload)
        self.assertFalse(self.call("ModelReady", self.pb.ModelReadyRequest(name="half")).ready)
        self.call("RepositoryModelLoad", self.pb.RepositoryModelLoadRequest(model_name="half"))
        self.assertTrue(self.call("ModelReady", self.pb.ModelReadyRequest(name="half")).ready)


if __name__ == "__main__":
    unittest.main()
