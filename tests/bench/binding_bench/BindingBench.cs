using System;
using System.Diagnostics;
using System.Globalization;
using Poprt;

/// <summary>BindingBench MODEL ROUNDS RUNS WHAT: nanoseconds of one execute, the fastest round, and bytes copied.
/// WHAT is bindings (memory bound once) or spans.</summary>
internal static class BindingBench
{
    private static void Main(string[] args)
    {
        int rounds = int.Parse(args[1]);
        int runs = int.Parse(args[2]);
        var x = new float[8];
        var y = new float[8];
        x[0] = 3;
        using (Executable executable = Executable.Open(args[0]))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
        using (Bindings bindings = runner.CreateBindings().Input(0, x).Output(0, y))
        {
            double best = double.MaxValue;
            for (int round = 0; round < rounds; round++)
            {
                long start = Stopwatch.GetTimestamp();
                if (args[3] == "spans")
                    for (int i = 0; i < runs; i++) runner.Execute<float, float>(x.AsSpan(), y.AsSpan());
                else
                    for (int i = 0; i < runs; i++) runner.Execute(bindings);
                double ns = (Stopwatch.GetTimestamp() - start) * 1e9 / Stopwatch.Frequency / runs;
                best = Math.Min(best, ns);
            }
            if (y[0] != 7) throw new InvalidOperationException("2 * 3 + 1 is " + y[0]);
            Console.WriteLine(best.ToString(CultureInfo.InvariantCulture) + " " + Library.BytesCopied);
        }
    }
}
