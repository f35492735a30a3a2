using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Compiling models, opening and describing executables. Scenarios of tests/bindings/README.md, then features of C# only.</summary>
[TestFixture]
public sealed class CompileTest
{
    // affine.onnx has two nodes, and each pass begins with the nodes that the pass before has left.
    private static void CheckReports(List<PassReport> reports)
    {
        Assert.That(reports, Is.Not.Empty);
        Assert.That(reports[0].NodesBefore, Is.EqualTo(2));
        long nodes = 2;
        foreach (PassReport report in reports)
        {
            Assert.That(report.Pass, Is.Not.Empty);
            Assert.That(report.Milliseconds, Is.InRange(0, 60000));
            Assert.That(report.NodesBefore == nodes || report.NodesBefore == 2, report.Pass);
            if (report.Rewrites == 0) Assert.That(report.NodesAfter, Is.EqualTo(report.NodesBefore), report.Pass);
            nodes = report.NodesAfter;
        }
        Assert.That(reports.Any(r => r.Rewrites > 0));
        Assert.That(reports.Any(r => r.NodesAfter != r.NodesBefore));
    }

    [Test]
    public void Scenario01Compile()
    {
        var progress = new List<double>();
        var passes = new List<PassReport>();
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        options.Progress = (done, what) => progress.Add(done);
        options.AfterPass = passes.Add;
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
        CheckReports(passes);
        var first = progress.Take(progress.IndexOf(1) + 1).ToList();
        Assert.That(first, Is.Ordered);
        Assert.That(progress.Last(), Is.EqualTo(1));
    }

    [Test]
    public void Scenario64Plugins()
    {
        Fails(ErrorCode.NotFound, () => Compiler.LoadPlugin("missing.so"), "missing.so");
        Fails(ErrorCode.FailedPrecondition, () => Compiler.LoadPlugin(Path.Combine(models, "affine.onnx")), "no shared library");
        Assert.That(Compiler.ListPlugins().StartsWith("[", StringComparison.Ordinal));
    }

    private static CompilerOptions AffineOptions(string option = null, string value = null)
    {
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        if (option != null) options.Options[option] = value;
        return options;
    }

    [Test]
    public void Scenario90Estimate()
    {
        string affine = Path.Combine(models, "affine.onnx");
        using (var compiler = new Compiler(AffineOptions()))
        using (Estimate e = compiler.Estimate(affine))
        {
            Assert.That(e.Cycles, Is.GreaterThan(0));
            Assert.That(e.Milliseconds, Is.EqualTo(e.Cycles / 1.5e6).Within(1e-9));
            Assert.That(e.Throughput, Is.GreaterThan(0));
            Assert.That(e.Samples, Is.EqualTo(2));
            Assert.That(e.Fits, Is.True);
            Assert.That(e.AvailableBytes, Is.EqualTo(638976));
            Assert.That(e.Target(), Is.EqualTo("c600"));
            Assert.That(e.Json().StartsWith("{\"cycles\":", StringComparison.Ordinal), Is.True);
            Assert.That(e.Report().StartsWith("Target: c600 (ipu21)", StringComparison.Ordinal), Is.True);
            Assert.That(e.Svg().StartsWith("<svg", StringComparison.Ordinal), Is.True);
            Assert.That(e.CycleQuality().StartsWith("unchecked", StringComparison.Ordinal), Is.True);
            Assert.That(e.MemoryQuality().StartsWith("checked", StringComparison.Ordinal), Is.True);
            Fails(ErrorCode.NotFound, () => compiler.Estimate(Path.Combine(models, "missing.onnx")), "missing.onnx");
        }
        using (var compiler = new Compiler(AffineOptions("estimate_target", "mk1")))
        using (Estimate e = compiler.Estimate(affine))
        {
            Assert.That(e.AvailableBytes, Is.EqualTo(262144));
            Assert.That(e.Milliseconds, Is.EqualTo(e.Cycles / 1.6e6).Within(1e-9));
        }
        Fails(ErrorCode.InvalidArgument, () => new Compiler(AffineOptions("estimate_target", "ipu9")), "ipu9");
    }

    [Test]
    public void Scenario114NumbersOfAnEstimate()
    {
        using (var compiler = new Compiler(AffineOptions()))
        using (Estimate e = compiler.Estimate(Path.Combine(models, "affine.onnx")))
        {
            string json = e.Json();
            Func<string, double> number = name => double.Parse(
                Regex.Match(json, "\"" + name + "\":([^,}]*)").Groups[1].Value, CultureInfo.InvariantCulture);
            Func<string, string> quality = name => Regex.Replace(json,
                ".*\"quality\":.*?\"" + name + "\":.\"trust\":\"(.*?)\",\"error\":\"(.*?)\".*", "$1: error $2");
            Assert.That(e.Cycles, Is.EqualTo(number("cycles")));
            Assert.That(e.Samples, Is.EqualTo(number("samples")));
            Assert.That(e.Milliseconds, Is.EqualTo(number("milliseconds")).Within(1e-12));
            Assert.That(e.PeriodMilliseconds, Is.EqualTo(number("period_milliseconds")).Within(1e-9));
            Assert.That(e.LatencyMilliseconds, Is.EqualTo(number("latency_milliseconds")).Within(1e-9));
            Assert.That(e.HostMilliseconds, Is.EqualTo(number("host_milliseconds")).Within(1e-12));
            Assert.That(e.Throughput, Is.EqualTo(number("throughput")).Within(1e-6));
            Assert.That(e.Utilization, Is.EqualTo(number("utilization")).Within(1e-15));
            Assert.That(e.TileBytes, Is.EqualTo(number("bytes_with_gaps")));
            Assert.That(e.AvailableBytes, Is.EqualTo(number("available")));
            Assert.That(e.CycleQuality(), Is.EqualTo(quality("cycles")));
            Assert.That(e.MemoryQuality(), Is.EqualTo(quality("memory")));
            Assert.That(e.HostQuality(), Is.EqualTo(quality("host")));
        }
    }

    [Test]
    public void Scenario125AnEstimateOfTheCommand()
    {
        foreach (string[] words in new[] { new[] { "affine.onnx", "mk2" }, new[] { "linear.onnx", "bow" } })
        {
            string model = Path.Combine(models, words[0]);
            var command = new System.Diagnostics.ProcessStartInfo(
                Path.Combine(Environment.GetEnvironmentVariable("POPRT_BIN"), "poprt_exec"),
                "estimate " + model + " --input_shape x=2,4 --target " + words[1] + " --verbose --json")
            {
                UseShellExecute = false, RedirectStandardOutput = true
            };
            string printed;
            using (var process = System.Diagnostics.Process.Start(command)) printed = process.StandardOutput.ReadToEnd();
            using (var compiler = new Compiler(AffineOptions("estimate_target", words[1])))
            using (Estimate e = compiler.Estimate(model))
                Assert.That(Regex.Replace(e.Json(), @"\s", ""), Is.EqualTo(Regex.Replace(printed, @"\s", "")));
        }
    }

    [Test]
    public void Scenario126NamesOfOptionsInErrors()
    {
        Fails(ErrorCode.InvalidArgument, () => new Compiler(new CompilerOptions { BatchSize = -1 }), "BatchSize is -1");
        using (Executable plain = Affine(2))
            Fails(ErrorCode.InvalidArgument, () => new ModelRunner(plain, new RuntimeConfig { QueueDepth = -1 }), "QueueDepth is -1");
        Fails(ErrorCode.InvalidArgument, () => new Compiler(AffineOptions("calibration_with_data", "1")),
            "`calibration_with_data` needs `data_preprocess`");
        Fails(ErrorCode.FailedPrecondition, () => new ModelRunner(Path.Combine(models, "affine.onnx"), config: new RuntimeConfig { BatchingDim = 0 }),
            "give InputShapes or BatchSize");
    }

    [Test]
    public void Scenario128ZeroCharacters()
    {
        string path = folder + "/zero\0b";
        using (Executable plain = Affine(2))
        {
            var calls = new System.Collections.Generic.Dictionary<string, Action>
            {
                { "path", () => plain.Save(path) },
                { "name", () => new Compiler(AffineOptions("num\0", "1")) },
                { "value", () => new Compiler(AffineOptions("num_io_tiles", "3\u00002")) },
                { "numerics", () => new ModelRunner(plain, new RuntimeConfig { Numerics = "fast\0" }) },
                { "level", () => Library.SetLogLevel("INFO\0") },
            };
            foreach (var call in calls)
                Assert.That(() => call.Value(), Throws.ArgumentException.With.Message.Contains(
                    "argument '" + call.Key + "' contains the character \\0"));
            Assert.That(() => Executable.Open(path), Throws.ArgumentException.With.Message.Contains("'path'"));
        }
        Assert.That(File.Exists(Path.Combine(folder, "zero")), Is.False);
    }

    /// <summary>Each call that compiles or converts a file raises what a callback has thrown.</summary>
    [Test]
    public void Scenario19EveryCallRaisesTheExceptionOfItsCallback()
    {
        string affine = Path.Combine(models, "affine.onnx");
        var mine = new InvalidOperationException("thrown by the test");
        CompilerOptions options = AffineOptions();
        options.AfterPass = report => { throw mine; };
        using (var compiler = new Compiler(options))
        {
            var calls = new Action[]
            {
                () => compiler.Compile(affine),
                () => compiler.CompileToPopef(affine, Path.Combine(folder, "thrown.popef")),
                () => compiler.Convert(affine, Path.Combine(folder, "thrown.onnx")),
            };
            foreach (Action call in calls)
            {
                Exception found = null;
                try { call(); }
                catch (Exception e) { found = e; }
                Assert.That(found, Is.SameAs(mine));
            }
        }
    }

    [Test]
    public void Scenario91AnEstimateInTheExecutable()
    {
        string affine = Path.Combine(models, "affine.onnx"), file = Path.Combine(folder, "estimate.popef");
        using (var compiler = new Compiler(AffineOptions("estimate", "True")))
        using (Estimate e = compiler.Estimate(affine))
        using (Executable made = compiler.Compile(affine))
        {
            string start = "{\"cycles\":" + e.Cycles + ",";
            Assert.That(made.Estimate().StartsWith(start, StringComparison.Ordinal), Is.True);
            made.Save(file);
            using (Executable opened = Executable.Open(file))
                Assert.That(opened.Estimate().StartsWith(start, StringComparison.Ordinal), Is.True);
        }
        using (Executable plain = Affine(2)) Fails(ErrorCode.NotFound, () => plain.Estimate(), "estimate");
    }

    [Test]
    public void Scenario92AClosedEstimate()
    {
        Estimate e;
        using (var compiler = new Compiler(AffineOptions())) e = compiler.Estimate(Path.Combine(models, "affine.onnx"));
        e.Dispose();
        e.Dispose();
        Closed(() => Assert.That(e.Cycles, Is.EqualTo(0)));
        Closed(() => e.Json());
    }

    private static Passes One(string name, string parameter, string value)
    {
        return new Passes().Add(name, new Dictionary<string, string> { { parameter, value } });
    }

    [Test]
    public void Scenario66Passes()
    {
        byte[] affine = File.ReadAllBytes(Path.Combine(models, "affine.onnx"));
        Passes both = One("const_batch_size", "const_batch_size", "3")
            .Add("add_checkpoints", new Dictionary<string, string> { { "names", "twice" } });
        both.Check();
        using (var compiler = new Compiler())
        using (ModelRunner runner = Runner(compiler.Compile(both.Apply(affine))))
        {
            Assert.That(Names(runner.Inputs), Is.EqualTo("x f32[3,4]"));
            Assert.That(Names(runner.Outputs), Is.EqualTo("y f32[3,4] twice f32[3,4]"));
            float[] x = Enumerable.Range(0, 12).Select(i => (float)i).ToArray(), y = new float[12], twice = new float[12];
            using (Bindings b = runner.CreateBindings().Input("x", x).Output("y", y).Output("twice", twice)) runner.Execute(b);
            Assert.That(y, Is.EqualTo(x.Select(i => 2 * i + 1)));
            Assert.That(twice, Is.EqualTo(x.Select(i => 2 * i)));
        }
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        foreach (Passes harmless in new[] { new Passes().Add("sort_graph"), new Passes() })
            using (var compiler = new Compiler(options))
            using (Executable executable = compiler.Compile(harmless.Apply(affine)))
                CheckAffine(executable);
        Fails(ErrorCode.NotFound, () => new Passes().Add("nonsense").Check(), "nonsense");
        Fails(ErrorCode.NotFound, () => new Passes().Add("nonsense").Apply(affine), "nonsense");
        Fails(ErrorCode.InvalidArgument, () => One("const_batch_size", "rows", "3").Check(), "rows", "const_batch_size");
        Fails(ErrorCode.InvalidArgument, () => One("const_batch_size", "const_batch_size", "many").Apply(affine), "many");
        Fails(ErrorCode.InvalidArgument, () => new Passes().Add("remove_outputs").Check(), "outputs");
        var none = Assert.Throws<PoprtException>(() => new Passes().Add("sort_graph").Apply(new byte[] { 1, 2, 3 }));
        Assert.That(none.Code == ErrorCode.InvalidArgument || none.Code == ErrorCode.DataLoss, none.Message);
        const string last = "replace_groupnorm_with_fast_norm";
        Assert.That(string.Join(" ", new Passes().Add(last).Sorted()), Is.EqualTo("layer_norm_pattern " + last));
        Assert.That(Passes.List(), Contains.Substring("\"const_batch_size\""));
    }

    [Test]
    public void Scenario74OptionsByName()
    {
        var options = new CompilerOptions();
        options.Options["input_shape"] = "x=2,4";
        options.Options["num_io_tiles"] = "32";
        string affine = Path.Combine(models, "affine.onnx");
        using (var compiler = new Compiler(options))
        using (Executable executable = compiler.Compile(affine))
        using (PopefModel model = executable.PopefModel())
        {
            Assert.That(string.Join(" ", model.UserInputs), Is.EqualTo("x f32[2,4]"));
            Assert.That(model.Metadata.EngineOptions, Contains.Item(new KeyValuePair<string, string>("num_io_tiles", "32")));
            Assert.That(compiler.IoStatistics(affine), Contains.Substring("inputs: 1"));
        }
        Assert.That(Compiler.ListOptions(), Contains.Substring("num_io_tiles"));
        var nonsense = new CompilerOptions();
        nonsense.Options["nonsense"] = "1";
        Fails(ErrorCode.InvalidArgument, () => new Compiler(nonsense), "nonsense");
        var missing = new CompilerOptions();
        missing.Options["compiler_options"] = "virtual_graph_mode=executionPhases";
        Fails(ErrorCode.Unimplemented, () => new Compiler(missing), "virtual_graph_mode");
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
    public void Scenario11MissingFile()
    {
        Fails(ErrorCode.NotFound, () => Executable.Open(Path.Combine(folder, "missing.popef")), "missing.popef");
        using (var compiler = new Compiler())
            Fails(ErrorCode.NotFound, () => compiler.Compile(Path.Combine(folder, "missing.onnx")), "missing.onnx");
    }

    [Test]
    public void Scenario12NoPopef()
    {
        Fails(ErrorCode.InvalidArgument, () => Executable.Open(Path.Combine(models, "affine.onnx")));
    }

    [Test]
    public void Scenario13UnsupportedOperator()
    {
        Fails(ErrorCode.Unimplemented, () => Compile("unknown_op.onnx"), "Frobnicate");
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

    [Test]
    public void Scenario55InputLengths()
    {
        string model = Path.Combine(models, "sequence.onnx");
        var options = new CompilerOptions { BatchSize = 2 };
        using (var compiler = new Compiler(options))
            Fails(ErrorCode.InvalidArgument, () => compiler.Compile(model), "'s' is a sequence");
        options.InputLengths["s"] = 2;
        using (var compiler = new Compiler(options))
        using (ModelRunner runner = Runner(compiler.Compile(model)))
        {
            Assert.That(Names(runner.Inputs), Is.EqualTo("s[0] f32[2,3] s[1] f32[2,3]"));
            Assert.That(Names(runner.Outputs), Is.EqualTo("y f32[4,3]"));
            var y = new float[12];
            runner.Execute(runner.CreateBindings().Input("s[0]", new float[] { 0, 1, 2, 3, 4, 5 })
                .Input("s[1]", new float[] { 6, 7, 8, 9, 10, 11 }).Output("y", y));
            Assert.That(y, Is.EqualTo(Enumerable.Range(0, 12).Select(i => (float)i)));
        }
        options.InputLengths["s"] = -1;
        Fails(ErrorCode.InvalidArgument, () => new Compiler(options), "'s'", "-1");
    }

    [Test]
    public void Scenario56OpaqueBlobs()
    {
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        options.OpaqueBlobs["notes"] = new byte[] { 97, 0, 98 };
        string file = Path.Combine(folder, "notes.popef");
        PopefModel model;
        using (var compiler = new Compiler(options))
        using (Executable compiled = compiler.Compile(Path.Combine(models, "affine.onnx")))
        {
            model = compiled.PopefModel();
            compiled.Save(file);
        }
        CheckNotes(model.Blobs(PopefBlobType.Opaque), model.Executable.Name);
        using (PopefReader reader = PopefReader.Open(file))
            CheckNotes(reader.Blobs(PopefBlobType.Opaque), model.Executable.Name);
        using (Executable opened = Executable.Open(model))
        {
            model.Dispose();
            Closed(() => Executable.Open(model));
            CheckAffine(opened);
            using (var session = new Session(opened, new SessionOptions { Threads = 1 }))
            using (PopefModel same = session.PopefModel())
                CheckNotes(same.Blobs(PopefBlobType.Opaque), "affine");
            opened.Dispose();
            Closed(() => opened.PopefModel());
        }
        options.OpaqueBlobs[""] = new byte[0];
        Fails(ErrorCode.InvalidArgument, () => new Compiler(options), "name");
        options.OpaqueBlobs.Clear();
        options.EmbedSource = true;
        string onnx = Path.Combine(models, "affine.onnx");
        using (var compiler = new Compiler(options))
        using (Executable compiled = compiler.Compile(onnx))
        using (PopefModel embedded = compiled.PopefModel())
        {
            PopefBlob source = embedded.Blobs(PopefBlobType.Opaque).Single(b => b.Name != "poprt.rows");
            Assert.AreEqual("poprt.source", source.Name);
            Assert.AreEqual(File.ReadAllBytes(onnx), source.ToArray());
        }
    }

    private static void CheckNotes(IReadOnlyList<PopefBlob> blobs, string executable)
    {
        Assert.That(blobs.Select(b => b.Name), Is.EqualTo(new[] { "notes", "poprt.rows" }));
        Assert.That(blobs[0].Executable, Is.EqualTo(executable));
        Assert.That(blobs[0].ToArray(), Is.EqualTo(new byte[] { 97, 0, 98 }));
    }
}
