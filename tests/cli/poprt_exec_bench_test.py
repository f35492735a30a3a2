"""poprt_exec bench: latency and throughput, and texts with --generate. Nothing here asserts a time."""

import json
import os
import re
import resource
import signal
import subprocess
import time
import unittest

import onnx_writer as onnx
from support import DIGITS, RECORDS, CommandTest, model

TEXTS = os.path.join(RECORDS, "generation", "genai")  # 53 tokens, a context of 64


class Bench(CommandTest):
    command = "poprt_exec bench"

    def report(self, *words):
        return json.loads(self.succeeds(model("relu"), "--json", *words))

    def test_text_report(self):
        text = self.succeeds(model("relu"), "--iterations", "10")
        self.assertRegex(text, r"load [\d.]+ ms, 10 requests, 1 client\n")
        self.assertTrue(re.search(r"min [\d.]+ +median [\d.]+ +p90 [\d.]+ +p99 [\d.]+ +max [\d.]+\n", text), text)
        self.assertRegex(text, r"throughput: [\d.]+ requests/s\n")

    def test_shapes_come_from_files(self):
        self.write("open.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, ["n", 3])],
                                           [onnx.value("y", onnx.F32, ["n", 3])]))
        self.npy("x.npy", "f4", [2, 3], [0] * 6)
        words = ["open.onnx", "--iterations", "1", "--input"]
        self.succeeds(*words, "x=x.npy")
        self.fails([*words, "x=none.npy"], "'none.npy'", "No such file")
        self.fails([*words, "X=x.npy"], "the model has no input 'X'; it has: x")
        self.fails([*words, "x=x.npy", "--input_shape", "x=4,3"], "[4,3]", "x.npy")

    def test_a_fused_model_of_one_has_its_name(self):
        self.write("one.yaml", f"model_fusion:\n- input_model: {model('relu')}\nexport_popef: True\n".encode())
        self.succeeds("--config_yaml", "one.yaml", command="poprt")
        report = json.loads(self.succeeds("executable.popef", "--iterations", "5", "--json"))
        self.assertEqual([(c["name"], c["requests"]) for c in report["cases"]], [("graph0", 5)])
        self.assertNotIn("requests", report)
        self.assertNotIn("cases", self.report("--iterations", "5"))

    def test_quantiles_are_in_order(self):
        r = self.report("--iterations", "50")
        times = [r[k] for k in ("min_ms", "median_ms", "p90_ms", "p99_ms", "max_ms")]
        self.assertEqual(times, sorted(times))
        self.assertGreater(r["requests_per_second"], 0)

    def test_numbers_belong_together(self):
        """For any times, quantiles are between the least and the greatest, and all requests took no longer than the process."""
        for words, requests in ((["--iterations", "1"], 1), (["--iterations", "2"], 2), (["--iterations", "40", "--warmup", "0"], 40),
                                (["--iterations", "20", "--clients", "2", "--threads", "1"], 40), (["--iterations", "40", "--async"], 40),
                                (["--iterations", "40", "--through", "queues"], 40), (["--iterations", "40", "--through", "callbacks"], 40)):
            with self.subTest(words):
                begin = time.monotonic()
                r = self.report(*words)
                took = time.monotonic() - begin
                self.assertEqual(r["requests"], requests)
                if requests <= 2:  # the middle of two is the second
                    self.assertEqual({r["median_ms"], r["p90_ms"], r["p99_ms"]}, {r["max_ms"]})
                if requests <= 40:  # 99 % of them are all
                    self.assertEqual(r["p99_ms"], r["max_ms"])
                self.assertGreater(r["min_ms"], 0)
                self.assertLess(r["max_ms"] + r["load_ms"], 1000 * took)
                self.assertGreater(r["requests_per_second"], requests / took)
                if "--async" not in words and "queues" not in words:
                    clients = r["clients"]
                    self.assertLessEqual(r["requests_per_second"], clients * 1000 / r["min_ms"])

    def test_requests_in_flight_are_two_steps(self):
        """At least 8 and at most 1024 requests are in flight; a warning is printed if they fill less than two steps."""
        for batches, flying in ((1, 8), (4, 8), (5, 10), (512, 1024), (513, 1024)):
            popef = self.popef(model("relu"), "--batches_per_step", batches)
            for words in (["--async"], ["--through", "callbacks"]):
                with self.subTest(batches=batches, words=words):
                    ran = self.run_command(popef, *words, "--iterations", batches)
                    self.assertEqual(ran.code, 0, ran.err)
                    if "--async" in words:
                        self.assertRegex(ran.out, rf"load [\d.]+ ms, {batches} requests, 1 client, {flying} requests in flight each\n")
                    self.assertEqual(ran.err, "" if batches < 513 else
                                     "poprt_exec bench: warning: a step has 513 batches, which 1024 requests in flight do not fill; "
                                     "steps wait for their timeout\n")

    def test_a_step_of_a_session_is_as_many_requests_as_it_has_batches(self):
        popef = self.popef(model("relu"), "--batches_per_step", "3")
        for iterations, requests in ((1, 3), (3, 3), (4, 6), (7, 9)):
            r = json.loads(self.succeeds(popef, "--through", "callbacks", "--iterations", iterations, "--json"))
            self.assertEqual(r["requests"], requests)
        r = json.loads(self.succeeds(popef, "--through", "queues", "--iterations", 6, "--warmup", 3, "--json"))
        self.assertEqual(r["requests"], 6)

    def test_clients_and_async(self):
        for more in ([], ["--async"]):
            r = self.report("--clients", "3", "--iterations", "20", "--threads", "1", *more)
            self.assertEqual((r["clients"], r["async"]), (3, bool(more)))
            self.assertGreaterEqual(r["requests"], 60)

    def test_clients_for_whom_there_is_no_thread_are_one_line(self):
        self.skip_if_sanitized()
        m = self.popef(model("relu"))
        limits = resource.getrlimit(resource.RLIMIT_AS)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, limits)
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, limits[1]))  # each thread reserves 8 MiB of it
        self.fails([m, "--clients", "1024", "--seconds", "0.05"], "cannot start 1024 client threads, only ")
        self.command = "poprt_exec poprt_run_popef"
        self.fails(["--popef", m, "--numThreads", "1024", "--iteration", "1"], "cannot start 1024 client threads, only ")

    def test_by_time(self):
        self.assertGreater(self.report("--seconds", "0.05", "--warmup", "0")["requests"], 0)

    def test_popef_and_given_inputs(self):
        self.npy("x.npy", "f4", [2, 3], [0.0] * 6)
        self.succeeds(self.popef(model("relu")), "--input", "x=x.npy", "--iterations", "2")

    def test_callbacks_and_queues_of_a_session(self):
        self.npy("x.npy", "f4", [2, 3], [0.0] * 6)
        popef = self.popef(model("relu"))
        for through in ("callbacks", "queues"):
            text = self.succeeds(popef, "--through", through, "--iterations", "50", "--input", "x=x.npy")
            self.assertRegex(text, rf"load [\d.]+ ms, 50 requests, 1 client, through {through}\n")
            self.assertRegex(text, r"latency ms: min [\d.]+ .* max [\d.]+\n")
            self.assertRegex(text, r"throughput: [\d.]+ requests/s\n")
            r = self.report("--through", through, "--seconds", "0.05")
            self.assertEqual(r["through"], through)
            self.assertGreater(r["requests_per_second"], 0)
            self.assertLessEqual(r["median_ms"], r["max_ms"])
            self.fails([model("relu"), "--through", through, "--input", "z=x.npy"], "'z'")
            self.misused([model("relu"), "--through", through, "--clients", "2"], through, "client")
            self.misused([model("relu"), "--through", through, "--async"], through, "--async")
        self.misused([model("relu"), "--through", "walls"], "--through", "walls")

    def test_each_model_of_a_fused_one(self):
        self.write("c.yaml", f"output_dir: .\nexport_popef: True\nmodel_fusion:\n- input_model: {model('relu')}\n"
                             f"- input_model: {DIGITS}\n  input_shape: ['image=2,1,8,8']\n".encode())
        self.succeeds("--config_yaml", "c.yaml", command="poprt")
        self.npy("x.npy", "f4", [2, 3], [0.0] * 6)
        for words in ([], ["--async"], ["--clients", "2"], ["--input", "graph0/x=x.npy"]):
            text = self.succeeds("executable.popef", "--iterations", "10", *words)
            requests = 20 if "--clients" in words else 10
            self.assertRegex(text, rf"(?s)load [\d.]+ ms, \d+ requests.*\ngraph0: {requests} requests\nlatency.*\n"
                                   rf"graph1: {requests} requests\nlatency")
        r = json.loads(self.succeeds("executable.popef", "--json", "--iterations", "10"))
        self.assertEqual([(c["name"], c["requests"]) for c in r["cases"]], [("graph0", 10), ("graph1", 10)])
        self.fails(["executable.popef", "--input", "x=x.npy"], "no input 'x'", "graph0/x, graph1/image")
        self.fails(["executable.popef", "--iterations", "1", "--input", "graph1/image=x.npy"], "f32[2,1,8,8]", "f32[2,3]")

    def test_each_shape_of_a_model(self):
        popef = self.popef(DIGITS, "--input_shape", "image=1,1,8,8/4,1,8,8")
        for words in ([], ["--async"], ["--clients", "2"]):
            text = self.succeeds(popef, "--iterations", "10", *words)
            self.assertRegex(text, r"(?s)\nimage \[1,1,8,8\]: \d+ requests\nlatency.*\nimage \[4,1,8,8\]: \d+ requests\nlatency")
        r = json.loads(self.succeeds(popef, "--json", "--iterations", "10"))
        self.assertEqual([c["name"] for c in r["cases"]], ["image [1,1,8,8]", "image [4,1,8,8]"])
        self.misused([popef, "--input", "image=x.npy"], "are random")

    def test_compile_options(self):
        self.succeeds(model("dynamic"), "--input_shape", "x=2,3", "--iterations", "2")
        self.succeeds(model("dynamic"), "--batch_size", "2", "--batch_axis", "0", "--iterations", "2")

    def test_wrong_usage(self):
        m = model("relu")
        self.misused([], "MODEL")
        self.misused([m, "--clients", "0"], "--clients", "'0'")
        self.misused([m, "--seconds", "0"], "--seconds", "'0'")
        self.misused([m, "--iterations", "x"], "--iterations", "'x'")
        self.misused([m, "--warmup", "-1"], "--warmup", "'-1'")

    def test_errors(self):
        self.fails(["nope.onnx"], "'nope.onnx'", "No such file")
        self.fails([model("dynamic")], "--input_shape x=")
        self.fails([model("relu"), "--input", "z=x.npy"], "'z'")
        self.npy("x.npy", "f4", [3, 2], [0.0] * 6)
        self.fails([model("relu"), "--input", "x=x.npy"], "f32[2,3]", "f32[3,2]")


class BenchGenerate(CommandTest):
    command = "poprt_exec bench --generate"
    sizes = ["--prompt_tokens", "20", "--new_tokens", "16"]

    def refused(self, words, *facts, code=1):
        self.command = "poprt_exec bench"
        self.fails(["--generate", *words], *facts, code=code)
        self.command = BenchGenerate.command

    def test_each_number_of_sequences(self):
        begin = time.monotonic()
        report = json.loads(self.succeeds(TEXTS, *self.sizes, "--sequences", "1,3,8", "--iterations", "3", "--json"))
        took = time.monotonic() - begin
        self.assertEqual([report[name] for name in ("prompt_tokens", "new_tokens", "seed", "interrupted")], [20, 16, 0, False])
        self.assertEqual([(c["sequences"], c["repetitions"]) for c in report["cases"]], [(1, 3), (3, 3), (8, 3)])
        for case in report["cases"]:
            count = case["sequences"]
            for name in ("prefill_tokens_per_second", "decode_tokens_per_second", "decode_tokens_per_step", "first_token_ms"):
                values = [case[name][key] for key in ("min", "median", "max")]
                self.assertEqual(values, sorted(values), name)
                self.assertGreater(values[0], 0, name)
            # All prompts and all new tokens but the first ones were computed in the time of this process.
            self.assertGreater(case["prefill_tokens_per_second"]["max"], 20 * count * 3 / took)
            self.assertGreater(case["decode_tokens_per_second"]["max"], count / took)
            self.assertLessEqual(case["decode_tokens_per_step"]["max"], count)
            self.assertLess(case["first_token_ms"]["max"] + case["load_ms"], 1000 * took)
            self.assertTrue(1 << 20 < case["private_bytes"] < 1 << 32, case["private_bytes"])
        self.assertEqual(report["cases"][0]["decode_tokens_per_step"]["min"], 1)

    def test_table(self):
        lines = self.succeeds(TEXTS, *self.sizes, "--sequences", "1,2", "--iterations", "2").splitlines()
        self.assertEqual(lines[0], "prompts of 20 tokens, 16 new tokens; min / median / max of all sequences")
        self.assertEqual(re.split("  +", lines[1].strip()), ["sequences", "repetitions", "prefill tokens/s", "decode tokens/s",
                                                             "first token ms", "load ms", "private MB"])
        self.assertEqual([re.split("  +", line.strip())[:2] for line in lines[2:]], [["1", "2"], ["2", "2"]])
        for line in lines[2:]:
            self.assertRegex(line, r"( +[\d.]+ / [\d.]+ / [\d.]+){3} +[\d.]+ +[\d.]+$")

    def test_seconds_are_for_all_numbers(self):
        begin = time.monotonic()
        report = json.loads(self.succeeds(TEXTS, *self.sizes, "--sequences", "1,2", "--seconds", "0.4", "--warmup", "0", "--json"))
        self.assertGreater(time.monotonic() - begin, 0.4)
        self.assertTrue(all(case["repetitions"] >= 1 for case in report["cases"]))
        self.assertGreater(sum(case["repetitions"] for case in report["cases"]), 2)

    def test_a_saved_model_has_its_slots(self):
        self.succeeds(TEXTS, "--ids", "1", "--max-new-tokens", "2", "--slots", "2", "--save", "two.popef", command="poprt_exec generate")
        report = json.loads(self.succeeds("two.popef", *self.sizes, "--sequences", "1,2", "--iterations", "1", "--json"))
        self.assertEqual([case["sequences"] for case in report["cases"]], [1, 2])
        self.refused(["two.popef", *self.sizes, "--sequences", "1,3"], "--sequences 3: 'two.popef' was compiled for 2 at once", "--slots 3")

    def test_the_context_is_not_exceeded(self):
        self.refused([TEXTS, "--prompt_tokens", "40", "--new_tokens", "25"], "are 65 tokens", "room for 64")
        self.succeeds(TEXTS, "--prompt_tokens", "40", "--new_tokens", "24", "--iterations", "1")
        self.refused([TEXTS, *self.sizes, "--max_length", "35"], "are 36 tokens", "room for 35")
        self.refused([TEXTS, *self.sizes, "--max_length", "65"], "context of 64")

    def test_caches_of_eight_bits(self):
        report = json.loads(self.succeeds(TEXTS, *self.sizes, "--iterations", "1", "--cache_precision", "int8", "--json"))
        self.assertGreater(report["cases"][0]["decode_tokens_per_second"]["min"], 0)
        self.refused([TEXTS, "--cache_precision", "int4"], "--cache_precision", "int8", code=2)
        self.command = "poprt_exec bench"
        self.misused([model("relu"), "--cache_precision", "int8"], "--cache_precision", "--generate")

    def test_a_generator_needs_the_option(self):
        self.succeeds(TEXTS, "--ids", "1", "--max-new-tokens", "2", "--save", "text.popef", command="poprt_exec generate")
        for self.command, *options in (["poprt_exec bench"], ["poprt_exec run", "--random"]):
            self.fails(["text.popef", *options], "'text.popef' is a file of poprt_exec generate --save; use poprt_exec generate, or "
                                                 "poprt_exec bench --generate")

    def test_models_that_generate_nothing(self):
        self.refused([model("relu")], "input_ids")
        self.refused([self.popef(model("relu"))], "generator")
        self.refused(["nowhere"], "there is no model 'nowhere'")
        self.command = "poprt_exec bench"
        self.misused([TEXTS], "is a folder", "--generate")

    def test_options_of_the_other_measurement_are_refused(self):
        for words in (["--async"], ["--clients", "2"], ["--through", "queues"], ["--input", "x=x.npy"], ["--input-pb", "x=x.pb"]):
            self.refused([TEXTS, *words], f"{words[0]} has no effect with --generate", code=2)
        for words in (["--strict"], ["--allow_unknown_inputs"], ["--precision", "fp16"]):
            self.refused([TEXTS, *words], "options of the compilation have no effect with --generate", code=2)
        self.refused([TEXTS, "--sequences", "1,0"], "--sequences", "'0'", code=2)
        self.refused([TEXTS, "--new_tokens", "1"], "--new_tokens", "'1'", code=2)
        self.command = "poprt_exec bench"
        for word in ("--sequences", "--prompt_tokens", "--new_tokens", "--max_length", "--prefill", "--seed"):
            self.misused([model("relu"), word, "2"], word, "--generate")

    def interrupted(self, words):
        """Interrupts a measurement and returns its report."""
        with subprocess.Popen(self.arguments(words), cwd=self.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            used = 0
            while process.poll() is None and used < 2 * os.sysconf("SC_CLK_TCK"):  # by then the model is loaded
                with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
                    used = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        self.assertEqual((process.returncode, err), (130, ""))
        report = json.loads(out)
        self.assertIs(report["interrupted"], True)
        return report

    def test_an_interrupt_prints_the_measurements(self):
        report = self.interrupted([TEXTS, *self.sizes, "--sequences", "1,2", "--seconds", "600", "--json"])
        self.assertEqual([case["sequences"] for case in report["cases"]], [1])
        self.assertGreater(report["cases"][0]["repetitions"], 0)
        self.command = "poprt_exec bench"
        self.assertGreater(self.interrupted([model("relu"), "--seconds", "600", "--json"])["requests"], 0)
        self.assertIs(json.loads(self.succeeds(model("relu"), "--iterations", "1", "--json"))["interrupted"], False)


if __name__ == "__main__":
    unittest.main()
