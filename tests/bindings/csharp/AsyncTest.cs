using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Asynchronous runs: continuations, cancellation, limits. Scenarios of tests/bindings/README.md, then features of C# only.</summary>
[TestFixture]
public sealed class AsyncTest
{
    [Test]
    public void Scenario05Asynchronous()
    {
        using (ModelRunner runner = AffineRunner())
        {
            Client[] clients = Enumerable.Range(0, 100).Select(i => new Client(runner, i)).ToArray();
            Task[] tasks = clients.Select(c => runner.ExecuteAsync(c.Bindings)).ToArray();
            Task.WaitAll(tasks);
            foreach (Client c in clients) c.Check();
        }
    }

    /// <summary>A runner whose incomplete batches wait without limit.</summary>
    private static ModelRunner PatientRunner()
    {
        using (Executable executable = Affine(4))
            return new ModelRunner(executable, new RuntimeConfig { Threads = 1, BatchingDim = 0, Timeout = TimeSpan.FromMilliseconds(-1) });
    }

    [Test]
    public void Scenario132ARunnerIsClosedWhileABatchWaits()
    {
        float[] x = { 1, 2, 3, 4 };
        float[] expected = { 3, 5, 7, 9 };
        float[] first = new float[4], second = new float[4];
        ModelRunner runner = PatientRunner();
        Task submitted = runner.ExecuteAsync(runner.CreateBindings().Input("x", x).Output("y", first));
        Task blocked = Task.Run(() => runner.Execute(x, second));
        while (runner.Counters().Submitted < 2) Thread.Sleep(1);
        Assert.That(submitted.IsCompleted || blocked.IsCompleted, Is.False);
        runner.Dispose();
        Assert.That(submitted.Wait(60000) && blocked.Wait(60000));
        Assert.That(first, Is.EqualTo(expected));
        Assert.That(second, Is.EqualTo(expected));
        using (ModelRunner drained = PatientRunner())
        {
            drained.Drain();
            Assert.That(Task.Run(() => drained.Execute(x, second)).Wait(60000));
        }
    }

    [Test]
    public void Scenario18Callback()
    {
        using (ModelRunner slow = SlowRunner())
        using (ModelRunner runner = AffineRunner())
        {
            int thread = 0;
            int calls = 0;
            var again = new Client(runner, 100);
            Task all = slow.ExecuteAsync(SlowBindings(slow)).ContinueWith(done =>
            {
                thread = Thread.CurrentThread.ManagedThreadId;
                calls++;
                return runner.ExecuteAsync(again.Bindings);
            }, TaskContinuationOptions.ExecuteSynchronously).Unwrap();
            while (!all.IsCompleted) Thread.Sleep(1); // waiting might run it on this thread
            Assert.That(thread, Is.Not.EqualTo(Thread.CurrentThread.ManagedThreadId));
            Assert.That(calls, Is.EqualTo(1));
            again.Check();
        }
    }

    [Test]
    public void Scenario19ExceptionInACallback()
    {
        var mine = new InvalidTimeZoneException("thrown by the test");
        using (ModelRunner runner = AffineRunner())
        {
            var c = new Client(runner, 0);
            Task run = runner.ExecuteAsync(c.Bindings);
            Task next = run.ContinueWith(done => { throw mine; });
            Assert.That(Assert.Throws<AggregateException>(next.Wait).InnerException, Is.SameAs(mine));
            run.Wait();
            runner.Execute(c.Bindings);
            c.Check();
        }
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        options.Progress = (done, what) => { throw mine; };
        using (var compiler = new Compiler(options))
            for (int i = 0; i < 2; i++)
                Assert.That(Assert.Throws<InvalidTimeZoneException>(
                    () => compiler.Compile(Path.Combine(models, "affine.onnx"))), Is.SameAs(mine));
    }

    [Test]
    public void Scenario22ARunThatHasBegunEndsWhenItsMemoryIsFree()
    {
        using (ModelRunner runner = SlowRunner())
            for (int tries = 0;; tries++)
            {
                Assert.That(tries, Is.LessThan(100), "no run was seen while it computed");
                using (var cancel = new CancellationTokenSource())
                {
                    Task run = runner.ExecuteAsync(SlowBindings(runner), cancel.Token);
                    Thread.Sleep(1);
                    cancel.Cancel();
                    if (run.IsCanceled) continue; // the run had not begun
                    bool early = !run.IsCompleted;
                    run.Wait();
                    Assert.That(run.Status, Is.EqualTo(TaskStatus.RanToCompletion));
                    if (early) return;
                }
            }
    }

    [Test]
    public void Scenario22Cancellation()
    {
        using (ModelRunner runner = SlowRunner())
        using (var cancel = new CancellationTokenSource())
        {
            // The memory is made before the first run begins, because filling it takes as long as the runs take.
            Bindings[] memory = Enumerable.Range(0, 16).Select(i => SlowBindings(runner)).ToArray();
            var runs = memory.Select((b, i) => runner.ExecuteAsync(b, i < 15 ? CancellationToken.None : cancel.Token)).ToList();
            cancel.Cancel();
            Assert.That(runs[15].IsCanceled);
            runner.Stop();
            Assert.That(runs.Count(IsCancelled), Is.AtLeast(2));
            Fails(ErrorCode.Cancelled, () => runner.Execute(SlowBindings(runner)));
            Assert.That(runner.ExecuteAsync(SlowBindings(runner), cancel.Token).IsCanceled);
        }
    }

    [Test]
    public void Scenario23WaitingWithALimit()
    {
        using (ModelRunner runner = SlowRunner())
        {
            Task run = runner.ExecuteAsync(SlowBindings(runner));
            run.Wait(TimeSpan.FromTicks(1));
            run.Wait();
            Assert.That(run.Status, Is.EqualTo(TaskStatus.RanToCompletion));
        }
    }

    [Test]
    public void Scenario31ALimitOnWaitingInTheQueue()
    {
        using (ModelRunner runner = SlowRunner())
        {
            var runs = new List<Task>();
            for (int i = 0; i < 4; i++) runs.Add(runner.ExecuteAsync(SlowBindings(runner)));
            Task late = runner.ExecuteAsync(SlowBindings(runner), CancellationToken.None, TimeSpan.FromTicks(1));
            var e = (PoprtException)Assert.Throws<AggregateException>(late.Wait).InnerException;
            Assert.That(e.Code, Is.EqualTo(ErrorCode.DeadlineExceeded));
            Task.WaitAll(runs.ToArray());
        }
    }

    [Test]
    public void MemoryOfARunInFlightIsKept()
    {
        using (ModelRunner runner = SlowRunner())
        {
            var runs = new List<Task>();
            for (int i = 0; i < 4; i++) runs.Add(runner.ExecuteAsync(SlowBindings(runner)));
            for (int i = 0; i < 20; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            Task.WaitAll(runs.ToArray());
        }
    }
}
