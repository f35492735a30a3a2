"""The chapters of docs/languages/python.md. Runs in a folder with digits.onnx and language_model/."""

import asyncio
import threading

# [load]
import numpy as np
from poprt import Compiler, CompilerOptions, Generator
from poprt.compiler import Executable
from poprt.runtime import Runner, RuntimeConfig

runner = Runner("digits.onnx")  # each shape is compiled when it first arrives
for anchor in (*runner.get_inputs(), *runner.get_outputs()):
    print("load:", anchor.name)

Compiler.compile("digits.onnx", None, CompilerOptions(batch_size=8)).save("digits.popef")  # ahead of time, for deployment
compiled = Executable("digits.popef")  # maps the file and compiles nothing
# [run]
image = np.zeros((1, 1, 8, 8), np.float32)
scores = runner.run({"image": image})["scores"]  # allocates the results
print("run:", *scores.shape)

runner.execute({"image": image}, {"scores": scores})  # writes into an array of the caller
bound = runner.bind({"image": image}, {"scores": scores})  # checks the arrays once
bound.execute()


# [async]
async def ask():
    results = await asyncio.gather(*(runner.submit({"image": image}) for _ in range(3)))
    print("async:", len(results))


asyncio.run(ask())
runner.execute_async({"image": image}, {"scores": scores}).result()  # a concurrent.futures.Future
# [batch]
# Requests that arrive within 1 ms of each other share a run.
config = RuntimeConfig(batching_dim=0, is_batch_size_timeout_enabled=True, batch_size_timeout_ns=1_000_000)
batches = Runner(compiled, config)
rows = batches.run({"image": np.zeros((20, 1, 8, 8), np.float32)})["scores"]  # three runs of 8 rows, the last one padded
print("batch:", *rows.shape)
# [shapes]
runner.warm_up([{"image": (2, 1, 8, 8)}, {"image": (4, 1, 8, 8)}])  # compiles before the first request
shapes = CompilerOptions(input_shape=[{"image": (1, 1, 8, 8)}, {"image": (4, 1, 8, 8)}])
several = Runner(Compiler.compile("digits.onnx", None, shapes))  # both in one executable; a request is padded to the next
print("shapes:", *several.run({"image": np.zeros((3, 1, 8, 8), np.float32)})["scores"].shape)
# [state]
with Generator("language_model", slots=2) as generator:  # the caches of both sequences are on the device
    text = generator.generate([6, 42, 26], max_new_tokens=8, ignore_stop=1)
    print("state:", *text)


# [serve]
def client(answers):
    for _ in range(10):
        answers.append(runner.run({"image": image})["scores"])  # any number of threads may share a runner


answers = []
threads = [threading.Thread(target=client, args=(answers,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("serve:", len(answers))
print(runner.statistics()["latency"]["p99_ns"] // 1000, "us at the 99th percentile")
# [errors]
from poprt import errors

try:
    Runner("missing.onnx")
except errors.NotFoundError as error:  # also a FileNotFoundError; all are errors.Error
    print("errors:", error)
# [end]
