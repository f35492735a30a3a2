using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Synchronous runs: names, sizes, types, memory. Scenarios of tests/bindings/README.md, then features of C# only.</summary>
[TestFixture]
public sealed class RunTest
{
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
    public void RunMakesOutputsForAnyNumberOfRows()
    {
        using (ModelRunner runner = AffineRunner())
        {
            Tensor y = runner.Run(Named("x", new float[,] { { 0, 1, 2, 3 }, { 4, 5, 6, 7 } }))["y"];
            Assert.That(y.ToArray<float>(), Is.EqualTo(new float[,] { { 1, 3, 5, 7 }, { 9, 11, 13, 15 } }));
            Assert.That(y.ToString(), Is.EqualTo("y f32[2,4]"));
            Tensor more = runner.Run(Named("x", new float[6, 4]))["y"];
            Assert.That(more.Shape, Is.EqualTo(new long[] { 6, 4 }));
            Assert.That(more.Span<float>().ToArray(), Is.All.EqualTo(1));
            Assert.Throws<PoprtException>(() => more.ToArray<int>());
            Array bytes = y.ToArray<byte>(); // the bytes of each element
            Assert.That(bytes.Rank, Is.EqualTo(3));
            Assert.That(bytes.GetLength(2), Is.EqualTo(4));
            Assert.That(bytes.Cast<byte>(), Is.EqualTo(y.Span<byte>().ToArray()));
            var outputs = new float[8];
            runner.Execute(Named("x", new float[8]), Named("y", outputs));
            Assert.That(outputs, Is.All.EqualTo(1));
            Assert.Throws<ArgumentException>(() => runner.Execute(Named("x", new float[2, 4]), Named("y", outputs)));
            Assert.That(() => runner.Run(Named("x", new string[2, 4])), Throws.ArgumentException.With.Message.StartsWith(
                "input 'x': expected an array of numbers, given String elements"));
        }
    }

    [Test]
    public void BindingsMayBeDisposedOfDuringRuns()
    {
        using (ModelRunner runner = AffineRunner())
        {
            for (int round = 0; round < 200; round++)
            {
                var client = new Client(runner, round);
                using (var begun = new ManualResetEventSlim())
                {
                    var thread = new Thread(() =>
                    {
                        begun.Set();
                        try
                        {
                            while (true) runner.Execute(client.Bindings);
                        }
                        catch (ObjectDisposedException)
                        {
                            // A later run.
                        }
                    });
                    thread.Start();
                    begun.Wait();
                    client.Bindings.Dispose();
                    thread.Join();
                }
            }
        }
    }

    [Test]
    public void TimesMayBeInfinite()
    {
        using (ModelRunner runner = AffineRunner())
        {
            var client = new Client(runner, 3);
            var options = new RequestOptions { Timeout = Timeout.InfiniteTimeSpan };
            runner.ExecuteAsync(client.Bindings, CancellationToken.None, options).Wait();
            client.Check();
            client.Bindings.Dispose();
        }
        using (Executable executable = Affine(2))
        using (var session = new Session(executable, new SessionOptions { DeviceWaitTimeout = Timeout.InfiniteTimeSpan }))
        {
            session.CreateQueueManager(new QueueOptions { Timeout = Timeout.InfiniteTimeSpan, OnTimeout = queue => { } });
            Assert.That(session.IsLoaded);
        }
        using (var manager = new DeviceManager())
        using (Device device = manager.Acquire(new DeviceRequest { Wait = TimeSpan.MaxValue, Sleep = TimeSpan.MaxValue }))
            Assert.That(device.NumIpus, Is.EqualTo(1));
    }

    [Test]
    public void PassesRefuseAnEmptyModel()
    {
        Assert.Throws<PoprtException>(() => new Passes().Apply(new byte[0].AsSpan()));
    }

    [Test]
    public void NullArraysAreRefused()
    {
        using (ModelRunner runner = AffineRunner())
        using (Bindings b = runner.CreateBindings())
        {
            Assert.Throws<ArgumentNullException>(() => b.Input("x", (float[])null));
            Assert.Throws<ArgumentNullException>(() => b.Input(0, (float[])null));
            Assert.Throws<ArgumentNullException>(() => b.Output("y", (float[])null));
            Assert.Throws<ArgumentNullException>(() => b.Output(0, (float[])null));
        }
    }

    [Test]
    public void RunCropsWhatIsPadded()
    {
        using (var runner = new ModelRunner(Path("../../data/cli/nonzero.onnx")))
        {
            var outputs = runner.Run(Named("x", new float[,] { { 0, 1, 0 }, { 0, 0, 2 } }));
            Assert.That(outputs.Keys, Is.EqualTo(new[] { "at" }));
            Assert.That(outputs["at"].ToArray<long>(), Is.EqualTo(new long[,] { { 0, 1 }, { 1, 2 } }));
            Assert.That(runner.Run(Named("x", new float[2, 3]))["at"].Shape, Is.EqualTo(new long[] { 2, 0 }));
        }
    }

    [Test]
    public void RunChecksTypesAndShapesByName()
    {
        using (ModelRunner runner = AffineRunner())
        {
            foreach (var wrong in new Dictionary<Array, string> {
                { new float[4, 2], "input 'x': expected f32[2,4], given f32[4,2]" },
                { new double[2, 4], "input 'x': expected f32[2,4], given f64[2,4]" },
                { new float[8], "input 'x': expected f32[2,4], given f32[8]" } })
            {
                var error = Assert.Throws<PoprtException>(() => runner.Run(Named("x", wrong.Key)));
                Assert.That(error.Message, Is.EqualTo(wrong.Value));
            }
        }
    }

    [Test]
    public void AModelIsLoadedByItsPath()
    {
        using (var runner = new ModelRunner(Path("lookup.onnx")))
        {
            var outputs = runner.Run(new Dictionary<string, Array> {
                { "table", new float[,] { { 0, 1 }, { 2, 3 }, { 4, 5 } } }, { "ids", new long[] { 2, 0, 1, 2 } } });
            Assert.That(outputs["next"].ToArray<long>(), Is.EqualTo(new long[] { 3, 1, 2, 3 }));
            Assert.That(outputs["rows"].Span<float>()[7], Is.EqualTo(5));
        }
        var error = Assert.Throws<PoprtException>(
            () => Executable.Load(Path("affine.onnx"), new CompilerOptions { Shapes = "fixed" }));
        StringAssert.Contains("give InputShapes x=... or BatchSize", error.Message);
        string digits = Path("../../../examples/digits/digits.onnx");
        using (Executable e = Executable.Load(digits, new CompilerOptions { BatchSize = 1 }))
            Assert.That(e.Metadata.ContainsKey("producer_name"));
    }

    private static string Path(string name)
    {
        return System.IO.Path.Combine(models, name);
    }

    private static Dictionary<string, Array> Named(string name, Array value)
    {
        return new Dictionary<string, Array> { { name, value } };
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

    private static Executable Named(string model, string option, string value)
    {
        var options = new CompilerOptions();
        options.Options[option] = value;
        using (var compiler = new Compiler(options)) return compiler.Compile(Path(model));
    }

    private static float[] Look(ModelRunner runner, long last)
    {
        var rows = new float[8];
        using (Bindings b = runner.CreateBindings()
            .Input("table", new float[] { 0, 1, 2, 3, 4, 5 }).Input("ids", new long[] { 2, 0, 1, last })
            .Output("rows", rows).Output("next", new long[4]))
            runner.Execute(b);
        return rows;
    }

    private static long[] Count(ModelRunner runner, long n)
    {
        var numbers = new long[4];
        var shape = new long[1];
        using (Bindings b = runner.CreateBindings().Input("n", new long[] { n }).Output("y", numbers).Output("y:shape", shape))
            runner.Execute(b);
        Array.Resize(ref numbers, (int)shape[0]);
        return numbers;
    }

    [Test]
    public void Scenario72NumbersOutsideTheirRange()
    {
        using (ModelRunner runner = Runner(Compile("lookup.onnx")))
        {
            Fails(ErrorCode.OutOfRange, () => Look(runner, 3), "index 3");
            Assert.That(Look(runner, 2), Is.EqualTo(new float[] { 4, 5, 0, 1, 2, 3, 4, 5 }));
        }
        using (ModelRunner runner = Runner(Named("lookup.onnx", "out_of_range", "zero")))
            Assert.That(Look(runner, 3), Is.EqualTo(new float[] { 4, 5, 0, 1, 2, 3, 0, 0 }));
        using (ModelRunner runner = Runner(Compile("endless.onnx")))
        using (Bindings b = runner.CreateBindings().Input("x", new float[1]).Output("y", new float[1]))
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(b), "turns");
        using (ModelRunner runner = Runner(Named("range.onnx", "max_size", "n=4")))
        {
            Assert.That(Count(runner, 3), Is.EqualTo(new long[] { 0, 1, 2 }));
            Fails(ErrorCode.OutOfRange, () => Count(runner, 5), "max_size");
        }
    }

    [Test]
    public void Scenario70PositionsByName()
    {
        using (ModelRunner runner = Runner(Compile("lookup.onnx")))
        {
            Assert.That(runner.InputIndex("table"), Is.EqualTo(0));
            Assert.That(runner.InputIndex("ids"), Is.EqualTo(1));
            Assert.That(runner.OutputIndex("rows"), Is.EqualTo(0));
            Assert.That(runner.OutputIndex("next"), Is.EqualTo(1));
            Fails(ErrorCode.NotFound, () => runner.InputIndex("nope"), "nope", "table");
        }
    }

    [Test]
    public void Scenario71BatchingRefusal()
    {
        using (Executable executable = Compile("softmax.onnx", "x", 2, 4))
        {
            Assert.That(executable.BatchingRefusal(0), Is.EqualTo(""));
            Assert.That(executable.BatchingRefusal(1).Contains("Softmax"), Is.True);
            Fails(ErrorCode.InvalidArgument, () => executable.BatchingRefusal(2), "[2,4]");
        }
    }

    [Test]
    public void Scenario69OptionsOfARequest()
    {
        var config = new RuntimeConfig { ReplicationFactor = 2, BatchesPerStep = 4, Timeout = Timeout.InfiniteTimeSpan };
        using (Executable executable = Affine(2))
        using (var runner = new ModelRunner(executable, config))
        {
            var client = new Client(runner, 0);
            Func<RequestOptions, System.Threading.Tasks.Task> submit =
                options => runner.ExecuteAsync(client.Bindings, CancellationToken.None, options);
            submit(new RequestOptions { AtOnce = true, Replica = 1 }).Wait();
            client.Check();
            Assert.That(runner.Counters(1).Completed, Is.EqualTo(1));
            Fails(ErrorCode.DeadlineExceeded,
                () => submit(new RequestOptions { Timeout = TimeSpan.FromMilliseconds(5) }).GetAwaiter().GetResult());
            Fails(ErrorCode.NotFound, () => submit(new RequestOptions { Replica = 2 }), "no replica 2");
            Assert.Throws<ArgumentOutOfRangeException>(() => submit(new RequestOptions { Replica = -1 }));
            client.Bindings.Replica(2); // the replica of the options has priority
            submit(new RequestOptions { AtOnce = true, Replica = 0 }).Wait();
            Assert.That(runner.Counters(0).Completed, Is.EqualTo(1));
        }
    }

    [Test]
    public void Scenario68ReplicasWithCaches()
    {
        string shared = System.IO.Path.Combine(folder, "devices");
        System.IO.Directory.CreateDirectory(shared);
        var step = new int[1];
        var x = new float[1];
        var y = new float[3];
        using (Executable executable = Compile("cache.onnx"))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { ReplicationFactor = 2, SharedDevices = shared }))
        using (var manager = new DeviceManager(2, "", shared))
        using (Bindings bindings = runner.CreateBindings().Input("step", step).Input("x", x).Output("y", y))
        {
            Fails(ErrorCode.Unavailable, () => manager.GetDevice(1), "busy");
            for (int at = 0; at < 4; at++)
                for (int replica = 0; replica < 2; replica++)
                {
                    step[0] = at;
                    x[0] = 10 * replica + at + 1;
                    bindings.Replica(replica);
                    if (at % 2 == 0) runner.Execute(bindings);
                    else runner.ExecuteAsync(bindings).Wait();
                    for (int i = 0; i < 3; i++) Assert.That(y[i], Is.EqualTo(i > at ? 0 : x[0] - i));
                }
            bindings.Replica(2);
            Fails(ErrorCode.NotFound, () => runner.Execute(bindings), "no replica 2");
            Assert.Throws<System.ArgumentOutOfRangeException>(() => bindings.Replica(-1));
        }
    }

    [Test]
    public void Scenario73DamagedAndTruncatedFile()
    {
        string file = System.IO.Path.Combine(folder, "weights.popef");
        using (Executable executable = Compile("weights.onnx")) executable.Save(file);
        byte[] data = System.IO.File.ReadAllBytes(file);
        using (Executable executable = Executable.Open(file))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Load = "copy" }))
        {
            using (var stream = new System.IO.FileStream(file, System.IO.FileMode.Open)) stream.SetLength(0);
            var y = new float[8];
            runner.Execute(new float[] { 0, 1, 2, 3, 4, 5, 6, 7 }, y);
            Assert.That(y, Is.EqualTo(new float[] { 1, 3, 7, 13, 5, 11, 19, 29 }));
        }
        var weights = new byte[] { 0, 0, 64, 64, 0, 0, 128, 64 };
        int at = 0;
        while (!data.Skip(at).Take(8).SequenceEqual(weights)) at++;
        data[at] ^= 1;
        System.IO.File.WriteAllBytes(file, data);
        using (Executable executable = Executable.Open(file))
        {
            new ModelRunner(executable, new RuntimeConfig()).Dispose();
            Fails(ErrorCode.DataLoss, () => new ModelRunner(executable, new RuntimeConfig { Verify = true }), file, "'weights'",
                "is damaged");
            Fails(ErrorCode.DataLoss, () => Popef.Dump(file, PopefFormat.Verify), "is damaged");
            Fails(ErrorCode.InvalidArgument, () => new ModelRunner(executable, new RuntimeConfig { Load = "slow" }), "slow");
        }
    }

    [Test]
    public void Scenario93PrecisionOfARunner()
    {
        const float exact = 1 + 1f / 1024 + 1f / 4096;
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        using (var compiler = new Compiler(options))
        using (Executable linear = compiler.Compile(System.IO.Path.Combine(models, "linear.onnx")))
        {
            var factors = new Dictionary<string, float>
                { { "", exact }, { "f32", exact }, { "auto", exact }, { "f16", 1 + 1f / 1024 }, { "bf16", 1 } };
            foreach (KeyValuePair<string, float> f in factors)
                using (var runner = new ModelRunner(linear, new RuntimeConfig { ExecutionPrecision = f.Key, Load = "copy" }))
                {
                    var y = new float[8];
                    runner.Execute(new float[] { 0, 1, 2, 3, 4, 5, 6, 7 }, y);
                    for (int i = 0; i < 8; i++) Assert.That(y[i], Is.EqualTo(i * f.Value), f.Key);
                }
            Fails(ErrorCode.InvalidArgument, () => new ModelRunner(linear, new RuntimeConfig { ExecutionPrecision = "int8" }), "int8");
        }
    }

    [Test]
    public void Scenario67FaithfulNumerics()
    {
        string file = System.IO.Path.Combine(folder, "half.popef");
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        options.Options["numerics"] = "faithful";
        using (var compiler = new Compiler(options))
        using (Executable executable = compiler.Compile(System.IO.Path.Combine(models, "half.onnx"))) executable.Save(file);
        foreach (string numerics in new[] { "faithful", "saturating" })
            using (Executable executable = Executable.Open(file))
            using (var runner = new ModelRunner(executable, new RuntimeConfig { Numerics = numerics }))
            {
                var x = new ushort[8];
                var y = new ushort[8];
                var results = new float[8];
                Float16.Convert(new float[] { 0, 1, 2, 3, 4, 5, 6, 40000 }, x);
                runner.Execute(x, y);
                Float16.Convert(y, results);
                for (int i = 0; i < 7; i++) Assert.That(results[i], Is.EqualTo(2 * i + 1));
                if (numerics == "faithful") Assert.That(float.IsNaN(results[7]));
                else Assert.That(results[7], Is.EqualTo(65504));
            }
        using (Executable affine = Affine(2))
        using (Executable half = Executable.Open(file))
        {
            Fails(ErrorCode.FailedPrecondition, () => new ModelRunner(affine, new RuntimeConfig { Numerics = "faithful" }),
                "numerics=faithful");
            Fails(ErrorCode.InvalidArgument, () => new ModelRunner(half, new RuntimeConfig { Numerics = "slow" }), "slow");
            Fails(ErrorCode.InvalidArgument,
                () => new ModelRunner(half, new RuntimeConfig { Numerics = "faithful", ReplicationFactor = 2 }),
                "ReplicationFactor");
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

    private static ModelRunner OnDemand(CompilerOptions options, RuntimeConfig config = null,
        string model = "affine.onnx")
    {
        options.CachePath = System.IO.Path.Combine(folder, Guid.NewGuid().ToString());
        options.EnableEngineCaching = true;
        config = config ?? new RuntimeConfig();
        config.Threads = 1;
        using (Executable executable = Executable.Load(Path(model), options))
            return new ModelRunner(executable, config);
    }

    [Test]
    public void InputsMayHaveSeveralVariableDimensionsOrNone()
    {
        using (ModelRunner runner = OnDemand(new CompilerOptions(), null, "scaled.onnx"))
        {
            var x = new float[,] { { 1, 2, 3 }, { 4, 5, 6 } };
            Tensor y = runner.Run(new Dictionary<string, Array> { { "x", x }, { "s", new float[] { 3 } } })["y"];
            Assert.That(y.Shape, Is.EqualTo(new long[] { 2, 3 }));
            Assert.That(y.Span<float>().ToArray(), Is.EqualTo(new float[] { 3, 6, 9, 12, 15, 18 }));
            Fails(ErrorCode.InvalidArgument,
                () => runner.Run(new Dictionary<string, Array> { { "x", x }, { "s", new float[] { 3, 4 } } }), "s");
        }
    }

    [Test]
    public void RefusedInputsAreReleased()
    {
        using (ModelRunner runner = AffineRunner())
        {
            var large = new float[1024, 1024];
            Action refused = () => Assert.Catch(() => runner.Run(new[]
                { new KeyValuePair<string, Array>(null, large) }));
            refused();
            long before = GC.GetTotalMemory(true);
            for (int i = 0; i < 50; i++) refused();
            Assert.That(GC.GetTotalMemory(true) - before, Is.LessThan(20 * 4 * 1024 * 1024));
        }
    }

    private static void CheckRows(ModelRunner runner, int rows)
    {
        var x = new float[rows, 4];
        for (int i = 0; i < 4 * rows; i++) x[i / 4, i % 4] = i;
        float[] wanted = Enumerable.Range(0, 4 * rows).Select(i => 2f * i + 1).ToArray();
        var y = runner.Run(Named("x", x))["y"];
        Assert.That(y.Span<float>().ToArray(), Is.EqualTo(wanted));
        var into = new float[4 * rows];
        runner.Execute(Enumerable.Range(0, 4 * rows).Select(i => (float)i).ToArray(), into);
        Assert.That(into, Is.EqualTo(wanted));
    }

    [Test]
    public void Scenario80AnyShape()
    {
        using (ModelRunner runner = OnDemand(new CompilerOptions()))
        {
            foreach (int rows in new[] { 3, 1, 3 }) CheckRows(runner, rows);
            Fails(ErrorCode.InvalidArgument, () => runner.Run(Named("x", new float[3, 5])), "x", "[3,5]");
        }
    }

    [Test]
    public void Scenario129AnInputIsMissing()
    {
        using (ModelRunner any = OnDemand(new CompilerOptions()), settled = AffineRunner())
            foreach (ModelRunner runner in new[] { any, settled })
                Fails(ErrorCode.InvalidArgument, () => runner.Run(new Dictionary<string, Array>()), "input 'x' is missing");
    }

    [Test]
    public void Scenario81BatchCompiledAhead()
    {
        using (ModelRunner runner = OnDemand(new CompilerOptions { BatchSize = 2 }))
            foreach (int rows in new[] { 2, 5, 1 }) CheckRows(runner, rows);
    }

    [Test]
    public void Scenario82WarmUp()
    {
        using (ModelRunner runner = OnDemand(new CompilerOptions()), settled = AffineRunner())
        {
            runner.WarmUp(new Dictionary<string, long[]> { { "x", new long[] { 2, 4 } } });
            runner.WarmUp("x=8,4/9,4");
            StringAssert.Contains("\"compiled\": 3", runner.Statistics());
            Fails(ErrorCode.NotFound,
                () => runner.WarmUp(new Dictionary<string, long[]> { { "z", new long[] { 2, 4 } } }), "z");
            Fails(ErrorCode.Unimplemented, () => settled.WarmUp("x=2,4"), "fixed");
        }
    }

    [Test]
    public void Scenario112OpenDimensions()
    {
        using (ModelRunner runner = OnDemand(new CompilerOptions { BatchSize = 2 }), settled = AffineRunner())
        {
            StringAssert.Contains("\"on_demand\": true", runner.OpenDimensions());
            StringAssert.Contains("\"N\"", runner.OpenDimensions());
            StringAssert.Contains("\"on_demand\": false", settled.OpenDimensions());
            StringAssert.DoesNotContain("\"N\"", settled.OpenDimensions());
        }
    }

    [Test]
    public void Scenario100APopefFileAtAnyShape()
    {
        string file = System.IO.Path.Combine(folder, "source.popef");
        Func<bool, Precision, Executable> load = (source, precision) =>
        {
            var made = new CompilerOptions { EmbedSource = source };
            made.InputShapes["x"] = new long[] { 2, 4 };
            using (var compiler = new Compiler(made)) compiler.CompileToPopef(Path("affine.onnx"), file);
            var options = new CompilerOptions { Shapes = "on_demand", Precision = precision };
            options.CachePath = System.IO.Path.Combine(folder, Guid.NewGuid().ToString());
            options.EnableEngineCaching = true;
            return Executable.Load(file, options);
        };
        using (Executable executable = load(true, Precision.Keep))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
            foreach (int rows in new[] { 3, 2, 1, 3 }) CheckRows(runner, rows);
        Fails(ErrorCode.InvalidArgument, () => load(true, Precision.Fp16), "precision");
        Fails(ErrorCode.FailedPrecondition, () => load(false, Precision.Keep), "EmbedSource");
    }

    [Test]
    public void Scenario83ShapeSets()
    {
        var options = new CompilerOptions();
        foreach (long rows in new[] { 1L, 4L })
            options.ShapeSets.Add(new Dictionary<string, long[]> { { "x", new[] { rows, 4 } } });
        using (var compiler = new Compiler(options))
        using (Executable executable = compiler.Compile(Path("affine.onnx")))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
        {
            foreach (int rows in new[] { 3, 1, 4 }) CheckRows(runner, rows);
            Fails(ErrorCode.InvalidArgument, () => CheckRows(runner, 5), "5");
        }
    }

    [Test]
    public void Scenario84ShapesAreRemoved()
    {
        using (ModelRunner runner = OnDemand(new CompilerOptions(), new RuntimeConfig { MaxShapes = 1 }))
        {
            foreach (int rows in new[] { 1, 2, 3, 4 }) CheckRows(runner, rows);
            StringAssert.Contains("\"removed\": 3", runner.Statistics());
        }
    }

    [Test]
    public void Scenario123MemoryOfShapes()
    {
        using (ModelRunner runner = OnDemand(new CompilerOptions(), new RuntimeConfig { MaxShapeMemory = 4096 }))
        {
            CheckRows(runner, 3);
            Fails(ErrorCode.InvalidArgument, () => CheckRows(runner, 1000), "32000 bytes", "4096");
            CheckRows(runner, 3);
        }
    }

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
}
