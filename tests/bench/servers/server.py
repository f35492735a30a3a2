"""See servers: the server in Python, on one event loop. Each client is as many tasks as it has requests in flight."""

import asyncio
import gc
import sys
import time

import numpy as np
from poprt.errors import DeadlineExceededError
from poprt.runtime import Runner, RuntimeConfig

CLIENTS, IN_FLIGHT, LIMIT = 4, 4, 100e-6


class Server:
    def __init__(self, runner):
        self.runner = runner
        x, y = runner.get_inputs()[0], runner.get_outputs()[0]
        size = int(np.prod(x.shape))
        self.x = {x.name: (np.arange(size) % 17 / 16).astype(np.float32).reshape(x.shape)}
        self.expected = runner.run(self.x)[y.name]
        self.counts = {}

    def new_outputs(self):
        return {y.name: np.empty(y.shape, np.float32) for y in self.runner.get_outputs()}

    def count(self, what):
        self.counts[what] += 1

    async def slot(self, first, requests, late_every, cancel_every):
        runner, x, outputs = self.runner, self.x, self.new_outputs()
        y, = outputs.values()
        for i in range(first, requests, IN_FLIGHT):
            limit = LIMIT if late_every and i % late_every == 1 else None
            try:
                if cancel_every and i % cancel_every == 2:
                    future = runner.execute_async(x, outputs)
                    if future.cancel():
                        self.count("cancelled")
                        continue
                    await future
                else:
                    await runner.submit(x, outputs, limit)
            except DeadlineExceededError:
                self.count("late")
                continue
            self.count("ok")
            if i % 64 == 0 and not np.array_equal(y, self.expected):
                self.count("wrong")

    async def serve(self, requests, late_every, cancel_every):
        self.counts = dict.fromkeys(("ok", "late", "cancelled", "wrong"), 0)
        await asyncio.gather(*(self.slot(i, requests, late_every, cancel_every)
                               for _ in range(CLIENTS) for i in range(IN_FLIGHT)))
        return self.counts

    async def wait(self, count, first_ms, last_ms):
        late, ok = [], 0

        async def one(i):
            nonlocal ok
            limit = (first_ms + (last_ms - first_ms) * i / count) / 1000
            deadline = time.monotonic() + limit
            try:
                await self.runner.submit(self.x, self.new_outputs(), limit)
                ok += 1
            except DeadlineExceededError:
                late.append(time.monotonic() - deadline)

        gc.disable()  # which would stop the loop for 20 to 50 ms, to look at the objects of 10 000 tasks
        begin = time.monotonic()
        tasks = [asyncio.ensure_future(one(i)) for i in range(count)]
        await asyncio.sleep(0)  # lets each task submit its request
        submitted = time.monotonic() - begin
        await asyncio.gather(*tasks)
        return {"submit_us": int(submitted * 1e6), "ok": ok, "late": len(late), "cancelled": 0,
                "worst_us": int(max(late, default=0) * 1e6), "over_5ms": sum(s > 5e-3 for s in late),
                "early": sum(s < 0 for s in late)}


def main():
    model, mode, count, *limits = sys.argv[1:]
    with Runner(model, RuntimeConfig(threads=1)) as runner:
        server = Server(runner)
        if mode == "wait":
            found = asyncio.run(server.wait(int(count), *map(float, limits)))
        else:
            asyncio.run(server.serve(int(count) // 4, 0, 0))
            cpu, wall = time.process_time_ns(), time.monotonic_ns()
            counts = asyncio.run(server.serve(int(count), *map(int, limits)))
            found = {"cpu_us": (time.process_time_ns() - cpu) // 1000, "wall_us": (time.monotonic_ns() - wall) // 1000, **counts}
    print(*(f"{name}={value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
