using System;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Poprt;

/// <summary>See servers: the server in C#. Each client is as many tasks as it has requests in flight.</summary>
internal sealed class Server
{
    private const int Clients = 4, InFlight = 4;
    private static readonly TimeSpan Limit = TimeSpan.FromTicks(1000) /* 100 us */;

    private readonly ModelRunner runner;
    private readonly float[] x, expected;
    private int ok, late, cancelled, wrong;

    private Server(ModelRunner runner)
    {
        this.runner = runner;
        x = Enumerable.Range(0, (int)runner.Inputs[0].ByteSize / 4).Select(i => i % 17 / 16f).ToArray();
        expected = new float[runner.Outputs[0].ByteSize / 4];
        runner.Execute(x, expected);
    }

    private async Task Slot(int first, int requests, int lateEvery, int cancelEvery)
    {
        var y = new float[expected.Length];
        using (Bindings memory = runner.CreateBindings().Input(0, x).Output(0, y))
            for (int i = first; i < requests; i += InFlight)
            {
                bool limited = lateEvery > 0 && i % lateEvery == 1;
                try
                {
                    if (cancelEvery > 0 && i % cancelEvery == 2)
                        using (var source = new CancellationTokenSource())
                        {
                            Task run = runner.ExecuteAsync(memory, source.Token);
                            source.Cancel();
                            await run;
                        }
                    else
                        await runner.ExecuteAsync(memory, default(CancellationToken), limited ? Limit : TimeSpan.Zero);
                }
                catch (OperationCanceledException)
                {
                    Interlocked.Increment(ref cancelled);
                    continue;
                }
                catch (PoprtException e) when (e.Code == ErrorCode.DeadlineExceeded)
                {
                    Interlocked.Increment(ref late);
                    continue;
                }
                Interlocked.Increment(ref ok);
                if (i % 64 == 0 && !y.SequenceEqual(expected)) Interlocked.Increment(ref wrong);
            }
    }

    private void Serve(int requests, int lateEvery, int cancelEvery)
    {
        ok = late = cancelled = wrong = 0;
        Task.WaitAll(Enumerable.Range(0, Clients * InFlight).Select(
            slot => Task.Run(() => Slot(slot % InFlight, requests, lateEvery, cancelEvery))).ToArray());
    }

    // Returns the ticks past the limit, or null if the request ran.
    private async Task<long?> Wait(TimeSpan limit)
    {
        using (Bindings memory = runner.CreateBindings().Input(0, x).Output(0, new float[expected.Length]))
        {
            long deadline = Stopwatch.GetTimestamp() + (long)(limit.TotalSeconds * Stopwatch.Frequency);
            try
            {
                await runner.ExecuteAsync(memory, default(CancellationToken), limit);
                return null;
            }
            catch (PoprtException e) when (e.Code == ErrorCode.DeadlineExceeded)
            {
                return Stopwatch.GetTimestamp() - deadline;
            }
        }
    }

    private string WaitForMany(int count, double firstMs, double lastMs)
    {
        long begin = Stopwatch.GetTimestamp();
        Task<long?>[] all = Enumerable.Range(0, count).Select(
            i => Wait(TimeSpan.FromTicks((long)((firstMs + (lastMs - firstMs) * i / count) * 1e4)))).ToArray();
        double submitted = Microseconds(Stopwatch.GetTimestamp() - begin);
        double[] past = Task.WhenAll(all).Result.Where(t => t != null).Select(t => Microseconds((long)t)).ToArray();
        return string.Format(CultureInfo.InvariantCulture,
            "submit_us={0:0} ok={1} late={2} cancelled=0 worst_us={3:0} over_5ms={4} early={5}", submitted,
            count - past.Length, past.Length, past.Concat(new double[] { 0 }).Max(), past.Count(us => us > 5000),
            past.Count(us => us < 0));
    }

    private static double Microseconds(long ticks)
    {
        return ticks * 1e6 / Stopwatch.Frequency;
    }

    private static double CpuTime()
    {
        using (Process me = Process.GetCurrentProcess()) return me.TotalProcessorTime.TotalMilliseconds * 1000;
    }

    private static void Main(string[] args)
    {
        using (Executable executable = Executable.Open(args[0]))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
        {
            var server = new Server(runner);
            int count = int.Parse(args[2]);
            if (args[1] == "wait")
            {
                Console.WriteLine(server.WaitForMany(count, double.Parse(args[3]), double.Parse(args[4])));
                return;
            }
            server.Serve(count / 4, 0, 0);
            double cpu = CpuTime();
            long wall = Stopwatch.GetTimestamp();
            server.Serve(count, int.Parse(args[3]), int.Parse(args[4]));
            Console.WriteLine(string.Format(CultureInfo.InvariantCulture,
                "cpu_us={0:0} wall_us={1:0} ok={2} late={3} cancelled={4} wrong={5}", CpuTime() - cpu,
                Microseconds(Stopwatch.GetTimestamp() - wall), server.ok, server.late, server.cancelled, server.wrong));
        }
    }
}
