"""``await runner.submit(...)`` in an event loop: one wake-up for many, errors, cancellation, loops that end."""

import asyncio
import gc
import os
import sys
import threading
import time
import unittest
import weakref
from unittest import mock

import numpy as np
from poprt import errors
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner, RuntimeConfig

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")


class Held(np.ndarray):
    """An array that can have weak references."""


def held(*shape):
    return np.zeros(shape, np.float32).view(Held)


class Loop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.affine = Compiler.compile(os.path.join(DATA, "affine.onnx"), None, CompilerOptions(input_shape={"x": [2, 4]}))
        cls.slow = Compiler.compile(os.path.join(DATA, "slow.onnx"))

    def runner(self, executable=None):
        runner = Runner(executable or self.affine, RuntimeConfig(threads=1))
        self.addCleanup(runner.close)
        return runner

    def test_many_have_each_its_own_answer_on_the_loops_thread(self):
        runner = self.runner()

        async def ask(i):
            answer = await runner.submit({"x": np.full((2, 4), i, np.float32)})
            self.assertEqual(threading.current_thread(), here)
            return answer["y"][0, 0]

        async def main():
            return await asyncio.gather(*(ask(i) for i in range(1000)))

        here = threading.current_thread()
        self.assertEqual(asyncio.run(main()), [2 * i + 1 for i in range(1000)])
        self.assertEqual(runner.statistics()["completed"], 1000)

    def test_outputs_that_are_given_are_returned(self):
        outputs = {"y": np.empty((2, 4), np.float32)}
        self.assertIs(asyncio.run(self.runner().submit({"x": np.ones((2, 4), np.float32)}, outputs)), outputs)
        self.assertEqual(outputs["y"][0, 0], 3)

    def test_errors_come_out_of_await(self):
        runner, slow = self.runner(), self.runner(self.slow)
        memory = {"x": np.zeros((512, 512), np.float32)}

        async def late():
            first = [asyncio.ensure_future(slow.submit(memory)) for _ in range(4)]
            await asyncio.sleep(0)
            with self.assertRaises(errors.DeadlineExceededError):
                await slow.submit(memory, None, 1e-9)
            await asyncio.gather(*first)

        async def stopped():
            asked = [asyncio.ensure_future(slow.submit(memory)) for _ in range(4)]
            await asyncio.sleep(0)
            slow.stop()
            answers = await asyncio.gather(*asked, return_exceptions=True)
            self.assertIsInstance(answers[-1], errors.CancelledError)

        asyncio.run(late())
        asyncio.run(stopped())
        with self.assertRaises(errors.InvalidArgumentError):
            asyncio.run(runner.submit({"x": np.zeros((4, 2), np.float32)}))
        runner.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            asyncio.run(runner.submit({"x": np.zeros((2, 4), np.float32)}))

    def test_a_cancelled_task_cancels_a_run_that_has_not_begun(self):
        slow = self.runner(self.slow)

        async def main():
            memory = {"x": np.zeros((512, 512), np.float32)}
            tasks = [asyncio.ensure_future(slow.submit(memory)) for _ in range(6)]
            await asyncio.sleep(0)
            tasks[-1].cancel()
            with self.assertRaises(asyncio.CancelledError):
                await tasks[-1]
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(slow.submit(memory), 1e-6)
            await asyncio.gather(*tasks[:-1])

        asyncio.run(main())
        self.assertEqual((slow.statistics()["cancelled"], slow.statistics()["completed"]), (2, 5))

    def test_a_loop_may_end_while_runs_go_on(self):
        slow = self.runner(self.slow)
        arrays = [held(512, 512) for _ in range(4)]
        alive = [weakref.ref(a) for a in arrays]

        async def leave():
            for x in arrays:
                asyncio.ensure_future(slow.submit({"x": x}))
            await asyncio.sleep(0)

        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda loop, context: None)  # ignores tasks that are not awaited
        loop.run_until_complete(leave())
        loop.close()
        arrays.clear()
        del loop
        slow.close()
        until = time.monotonic() + 30
        while any(a() is not None for a in alive) and time.monotonic() < until:
            time.sleep(0.05)
            gc.collect()
        self.assertEqual([a() is None for a in alive], [True] * 4)

    def test_a_cancelled_task_ends_when_its_memory_is_free(self):
        slow = self.runner(self.slow)
        x, y = {"x": np.ones((512, 512), np.float32)}, {"y": np.zeros((512, 512), np.float32)}
        slow.execute(x, y)
        expected = y["y"].copy()

        async def main():
            task = asyncio.ensure_future(slow.submit(x, y))
            while slow.statistics()["in_flight"] == 0 or slow.statistics()["submitted"] < 2:
                await asyncio.sleep(0)
            await asyncio.sleep(0.001)  # now it runs on the device
            y["y"].fill(0)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return slow.statistics()

        output = asyncio.run(main())
        self.assertEqual(output["in_flight"], 0)
        if output["completed"] == 2:  # the run had begun before it was cancelled
            np.testing.assert_array_equal(y["y"][-1], expected[-1])

    def test_loops_of_several_threads(self):
        runner, answers = self.runner(), []

        async def main(i):
            for _ in range(50):
                answers.append((await runner.submit({"x": np.full((2, 4), i, np.float32)}))["y"][0, 0] == 2 * i + 1)

        threads = [threading.Thread(target=asyncio.run, args=(main(i),)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(answers, [True] * 200)

    def test_closed_loops_release_their_files(self):
        runner = self.runner()

        def files():
            gc.collect()
            return len(os.listdir("/proc/self/fd"))

        async def ask():
            await runner.submit({"x": np.zeros((2, 4), np.float32)})

        asyncio.run(ask())
        before = files()
        for _ in range(20):
            asyncio.run(ask())
        self.assertEqual(files(), before)

    def test_arrays_are_given_back(self):
        runner = self.runner()
        x = np.zeros((2, 4), np.float32)
        outputs = {"y": np.empty((2, 4), np.float32)}
        asyncio.run(runner.submit({"x": x}, outputs))
        before = sys.getrefcount(x), sys.getrefcount(outputs["y"])

        async def ask():
            for _ in range(100):
                await runner.submit({"x": x}, outputs)

        asyncio.run(ask())
        self.assertEqual((sys.getrefcount(x), sys.getrefcount(outputs["y"])), before)


class Plain(asyncio.SelectorEventLoop):
    def add_reader(self, fd, callback, *args):
        raise NotImplementedError


class LoopThatCannotWatchFiles(Loop):
    def setUp(self):
        for place in (asyncio, asyncio.events):
            patch = mock.patch.object(place, "new_event_loop", Plain)
            patch.start()
            self.addCleanup(patch.stop)


if __name__ == "__main__":
    unittest.main()
