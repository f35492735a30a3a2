using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Poprt;

/// <summary>The chapters of docs/languages/csharp.md. Runs in a folder with digits.onnx and language_model/.</summary>
internal static class Guide
{
    private static Dictionary<string, Array> Images(int rows)
    {
        return new Dictionary<string, Array> { { "image", new float[rows, 1, 8, 8] } };
    }

    // [load]
    private static void Load()
    {
        using (var runner = new ModelRunner("digits.onnx")) // each shape is compiled when it first arrives
        {
            foreach (Anchor anchor in runner.Inputs.Concat(runner.Outputs)) Console.WriteLine("load: " + anchor.Name);
        }
        using (var compiler = new Compiler(new CompilerOptions { BatchSize = 8 }))
        using (Executable executable = compiler.Compile("digits.onnx")) executable.Save("digits.popef"); // ahead of time
        Executable.Open("digits.popef").Dispose(); // maps the file and compiles nothing
    }

    // [run]
    private static void Run(ModelRunner runner)
    {
        var inputs = new Dictionary<string, Array> { { "image", new float[1, 1, 8, 8] } };
        Tensor scores = runner.Run(inputs)["scores"]; // allocates the results
        Console.WriteLine("run: " + string.Join(" ", scores.Shape));
        ReadOnlySpan<float> values = scores.Span<float>(); // not a copy
        if (values.Length != 10) throw new InvalidOperationException();
    }

    // [async]
    private static async Task Async()
    {
        using (var compiler = new Compiler(new CompilerOptions { BatchSize = 1 }))
        using (Executable executable = compiler.Compile("digits.onnx"))
        using (var runner = new ModelRunner(executable))
        using (Bindings memory = runner.CreateBindings().Input("image", new float[64]).Output("scores", new float[10]))
        {
            await runner.ExecuteAsync(memory); // throws the error of the run; takes a CancellationToken
            Console.WriteLine("async: 1");
        }
    }

    // [batch]
    private static void Batch()
    {
        var config = new RuntimeConfig
        {
            BatchingDim = 0,
            IsBatchSizeTimeoutEnabled = true,
            BatchSizeTimeout = TimeSpan.FromMilliseconds(1), // requests that arrive within 1 ms share a run
        };
        using (Executable executable = Executable.Open("digits.popef")) // compiled for 8 rows
        using (var runner = new ModelRunner(executable, config))
        {
            Tensor scores = runner.Run(Images(20))["scores"]; // three runs of 8 rows, the last one padded
            Console.WriteLine("batch: " + string.Join(" ", scores.Shape));
        }
    }

    // [shapes]
    private static void Shapes(ModelRunner runner)
    {
        runner.WarmUp("image=2,1,8,8/4,1,8,8"); // compiles before the first request

        var options = new CompilerOptions();
        foreach (long rows in new[] { 1, 4 }) // both in one executable
            options.ShapeSets.Add(new Dictionary<string, long[]> { { "image", new[] { rows, 1, 8, 8 } } });
        using (var compiler = new Compiler(options))
        using (Executable executable = compiler.Compile("digits.onnx"))
        using (var several = new ModelRunner(executable))
        {
            Tensor scores = several.Run(Images(3))["scores"]; // a request is padded to the next shape
            Console.WriteLine("shapes: " + string.Join(" ", scores.Shape));
        }
    }

    // [state]
    private static void State()
    {
        var options = new GeneratorOptions { Slots = 2 }; // the caches of two sequences are on the device
        using (var generator = new Generator("language_model", options))
        using (Sequence text = generator.NewSequence(6, 42, 26))
        {
            text.SetOption("max_new_tokens", 8);
            text.SetOption("ignore_stop", 1);
            text.Start();
            Console.WriteLine("state: " + string.Join(" ", text.ReadAll()));
        }
    }

    // [serve]
    private static void Serve(ModelRunner runner)
    {
        // Any number of threads may share a runner.
        Task[] clients = Enumerable.Range(0, 40).Select(_ => Task.Run(() => runner.Run(Images(1)))).ToArray<Task>();
        Task.WaitAll(clients);
        Console.WriteLine("serve: " + clients.Length);
        Console.WriteLine(runner.Counters().LatencyP99 + " at the 99th percentile");
    }

    // [errors]
    private static void Errors()
    {
        try
        {
            new ModelRunner("missing.onnx").Dispose();
        }
        catch (PoprtException error) when (error.Code == ErrorCode.NotFound) // the codes are those of gRPC
        {
            Console.WriteLine("errors: " + error.Message);
        }
    }

    // [end]
    private static void Main()
    {
        Load();
        using (var runner = new ModelRunner("digits.onnx"))
        {
            Run(runner);
            Async().Wait();
            Batch();
            Shapes(runner);
            State();
            Serve(runner);
        }
        Errors();
    }
}
