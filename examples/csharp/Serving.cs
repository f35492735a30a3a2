using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Poprt;

/// <summary>Serves several clients at once. Each keeps some requests in flight. Serving MODEL.onnx</summary>
internal static class Serving
{
    private const int Clients = 4, Requests = 50, InFlight = 3;

    private static float[] ImageOf(int k)
    {
        return Enumerable.Range(0, 64).Select(i => i * (k + 3) % 17 / 16f).ToArray();
    }

    /// <summary>Returns whether the answer is correct.</summary>
    private static async Task<bool> Ask(ModelRunner runner, int k, float[] expected, SemaphoreSlim limit)
    {
        var scores = new float[10];
        using (Bindings memory = runner.CreateBindings().Input("image", ImageOf(k)).Output("scores", scores))
        {
            // ExecuteAsync never waits: requests beyond the runner's queue (RuntimeConfig.QueueDepth, by default at
            // least 64) wait in a list without limit. The caller must limit them, as here.
            await limit.WaitAsync();
            try
            {
                await runner.ExecuteAsync(memory);
            }
            finally
            {
                limit.Release();
            }
        }
        return scores.SequenceEqual(expected);
    }

    private static async Task<int> Client(ModelRunner runner, int number, float[][] expected)
    {
        using (var limit = new SemaphoreSlim(InFlight))
        {
            IEnumerable<int> mine = Enumerable.Range(number * Requests, Requests);
            bool[] answers = await Task.WhenAll(mine.Select(k => Ask(runner, k, expected[k], limit)));
            return answers.Count(right => right);
        }
    }

    private static int Main(string[] args)
    {
        if (args.Length != 1)
        {
            Console.Error.WriteLine("usage: Serving MODEL.onnx");
            return 2;
        }
        using (var compiler = new Compiler(new CompilerOptions { BatchSize = 1 }))
        using (Executable executable = compiler.Compile(args[0]))
        using (var runner = new ModelRunner(executable))
        {
            float[][] expected = Enumerable.Range(0, Clients * Requests).Select(k =>
            {
                var scores = new float[10];
                runner.Execute(ImageOf(k), scores);
                return scores;
            }).ToArray();
            Task<int>[] clients =
                Enumerable.Range(0, Clients).Select(c => Task.Run(() => Client(runner, c, expected))).ToArray();
            int right = Task.WhenAll(clients).Result.Sum();
            Console.WriteLine(Clients * Requests + " requests from " + Clients + " clients, " + right + " right");
        }
        return 0;
    }
}
