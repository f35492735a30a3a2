using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>The further kinds of runners: scenarios 46 to 49.</summary>
[TestFixture]
public sealed class RunnersTest
{
    private static readonly RuntimeConfig one = new RuntimeConfig { Threads = 1 };

    [Test]
    public void Scenario46ModelFusionRunner()
    {
        using (Executable executable = Compile("fused.onnx"))
        using (var runner = new ModelFusionRunner(executable, one))
        {
            Assert.That(Names(runner.Inputs), Is.EqualTo("graph0/x f32[4] graph1/x f32[4]"));
            for (int g = 0; g < 2; g++)
            {
                string graph = "graph" + g + "/";
                var y = new float[4];
                var k = new uint[1];
                runner.Execute(runner.CreateBindings().Input(graph + "x", new float[] { 1, 2, 3, 4 })
                    .Output(graph + "y", y).Output(graph + "k", k));
                Assert.That(k[0], Is.EqualTo(g));
                Assert.That(y, Is.EqualTo(new[] { 1, 2, 3, 4 }.Select(x => (g + 2) * x)));
            }
            Bindings mixed = runner.CreateBindings().Input("graph0/x", new float[4]).Output("graph1/y", new float[4]);
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(mixed), "different graphs");
            using (Executable other = Affine(2))
                Fails(ErrorCode.FailedPrecondition, () => new ModelFusionRunner(other, one), "not a fused");
        }
    }

    [Test]
    public void Scenario61FusedModels()
    {
        using (Executable first = Affine(2))
        using (Executable second = Compile("weights.onnx"))
        using (Executable fused = Executable.Fuse(new[] { first, second }))
        using (var runner = new ModelRunner(fused, one))
        {
            Assert.That(Names(runner.Inputs), Is.EqualTo("graph0/x f32[2,4] graph1/x f32[2,4]"));
            var x = new float[,] { { 0, 1, 2, 3 }, { 4, 5, 6, 7 } };
            for (int round = 0; round < 3; round++)
            {
                var outputs = runner.Run(new Dictionary<string, Array> { { "graph0/x", x } });
                Assert.That(outputs.Keys, Is.EqualTo(new[] { "graph0/y" }));
                Assert.That(outputs["graph0/y"].ToArray<float>(),
                    Is.EqualTo(new float[,] { { 1, 3, 5, 7 }, { 9, 11, 13, 15 } }));
                Assert.That(runner.Run(new Dictionary<string, Array> { { "graph1/x", x } })["graph1/y"].ToArray<float>(),
                    Is.EqualTo(new float[,] { { 1, 3, 7, 13 }, { 5, 11, 19, 29 } }));
            }
            Fails(ErrorCode.InvalidArgument,
                () => runner.Run(new Dictionary<string, Array> { { "graph0/x", x }, { "graph1/x", x } }),
                "different graphs");
            Fails(ErrorCode.InvalidArgument, () => Executable.Fuse(new[] { fused }), "several variants");
        }
        Fails(ErrorCode.InvalidArgument, () => Executable.Fuse(new Executable[0]), "no models");
        string file = System.IO.Path.GetTempFileName();
        try
        {
            string weights = System.IO.Path.Combine(models, "weights.onnx");
            Compiler.Fuse(new[] { weights, weights }, file);
            using (var compiler = new Compiler(new CompilerOptions()))
            using (Executable both = compiler.Compile(file))
                Assert.That(Names(both.Inputs), Is.EqualTo("graph0/x f32[2,4] graph1/x f32[2,4] index u32[1]"));
        }
        finally
        {
            System.IO.File.Delete(file);
        }
    }

    [Test]
    public void Scenario62ShapeBuckets()
    {
        var options = new CompilerOptions();
        options.Options["input_shape"] = "x=1,4/4,4";
        using (var compiler = new Compiler(options))
        using (Executable executable = compiler.Compile(System.IO.Path.Combine(models, "affine.onnx")))
        using (var runner = new ModelRunner(executable, one))
        {
            for (int rows = 1; rows <= 4; rows++)
            {
                var x = new float[rows, 4];
                for (int i = 0; i < rows; i++) x[i, 0] = i;
                Tensor y = runner.Run(new Dictionary<string, Array> { { "x", x } })["y"];
                Assert.That(y.Shape, Is.EqualTo(new long[] { rows, 4 }));
                for (int i = 0; i < rows; i++) Assert.That(y.Span<float>()[4 * i], Is.EqualTo(2 * i + 1));
            }
            Fails(ErrorCode.InvalidArgument,
                () => runner.Run(new Dictionary<string, Array> { { "x", new float[5, 4] } }), "is 5", "1 to 4");
            Fails(ErrorCode.InvalidArgument,
                () => runner.Run(new Dictionary<string, Array> { { "x", new float[4, 5] } }), "'x'", "[4,5]");
            string statistics = runner.Statistics().Replace(" ", "").Replace("\n", "");
            Assert.That(statistics, Contains.Substring("\"requests\":3,\"padded\":2"));
        }
        options.MaxPadding = 0.4;
        using (var compiler = new Compiler(options))
        using (Executable executable = compiler.Compile(System.IO.Path.Combine(models, "affine.onnx")))
        using (var runner = new ModelRunner(executable, one))
        {
            Tensor y = runner.Run(new Dictionary<string, Array> { { "x", new float[2, 4] } })["y"];
            Assert.That(y.Span<float>()[7], Is.EqualTo(1));
            string statistics = runner.Statistics().Replace(" ", "").Replace("\n", "");
            Assert.That(statistics, Contains.Substring("\"requests\":1,\"padded\":0"));
        }
    }

    [Test]
    public void Scenario63SeveralIpus()
    {
        string slow = System.IO.Path.Combine(models, "slow.onnx");
        var several = new CompilerOptions();
        several.Options["compiler_options"] =
            "num_ipus=2\nvirtual_graph_mode=auto\nenable_pipelining=True\nbatches_per_step=2";
        var x = new float[512, 512];
        for (int i = 0; i < 512; i++)
            for (int j = 0; j < 512; j++) x[i, j] = (512 * i + j) % 7 / 7.0f;
        var inputs = new Dictionary<string, Array> { { "x", x } };
        using (var plain = new Compiler(new CompilerOptions()))
        using (var compiler = new Compiler(several))
        using (Executable on1 = plain.Compile(slow))
        using (Executable on2 = compiler.Compile(slow))
        using (var alone = new ModelRunner(on1, one))
        using (var runner = new ModelRunner(on2, one))
        {
            float[] expected = alone.Run(inputs)["y"].Span<float>().ToArray();
            for (int round = 0; round < 3; round++)
                Assert.That(runner.Run(inputs)["y"].Span<float>().SequenceEqual(expected));
        }
        several.Options["compiler_options"] = "num_ipus=2";
        Fails(ErrorCode.InvalidArgument, () => new Compiler(several), "virtual_graph_mode");
    }

    [Test]
    public void Scenario65PackedSequences()
    {
        var compile = new CompilerOptions();
        compile.Options["pack_args"] = "max_valid_num=4\nsegment_max_size=8";
        string path = System.IO.Path.Combine(models, "sums.onnx");
        using (var compiler = new Compiler(compile))
        using (Executable executable = compiler.Compile(path))
        using (var runner = new PackRunner(executable, new PackOptions { Timeout = TimeSpan.FromMilliseconds(5) }, one))
        {
            Assert.That(Names(executable.Inputs), Is.EqualTo("x f32[2,8] unpack_info s32[4,1]"));
            Assert.That(Names(runner.Outputs), Is.EqualTo("y f32[1,8]"));
            var lengths = new[] { 1, 3, 5, 2, 8, 4 };
            var results = new List<float[]>();
            var runs = new List<Task>();
            foreach (int n in lengths)
            {
                float[] x = Enumerable.Range(1, n).Select(v => (float)v).ToArray();
                var y = new float[8];
                results.Add(y);
                runs.Add(runner.ExecuteAsync(runner.CreateBindings().Input("x", x).Output("y", y)));
            }
            Task.WaitAll(runs.ToArray());
            for (int k = 0; k < lengths.Length; k++)
                for (int i = 0, n = lengths[k]; i < n; i++)
                    Assert.That(results[k][i], Is.EqualTo(i + 1 + n * (n + 1) / 2));
            Bindings tooLong = runner.CreateBindings().Input("x", new float[9]).Output("y", new float[9]);
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(tooLong), "longer than 8");
        }
        compile.Options["pack_args"] = "max_valid_num=4";
        Fails(ErrorCode.InvalidArgument, () => new Compiler(compile).Compile(path), "segment_max_size");
    }

    [Test]
    public void Scenario47PackRunner()
    {
        var options = new PackOptions
        {
            DynamicInput = "x", Timeout = TimeSpan.FromMilliseconds(5), MaxValidNum = 16,
            Algorithm = PackAlgorithm.FirstFit, DataAcrossRows = false, CompileBatchSize = 2
        };
        using (Executable executable = Affine(2))
        using (var runner = new PackRunner(executable, options, one))
        {
            var results = new List<float[]>();
            var runs = new List<Task>();
            for (int n = 0; n < 12; n++)
            {
                float[] x = Enumerable.Range(n, 1 + n % 4).Select(v => (float)v).ToArray();
                results.Add(new float[x.Length]);
                runs.Add(runner.ExecuteAsync(runner.CreateBindings().Input("x", x).Output("y", results[n])));
            }
            Task.WaitAll(runs.ToArray());
            for (int n = 0; n < 12; n++)
                Assert.That(results[n], Is.EqualTo(Enumerable.Range(n, 1 + n % 4).Select(v => 2f * v + 1)));
            Bindings tooLong = runner.CreateBindings().Input("x", new float[5]).Output("y", new float[5]);
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(tooLong), "longer than 4");
            options.Timeout = TimeSpan.Zero;
            Fails(ErrorCode.InvalidArgument, () => new PackRunner(executable, options, one), "timeout");
            options.Timeout = TimeSpan.FromSeconds(1);
            options.DynamicInput = "nope";
            Assert.Throws<PoprtException>(() => new PackRunner(executable, options, one));
        }
    }

    [Test]
    public void Scenario48LightRunner()
    {
        using (Executable executable = Weights())
        using (var manager = new DeviceManager())
        using (var runner = new LightRunner(executable, one))
        {
            Assert.That(Names(runner.Inputs), Is.EqualTo("x f32[2,4]"));
            Assert.That(runner.ModelInputs.Count, Is.EqualTo(3));
            for (int i = 0; i < 3; i++)
                Assert.That(runner.ModelInputHasData(i), Is.EqualTo(runner.ModelInputs[i].Name != "x"));
            float[] x = Enumerable.Range(0, 8).Select(v => (float)v).ToArray();
            var y = new float[8];
            Bindings bindings = runner.CreateBindings().Input("x", x).Output("y", y);
            runner.Execute(bindings);
            Assert.That(y, Is.EqualTo(new float[] { 1, 3, 7, 13, 5, 11, 19, 29 }));
            runner.SetInput<float>("w", new float[] { 5, 5, 5, 5 });
            runner.UpdateWeights();
            runner.Execute(bindings);
            Assert.That(y, Is.EqualTo(new float[] { 1, 6, 11, 16, 21, 26, 31, 36 }));
            Fails(ErrorCode.NotFound, () => runner.SetInput<float>("nope", x), "'nope'");
            Fails(ErrorCode.InvalidArgument, () => runner.SetInput<float>("w", x), "16");
            Fails(ErrorCode.FailedPrecondition, () => runner.SetInput<float>("x", x), "'x'");
            runner.Stop();
            Fails(ErrorCode.Cancelled, () => runner.Execute(bindings));
            List<Device> all = Enumerable.Range(0, (int)manager.DeviceCount).Select(id => manager.GetSpecificDevice(id)).ToList();
            Fails(ErrorCode.Unavailable, runner.Reload);
            all.ForEach(device => device.Dispose());
            runner.Reload();
            y[7] = 0;
            runner.Execute(bindings);
            Assert.That(y[7], Is.EqualTo(36));
        }
    }

    [Test]
    public void Scenario49HostConcatRunner()
    {
        var join = new HostConcat("x", "a", "b")
        {
            Shape = new long[] { 2, 4 }, Bytes = 32, Sizes = new long[] { 12, 20 }
        };
        using (Executable executable = Affine(2))
        {
            using (var runner = new HostConcatRunner(executable, new[] { join }, one))
            {
                var y = new float[8];
                runner.Execute(runner.CreateBindings().Input("a", new float[] { 0, 1, 2 })
                    .Input("b", new float[] { 3, 4, 5, 6, 7 }).Output("y", y));
                Assert.That(y, Is.EqualTo(new float[] { 1, 3, 5, 7, 9, 11, 13, 15 }));
            }
            Fails(ErrorCode.NotFound, () => new HostConcatRunner(executable, new HostConcat[0], one),
                "HostConcatRunnerConfig");
            Fails(ErrorCode.NotFound,
                () => new HostConcatRunner(executable, new[] { new HostConcat("z", "a", "b") }, one), "'z'");
            join.Sizes = new long[] { 32 };
            Assert.Throws<ArgumentException>(() => new HostConcatRunner(executable, new[] { join }, one));
        }
    }
}
