"""Serves several clients at once with asyncio. Each keeps some requests in flight.

    serving.py MODEL.onnx
    """

import asyncio
import sys

import numpy as np
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner

CLIENTS, REQUESTS, IN_FLIGHT = 4, 50, 3


def image_of(k):
    return (np.arange(64) * (k + 3) % 17 / 16).astype(np.float32).reshape(1, 1, 8, 8)


async def client(runner, number, expected):
    """Returns the number of correct answers."""
    # submit() never blocks the loop: requests beyond the runner's queue (RuntimeConfig.queue_depth, by default at least
    # 64) wait in a list without limit. The caller must limit them, as here.
    limit = asyncio.Semaphore(IN_FLIGHT)

    async def ask(k):
        async with limit:
            answer = await runner.submit({"image": image_of(k)})
            return np.array_equal(answer["scores"], expected[k])

    first = number * REQUESTS
    return sum(await asyncio.gather(*(ask(k) for k in range(first, first + REQUESTS))))


async def serve(runner):
    expected = [runner.run({"image": image_of(k)})["scores"] for k in range(CLIENTS * REQUESTS)]
    right = await asyncio.gather(*(client(runner, c, expected) for c in range(CLIENTS)))
    print(f"{CLIENTS * REQUESTS} requests from {CLIENTS} clients, {sum(right)} right")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with Runner(Compiler.compile(sys.argv[1], None, CompilerOptions(batch_size=1))) as runner:
        asyncio.run(serve(runner))


if __name__ == "__main__":
    main()
