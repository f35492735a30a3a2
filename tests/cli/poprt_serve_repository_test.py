"""poprt_serve: its repository of models, which are loaded, replaced, refused and unloaded, and its start and end."""

import concurrent.futures
import http.client
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import onnx_writer
from serve_support import SERVE, ServeTest, call, curl, image_request, onnx_model, serving
from support import BIN, DIGITS, ROOT, model

GENERATION = os.path.join(ROOT, "tests", "data", "generation")


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

    def test_the_highest_version_is_served(self):
        folder = os.path.join(self.folder, "versions")
        good = os.path.join(self.repository, "digits.popef")
        for path in ("m/2", "m/10", "m/010", "only/3"):
            os.makedirs(os.path.join(folder, path))
            shutil.copy(os.path.join(self.repository, "half.popef") if path == "m/2" else good, os.path.join(folder, path, "model.popef"))
        with serving(folder) as (port, _, process):
            self.assertIn("poprt_serve: model 'm': 'm/10' is used, without 'm/2' of the same name\n", process.started)
            self.assertEqual({m["name"]: m["version"] for m in call(port, "/v2/repository/index", {})[1]}, {"m": "10", "only": "3"})
            self.assertEqual(call(port, "/v2/models/only")[1]["versions"], ["3"])
            self.assertEqual(call(port, "/v2/models/m/versions/10/infer", image_request(1))[1]["model_version"], "10")
            self.assertEqual(call(port, "/v2/models/m/versions/2"), (404, {"error": "there is no model 'm' of version '2'; expected 10 or none"}))
            os.makedirs(os.path.join(folder, "m", "11"))
            shutil.copy(os.path.join(self.repository, "half.popef"), os.path.join(folder, "m", "11", "model.popef"))
            process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 30
            while call(port, "/v2/models/m")[1]["versions"] != ["11"]:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            self.assertEqual(call(port, "/v2/models/m")[1]["inputs"][0]["name"], "x")

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
        for path in ("flat/executable.popef", "zero/01/executable.popef", "good.popef", "UPPER.POPEF", "folder.onnx/none"):
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
            self.assertIn("it has '01' and no folder '1'", lines.pop(folder + "/zero"))
            self.assertIn("is no model: expected the ending '.popef', found '.POPEF'", lines.pop(folder + "/UPPER.POPEF"))
            self.assertIn("is no model: it is a folder; expected a file", lines.pop(folder + "/folder.onnx"))
            if os.getuid():
                self.assertIn("Permission denied", lines.pop(folder + "/closed"))
            self.assertEqual(lines, {})

    def test_folder_without_models_is_refused(self):
        printed = subprocess.run([SERVE, self.folder + "/none", "--http_port", "0", "--grpc_port", "0"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(printed.returncode, 1)
        self.assertIn("poprt_serve: '", printed.stderr)
        self.assertIn("No such file or directory; expected a folder with NAME.popef", printed.stderr)


if __name__ == "__main__":
    unittest.main()
