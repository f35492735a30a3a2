using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;

/// <summary>
/// The list of tests/bindings/README.md, by number, then what only C# has. In the subset that NUnit 2.6 and 3 share:
/// Assert.That with Is, Has, Throws.
/// </summary>
[TestFixture]
public sealed class ScenarioTest
{
    internal static readonly string models = Environment.GetEnvironmentVariable("POPRT_TEST_MODELS");
    internal static readonly string folder = Environment.GetEnvironmentVariable("POPRT_TEST_FOLDER");

    // -- helpers ------------------------------------------------------------------------------

    internal static Executable Compile(string model, string input = null, params long[] shape)
    {
        var options = new CompilerOptions();
        if (input != null) options.InputShapes[input] = shape;
        using (var compiler = new Compiler(options)) return compiler.Compile(Path.Combine(models, model));
    }

    internal static Executable Affine(long rows)
    {
        return Compile("affine.onnx", "x", rows, 4);
    }

    internal static ModelRunner Runner(Executable executable)
    {
        using (executable) return new ModelRunner(executable, new RuntimeConfig { Threads = 1 });
    }

    internal static Session OpenSession(Executable executable)
    {
        using (executable) return new Session(executable, new SessionOptions { Threads = 1 });
    }

    internal static Executable Weights()
    {
        using (var compiler = new Compiler(new CompilerOptions { VariableWeights = true }))
            return compiler.Compile(Path.Combine(models, "weights.onnx"));
    }

    internal static ModelRunner AffineRunner()
    {
        return Runner(Affine(2));
    }

    internal static ModelRunner SlowRunner()
    {
        return Runner(Compile("slow.onnx"));
    }

    /// <summary>Memory of one run of affine, 8 floats from first on.</summary>
    internal sealed class Client
    {
        internal readonly float[] X = new float[8];
        internal readonly float[] Y = new float[8];
        internal readonly Bindings Bindings;

        internal Client(ModelRunner runner, float first)
        {
            for (int i = 0; i < 8; i++) X[i] = first + i;
            Bindings = runner.CreateBindings().Input("x", X).Output("y", Y);
        }

        internal void Check()
        {
            Assert.That(Y, Is.EqualTo(X.Select(x => 2 * x + 1)));
        }
    }

    internal static Bindings SlowBindings(ModelRunner runner)
    {
        var x = Enumerable.Repeat(1f, 512 * 512).ToArray();
        return runner.CreateBindings().Input(0, x).Output(0, new float[512 * 512]);
    }

    internal static void Fails(ErrorCode code, TestDelegate call, params string[] words)
    {
        PoprtException e = Assert.Throws<PoprtException>(call);
        Assert.That(e.Code, Is.EqualTo(code), e.Message);
        foreach (string word in words) Assert.That(e.Message, Contains.Substring(word));
    }

    internal static void Closed(TestDelegate call)
    {
        Assert.Throws<ObjectDisposedException>(call);
    }

    internal static string Names(IEnumerable<Anchor> anchors)
    {
        return string.Join(" ", anchors);
    }

    internal static void CheckAffine(Executable executable)
    {
        Assert.That(Names(executable.Inputs), Is.EqualTo("x f32[2,4]"));
        Assert.That(Names(executable.Outputs), Is.EqualTo("y f32[2,4]"));
        Assert.That(executable.Inputs[0].ByteSize, Is.EqualTo(32));
        Assert.That(executable.Outputs[0].ElementCount, Is.EqualTo(8));
        Assert.That(executable.Inputs[0].Shape, Is.EqualTo(new long[] { 2, 4 }));
        Assert.That(executable.Inputs[0].DataType, Is.EqualTo(DataType.F32));
    }

    /// <summary>As soon as they have become free; a runner gives its device back when its last run is over.</summary>
    internal static void AssertDevicesFree(int count)
    {
        using (var manager = new DeviceManager(count))
            for (long id = 0; id < count; id++)
                for (int tries = 0; ; tries++)
                    try
                    {
                        manager.GetSpecificDevice(id).Dispose();
                        break;
                    }
                    catch (PoprtException)
                    {
                        if (tries == 3000) throw;
                        Thread.Sleep(10);
                    }
    }

    internal static bool IsCancelled(Task task)
    {
        try
        {
            if (!task.Wait(60000)) throw new TimeoutException();
        }
        catch (AggregateException e)
        {
            Assert.That(e.InnerException, Is.InstanceOf<OperationCanceledException>());
        }
        return task.IsCanceled;
    }

    // -- the list -----------------------------------------------------------------------------

    [Test]
    public void Scenario01Compile()
    {
        var progress = new List<double>();
        var passes = new List<string>();
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        options.Progress = (done, what) => progress.Add(done);
        options.AfterPass = report => passes.Add(report.Pass);
        string file = Path.Combine(folder, "affine.popef");
        byte[] bytes;
        using (var compiler = new Compiler(options))
        using (Executable executable = compiler.Compile(Path.Combine(models, "affine.onnx")))
        {
            CheckAffine(executable);
            executable.Save(file);
            bytes = executable.ToBytes();
            using (Executable same = compiler.Compile(File.ReadAllBytes(Path.Combine(models, "affine.onnx"))))
                CheckAffine(same);
        }
        using (Executable opened = Executable.Open(file)) CheckAffine(opened);
        using (Executable opened = Executable.Open(bytes)) CheckAffine(opened);
        Assert.That(passes, Is.Not.Empty);
        var first = progress.Take(progress.IndexOf(1) + 1).ToList();
        Assert.That(first, Is.Ordered);
        Assert.That(progress.Last(), Is.EqualTo(1));
    }

    [Test]
    public void Scenario02Run()
    {
        using (ModelRunner runner = AffineRunner())
        {
            var byName = new Client(runner, 0);
            runner.Execute(byName.Bindings);
            byName.Check();
            var byPosition = new Client(runner, 0);
            using (Bindings b = runner.CreateBindings().Input(0, byPosition.X).Output(0, byPosition.Y))
                runner.Execute(b);
            byPosition.Check();
            var spans = new Client(runner, 0);
            runner.Execute<float, float>(spans.X.AsSpan(), spans.Y.AsSpan());
            spans.Check();
            var arrays = new Client(runner, 0);
            runner.Execute(arrays.X, arrays.Y);
            arrays.Check();
            var bound = new Client(runner, 0);
            for (int run = 0; run < 3; run++)
            {
                Array.Clear(bound.Y, 0, 8);
                runner.Execute(bound.Bindings);
                bound.Check();
            }
        }
    }

    [Test]
    public void Scenario03RunSeveralTypes()
    {
        using (ModelRunner runner = Runner(Compile("lookup.onnx")))
        {
            var rows = new float[8];
            var next = new long[4];
            using (Bindings b = runner.CreateBindings()
                .Input("table", new float[] { 0, 1, 2, 3, 4, 5 }).Input("ids", new long[] { 2, 0, 1, 2 })
                .Output("rows", rows).Output("next", next))
                runner.Execute(b);
            Assert.That(rows, Is.EqualTo(new float[] { 4, 5, 0, 1, 2, 3, 4, 5 }));
            Assert.That(next, Is.EqualTo(new long[] { 3, 1, 2, 3 }));
        }
    }

    [Test]
    public void Scenario04HalfPrecision()
    {
        using (ModelRunner runner = Runner(Compile("half.onnx", "x", 2, 4)))
        {
            var x = new ushort[8];
            var y = new ushort[8];
            var results = new float[8];
            Float16.Convert(new float[] { 0, 1, 2, 3, 4, 5, 6, 7 }, x);
            runner.Execute(x, y);
            Float16.Convert(y, results);
            Assert.That(results, Is.EqualTo(new float[] { 1, 3, 5, 7, 9, 11, 13, 15 }));
        }
        for (int bits = 0; bits < 65536; bits++)
        {
            float value = Float16.ToSingle((ushort)bits);
            ushort back = Float16.FromSingle(value);
            if (float.IsNaN(value) ? !float.IsNaN(Float16.ToSingle(back)) : back != bits)
                Assert.Fail(bits + " becomes " + back);
        }
        float ulp = 1 / 1024f;
        Assert.That(Float16.FromSingle(1 + ulp / 2), Is.EqualTo(0x3c00));
        Assert.That(Float16.FromSingle(1 + ulp * 3 / 2), Is.EqualTo(0x3c02));
        Assert.That(Float16.FromSingle(65519.996f), Is.EqualTo(0x7bff));
        Assert.That(Float16.FromSingle(65520), Is.EqualTo(0x7c00));
        Assert.That(Float16.FromSingle(2.9802322e-8f), Is.EqualTo(0));
        Assert.That(Float16.FromSingle(2.9802326e-8f), Is.EqualTo(1));
    }

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

    [Test]
    public void Scenario06Unicode()
    {
        string file = Path.Combine(folder, "størrelse \U0001F680.popef");
        Compile("unicode.onnx", "størrelse", 2, 4).Save(file);
        using (ModelRunner runner = Runner(Executable.Open(file)))
        {
            Assert.That(runner.Inputs[0].Name, Is.EqualTo("størrelse"));
            Assert.That(runner.Outputs[0].Name, Is.EqualTo("ut_\U0001F680"));
            var y = new float[8];
            using (Bindings b = runner.CreateBindings().Input("størrelse", new float[8]).Output("ut_\U0001F680", y))
                runner.Execute(b);
            Assert.That(y[7], Is.EqualTo(1));
            using (Bindings b = runner.CreateBindings().Input("\U0001F680", new float[8]).Output("ut_\U0001F680", y))
                Fails(ErrorCode.NotFound, () => runner.Execute(b), "\U0001F680", "størrelse");
        }
    }

    [Test]
    public void Scenario07WrongName()
    {
        using (ModelRunner runner = AffineRunner())
        using (Bindings b = runner.CreateBindings().Input("nope", new float[8]).Output("y", new float[8]))
            Fails(ErrorCode.NotFound, () => runner.Execute(b), "nope", "x");
    }

    [Test]
    public void Scenario08WrongSize()
    {
        using (ModelRunner runner = AffineRunner())
            foreach (int n in new[] { 7, 9 })
            {
                Fails(ErrorCode.InvalidArgument, () => runner.Execute(new float[n], new float[8]), "x", "32", "" + 4 * n);
                using (Bindings b = runner.CreateBindings().Input("x", new float[n]).Output("y", new float[8]))
                    Fails(ErrorCode.InvalidArgument, () => runner.Execute(b), "x", "32", "" + 4 * n);
            }
    }

    [Test]
    public void Scenario09WrongType()
    {
        using (ModelRunner runner = AffineRunner())
        using (Bindings b = runner.CreateBindings())
        {
            Fails(ErrorCode.InvalidArgument, () => b.Input("x", new double[4]), "x", "f32", "Double");
            Fails(ErrorCode.InvalidArgument, () => b.Input(0, new int[8]), "x", "f32", "Int32");
            Fails(ErrorCode.InvalidArgument, () => b.Output("y", new int[8]), "y", "f32", "Int32");
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(new double[4], new float[8]), "x", "f32", "Double");
            var c = new Client(runner, 0);
            var raw = new byte[32];
            Buffer.BlockCopy(c.X, 0, raw, 0, 32);
            runner.Execute(b.Input("x", raw).Output("y", c.Y));
            c.Check();
        }
    }

    [Test]
    public void Scenario10MissingTensor()
    {
        using (ModelRunner runner = AffineRunner())
        {
            using (Bindings b = runner.CreateBindings().Output("y", new float[8]))
                Fails(ErrorCode.InvalidArgument, () => runner.Execute(b), "x");
            using (Bindings b = runner.CreateBindings().Input("x", new float[8]))
                Fails(ErrorCode.InvalidArgument, () => runner.Execute(b), "y");
            var c = new Client(runner, 0);
            c.Bindings.Input(0, c.X);
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(c.Bindings), "x");
            Fails(ErrorCode.InvalidArgument, () => runner.ExecuteAsync(c.Bindings), "x");
        }
    }

    [Test]
    public void Scenario11MissingFile()
    {
        Fails(ErrorCode.NotFound, () => Executable.Open(Path.Combine(folder, "missing.popef")), "missing.popef");
        using (var compiler = new Compiler())
            Fails(ErrorCode.NotFound, () => compiler.Compile(Path.Combine(folder, "missing.onnx")), "missing.onnx");
    }

    [Test]
    public void Scenario12NoPopef()
    {
        Fails(ErrorCode.DataLoss, () => Executable.Open(Path.Combine(models, "affine.onnx")));
    }

    [Test]
    public void Scenario13UnsupportedOperator()
    {
        Fails(ErrorCode.Unimplemented, () => Compile("unknown_op.onnx"), "Frobnicate");
    }

    [Test]
    public void Scenario14FreeInOddOrder()
    {
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        var compiler = new Compiler(options);
        Executable executable = compiler.Compile(Path.Combine(models, "affine.onnx"));
        var manager = new DeviceManager();
        Device device = manager.GetDevice();
        var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, Device = device });
        var c = new Client(runner, 0);
        Task run = runner.ExecuteAsync(c.Bindings);
        compiler.Dispose();
        executable.Dispose();
        device.Dispose();
        manager.Dispose();
        runner.Dispose();
        c.Bindings.Dispose();
        run.Wait();
        c.Check();
        AssertDevicesFree(4);
    }

    [Test]
    public void Scenario15UseAfterClose()
    {
        Executable executable = Affine(2);
        var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 });
        var c = new Client(runner, 0);
        runner.Dispose();
        runner.Dispose();
        executable.Dispose();
        executable.Dispose();
        Closed(() => runner.Execute(c.Bindings));
        Closed(() => runner.Execute(c.X, c.Y));
        Closed(() => runner.ExecuteAsync(c.Bindings));
        Closed(runner.Stop);
        Closed(() => executable.Listing());
        Closed(() => new ModelRunner(executable));
        Assert.That(runner.Inputs[0].Name, Is.EqualTo("x"));
        c.Bindings.Dispose();
        c.Bindings.Dispose();
        Closed(() => c.Bindings.Input("x", c.X));
        var compiler = new Compiler();
        compiler.Dispose();
        compiler.Dispose();
        Closed(() => compiler.Compile(Path.Combine(models, "slow.onnx")));
    }

    [Test]
    public void Scenario16CloseDuringARun()
    {
        ModelRunner runner = SlowRunner();
        var running = new ManualResetEventSlim();
        Exception thrown = null;
        var thread = new Thread(() =>
        {
            try
            {
                using (Bindings bindings = SlowBindings(runner))
                    while (true)
                    {
                        running.Set();
                        runner.Execute(bindings);
                    }
            }
            catch (Exception e)
            {
                thrown = e;
            }
        });
        thread.Start();
        running.Wait();
        Thread.Sleep(5);
        runner.Dispose();
        thread.Join();
        Assert.That(thrown, Is.InstanceOf<ObjectDisposedException>());
        AssertDevicesFree(4);
    }

    [Test]
    public void Scenario17TwoThreads()
    {
        using (ModelRunner runner = AffineRunner())
        {
            int right = 0;
            Thread[] threads = new[] { 0, 1000 }.Select(offset => new Thread(() =>
            {
                for (int i = 0; i < 200; i++)
                {
                    var c = new Client(runner, offset + i);
                    runner.Execute(c.Bindings);
                    if (c.Y.SequenceEqual(c.X.Select(x => 2 * x + 1))) Interlocked.Increment(ref right);
                }
            })).ToArray();
            foreach (Thread thread in threads) thread.Start();
            foreach (Thread thread in threads) thread.Join();
            Assert.That(right, Is.EqualTo(400));
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
    public void Scenario20LargeTensor()
    {
        using (ModelRunner runner = Runner(Affine(4 << 20)))
        {
            var x = new float[16 << 20];
            var y = new float[16 << 20];
            for (int i = 0; i < x.Length; i++) x[i] = i % 1000;
            long before = Library.BytesCopied;
            runner.Execute(x, y);
            Assert.That(Library.BytesCopied, Is.EqualTo(before));
            for (int i = 0; i < x.Length; i++)
                if (y[i] != 2 * (i % 1000) + 1) Assert.Fail("at " + i + " is " + y[i]);
        }
    }

    [Test]
    public void Scenario21ZeroSizeTensor()
    {
        using (ModelRunner runner = Runner(Affine(0)))
        {
            Assert.That(runner.Inputs[0].ByteSize, Is.EqualTo(0));
            runner.Execute(new float[0], new float[0]);
            using (Bindings b = runner.CreateBindings().Input(0, new float[0]).Output(0, new float[0])) runner.Execute(b);
        }
    }

    [Test]
    public void Scenario22Cancellation()
    {
        using (ModelRunner runner = SlowRunner())
        using (var cancel = new CancellationTokenSource())
        {
            var runs = new List<Task>();
            for (int i = 0; i < 8; i++)
                runs.Add(runner.ExecuteAsync(SlowBindings(runner), i == 7 ? cancel.Token : CancellationToken.None));
            cancel.Cancel();
            Assert.That(runs[7].IsCanceled);
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
    public void Scenario24DeviceBusy()
    {
        using (var manager = new DeviceManager(2))
        using (Executable executable = Affine(2))
        {
            Assert.That(manager.DeviceCount, Is.EqualTo(2));
            Assert.That(manager.IpuHardwareVersion, Is.EqualTo("ipu21"));
            Device first = manager.GetSpecificDevice(0);
            Device second = manager.GetSpecificDevice(1);
            Assert.That(second.Id, Is.EqualTo(1));
            Assert.That(second.IpuVersion, Is.EqualTo(21));
            Fails(ErrorCode.Unavailable, () => manager.GetDevice());
            var config = new RuntimeConfig { Threads = 1, Device = second };
            using (var runner = new ModelRunner(executable, config))
            {
                Fails(ErrorCode.FailedPrecondition, () => new ModelRunner(executable, config));
                Fails(ErrorCode.Unavailable, () => manager.GetDevice());
                first.Dispose();
                using (Device free = manager.GetDevice()) Assert.That(free.Id, Is.EqualTo(0));
                var c = new Client(runner, 0);
                runner.Execute(c.Bindings);
                c.Check();
            }
            second.Dispose();
            Fails(ErrorCode.NotFound, () => manager.GetSpecificDevice(2));
        }
    }

    [Test]
    public void Scenario25Statistics()
    {
        using (Executable executable = Affine(2))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, EnableProfile = true }))
        using (var without = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
        {
            for (int i = 0; i < 3; i++) runner.Execute(new float[8], new float[8]);
            Assert.That(runner.Profile(), Contains.Substring("\"runs\": 3"));
            Assert.That(runner.Profile(), Contains.Substring("\"kernel\""));
            Fails(ErrorCode.FailedPrecondition, () => without.Profile());
        }
    }

    [Test]
    public void Scenario28Version()
    {
        Assert.That(Library.Version, Is.StringMatching("^[0-9]+[.][0-9]+[.][0-9]+$"));
    }

    [Test]
    public void Scenario29WaitingForADevice()
    {
        using (var manager = new DeviceManager(2))
        {
            Assert.That(manager.DeviceIds, Is.EqualTo(new long[] { 0, 1 }));
            Device first = manager.GetSpecificDevice(0);
            Device second = manager.GetSpecificDevice(1);
            Fails(ErrorCode.Unavailable, () => manager.Acquire(new DeviceRequest { Wait = TimeSpan.FromMilliseconds(1) }));
            var giver = new Thread(() =>
            {
                Thread.Sleep(50);
                second.Dispose();
            });
            giver.Start();
            using (Device got = manager.Acquire(new DeviceRequest
                { IpuVersion = 21, Wait = TimeSpan.FromSeconds(60), Sleep = TimeSpan.FromMilliseconds(20) }))
            using (Device model = manager.CreateIpuModelDevice(1, 2, 4))
            {
                Assert.That(got.Id, Is.EqualTo(1));
                Assert.That(got.NumIpus, Is.EqualTo(1));
                Assert.That(got.IsIpuModel, Is.False);
                Assert.That(model.IsIpuModel);
                Assert.That(model.TilesPerIpu, Is.EqualTo(4));
                Assert.That(model.Id, Is.EqualTo(-1));
            }
            giver.Join();
            first.Dispose();
            using (Executable executable = Affine(2))
            using (Device fits = manager.Acquire(new DeviceRequest { Executable = executable, Id = 0 }))
                Assert.That(fits.Id, Is.EqualTo(0));
        }
    }

    [Test]
    public void Scenario30Telemetry()
    {
        string empty = Path.Combine(folder, "telemetry");
        Directory.CreateDirectory(empty);
        Assert.That(Library.ReadTelemetry(empty).Trim(), Is.EqualTo("[]"));
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
    public void Scenario32AnyNumberOfRows()
    {
        using (Executable executable = Affine(4))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, BatchingDim = 0 }))
        {
            float[] x = Enumerable.Range(0, 12).Select(i => (float)i).ToArray();
            var y = new float[12];
            runner.Execute(x, y);
            Assert.That(y, Is.EqualTo(x.Select(v => 2 * v + 1)));
        }
    }

    [Test]
    public void Scenario33RunnerStatistics()
    {
        using (Executable executable = Affine(2))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, FlushOnWaitingOutputs = true }))
        {
            for (int i = 0; i < 3; i++) runner.Execute(new float[8], new float[8]);
            Assert.That(runner.Statistics().Replace(" ", ""), Contains.Substring("\"completed\":3"));
            Assert.That(runner.Tracepoints().Split(new[] { "\"compute_begin\"" }, StringSplitOptions.None).Length, Is.EqualTo(4));
        }
    }

    // -- C# alone -----------------------------------------------------------------------------

    [Test]
    public void SlicesOfMemoryAreUsedWhereTheyAre()
    {
        using (ModelRunner runner = AffineRunner())
        {
            var both = new float[20];
            for (int i = 0; i < 20; i++) both[i] = i;
            using (Bindings b = runner.CreateBindings()
                .Input("x", new ReadOnlyMemory<float>(both, 1, 8)).Output("y", new Memory<float>(both, 11, 8)))
                runner.Execute(b);
            Assert.That(both[10], Is.EqualTo(10));
            for (int i = 0; i < 8; i++) Assert.That(both[11 + i], Is.EqualTo(2 * (1 + i) + 1));
            Assert.That(both[19], Is.EqualTo(19));
        }
    }

    [Test]
    public void BindingAgainReplaces()
    {
        using (ModelRunner runner = AffineRunner())
        {
            var c = new Client(runner, 0);
            var other = new float[8];
            c.Bindings.Output("y", other);
            runner.Execute(c.Bindings);
            Assert.That(c.Y, Is.All.EqualTo(0));
            Assert.That(other[0], Is.EqualTo(1));
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

    [Test]
    public void AnExecutableInPartsIsOneModel()
    {
        string program = Path.Combine(folder, "program.popef");
        string weights = Path.Combine(folder, "weights.popef");
        using (Executable executable = Affine(2))
        {
            executable.SaveParts(program, weights);
            Assert.That(executable.WeightsBytes, Is.AtLeast(0));
            Assert.That(executable.ArenaBytes, Is.AtLeast(0));
            Assert.That(executable.Listing(), Contains.Substring("x"));
        }
        using (Executable joined = Executable.Open(new[] { weights, program }, new OpenOptions())) CheckAffine(joined);
    }

    [Test]
    public void PopefFilesDescribeThemselves()
    {
        string file = Path.Combine(folder, "described.popef");
        string npy = Path.Combine(folder, "nope.npy");
        Affine(2).Save(file);
        Assert.That(Popef.Dump(file, PopefFormat.UserAnchors), Contains.Substring("[2,4]"));
        Assert.That(Popef.Dump(file, PopefFormat.Json), Is.StringStarting("{"));
        Fails(ErrorCode.NotFound, () => Popef.ExportTensor(file, "nope", npy), "nope");
        Fails(ErrorCode.NotFound, () => Popef.ExportFeed(file, "nope", npy), "nope");
    }

    [Test]
    public void TheCompilerShowsAndConverts()
    {
        string model = Path.Combine(models, "affine.onnx");
        using (var compiler = new Compiler(new CompilerOptions { BatchSize = 3 }))
        {
            Assert.That(compiler.Show(model), Contains.Substring("x"));
            string converted = Path.Combine(folder, "converted.onnx");
            compiler.Convert(model, converted);
            Assert.That(compiler.Show(converted), Contains.Substring("[3, 4]"));
            string popef = Path.Combine(folder, "direct.popef");
            compiler.CompileToPopef(model, popef);
            using (Executable executable = Executable.Open(popef))
                Assert.That(Names(executable.Inputs), Is.EqualTo("x f32[3,4]"));
        }
        Assert.That(Compiler.ListPasses(), Contains.Substring("\n"));
        Assert.That(Compiler.ListOps(), Contains.Substring("Relu"));
    }

    [Test]
    public void OptionsAreChecked()
    {
        var unknown = new CompilerOptions();
        unknown.Passes.Add("nope");
        Fails(ErrorCode.NotFound, () => new Compiler(unknown), "nope");
        Fails(ErrorCode.InvalidArgument, () => Library.SetLogLevel("loud"), "loud");
        Fails(ErrorCode.InvalidArgument, () => new DeviceManager(-1));
        Assert.Throws<ArgumentException>(() => Library.SetLogLevel("OFF\0"));
        Assert.Throws<ArgumentNullException>(() => Library.SetLogLevel(null));
        Assert.Throws<ArgumentNullException>(() => Executable.Open((string)null));
    }
}
