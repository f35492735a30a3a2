using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using Poprt;

/// <summary>
/// Scenarios 26, 27 and 50 of tests/bindings/README.md, which need a separate process.
/// Lifetime cycles|sessions|leak|exit|exit_session MODELS
/// </summary>
internal static class Lifetime
{
    private static Executable shared;

    private static void Main(string[] args)
    {
        string affine = Path.Combine(args[1], "affine.onnx");
        if (args[0] == "cycles") Cycles(affine, RunOnce);
        else if (args[0] == "sessions") Cycles(affine, Serve);
        else if (args[0] == "leak") Cycles(affine, Leak);
        else if (args[0] == "exit_session") ExitSession(affine);
        else Exit(Path.Combine(args[1], "slow.onnx"));
    }

    private const long MostKiB = 6 << 10;

    /// <summary>These tries take more than a minute, because the thread of finalizers may wait for a processor.</summary>
    private const int MostTries = 3000;

    /// <summary>A leak grows in each cycle, but the memory that mono and malloc keep for later use reaches a limit.
    /// So only memory that grows in each of three rounds is a leak.</summary>
    private static void Cycles(string model, Action cycle)
    {
        Cycles(1000, model, cycle);
        long before = ResidentKiB();
        for (int round = 1; ; round++)
        {
            Cycles(3000, model, cycle);
            long after = ResidentKiB();
            Console.WriteLine("resident " + before + " KiB, 3 000 cycles later " + after);
            if (after <= before + MostKiB) break;
            if (round == 3) throw new InvalidOperationException("memory grows");
            before = after;
        }
    }

    private static void Cycles(int count, string model, Action cycle)
    {
        for (int i = 0; i < count; i++)
        {
            if (i % 1000 == 0) Compile(model); // now and then, because it is slow
            cycle();
        }
    }

    private static void Compile(string model)
    {
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        shared = new Compiler(options).Compile(model);
    }

    /// <summary>Runs once and disposes of nothing.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void RunOnce()
    {
        // Devices are released by collections only, so a wait for one is short.
        var config = new RuntimeConfig { Threads = 1, DeviceWaitTimeout = TimeSpan.FromMilliseconds(10) };
        ModelRunner runner = Create(() => new ModelRunner(shared, config));
        var x = new float[8];
        var y = new float[8];
        x[0] = 3;
        Bindings bindings = runner.CreateBindings().Input(0, x).Output(0, y);
        runner.Execute(bindings);
        if (y[0] != 7) throw new InvalidOperationException("2 * 3 + 1 is " + y[0]);
    }

    /// <summary>Handlers refer to their session, and an element is left in a queue.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Serve()
    {
        Session session = Create(() => new Session(shared, new SessionOptions { Threads = 1 }));
        float y = 0;
        session.SetUserInputHandler("x", data =>
        {
            Span<float> x = MemoryMarshal.Cast<byte, float>(data);
            x[0] = 3;
            return session.UserInputs.Count == 1;
        });
        session.SetUserOutputHandler("y", data =>
        {
            y = MemoryMarshal.Cast<byte, float>(data)[0];
            return session.UserInputs.Count == 1;
        });
        session.RunMainPrograms();
        if (y != 7) throw new InvalidOperationException("2 * 3 + 1 is " + y);
        QueueManager queues = session.CreateQueueManager();
        InputQueue input = queues.InputQueue("x");
        input.Enqueue(new float[8]);
        queues.OutputQueue("y").Enqueue(new float[8]);
        session.RunMainPrograms();
        input.Enqueue(new float[8]);
    }

    /// <summary>Leaks 4 KiB in each cycle, which Cycles has to find.</summary>
    private static void Leak()
    {
        IntPtr kept = Marshal.AllocHGlobal(4096);
        for (int at = 0; at < 4096; at += 64) Marshal.WriteByte(kept, at, 1);
    }

    /// <summary>A forgotten object keeps its device until it is collected.</summary>
    private static T Create<T>(Func<T> make)
    {
        for (int tries = 0; ; tries++)
            try
            {
                return make();
            }
            catch (PoprtException e)
            {
                if (e.Code != ErrorCode.Unavailable || tries == MostTries) throw;
                Collect();
            }
    }

    private static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Thread.Sleep(5);
    }

    /// <summary>Waits for all devices except the few whose objects a conservative stack scan still finds.</summary>
    private static void WaitForDevices()
    {
        using (var manager = new DeviceManager())
        {
            for (int tries = 0; ; tries++)
            {
                long busy = 0;
                for (long id = 0; id < manager.DeviceCount; id++)
                    try
                    {
                        manager.GetSpecificDevice(id).Dispose();
                    }
                    catch (PoprtException)
                    {
                        busy++;
                    }
                if (busy <= 4) return;
                if (tries == MostTries) throw new InvalidOperationException(busy + " devices are still held");
                Collect();
            }
        }
    }

    /// <summary>The memory in use. Up to 256 runners wait for the collector at any time (22 MiB), and malloc keeps
    /// their memory in a pool for each thread; neither is a leak.</summary>
    private static long ResidentKiB()
    {
        WaitForDevices();
        for (int i = 0; i < 5; i++) Collect();
        malloc_trim(UIntPtr.Zero);
        return long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1]) * 4096 >> 10;
    }

    [DllImport("libc")]
    private static extern int malloc_trim(UIntPtr pad);

    private static void Exit(string model)
    {
        var runner = new ModelRunner(new Compiler().Compile(model), new RuntimeConfig { Threads = 1 });
        for (int i = 0; i < 8; i++)
            runner.ExecuteAsync(runner.CreateBindings().Input(0, new float[512 * 512]).Output(0, new float[512 * 512]));
        Library.Logged += (level, message) => { }; // the thread that receives messages waits
        Console.WriteLine("leaving with runs in flight");
    }

    /// <summary>Background threads run with handlers, wait for an element, or wait for room in a queue.</summary>
    private static void ExitSession(string model)
    {
        Compile(model);
        var busy = new Session(shared, new SessionOptions { Threads = 1 });
        busy.SetUserInputHandler("x", data => true);
        busy.SetUserOutputHandler("y", data => true);
        var waiting = new Session(shared, new SessionOptions { Threads = 1 });
        waiting.CreateQueueManager().OutputQueue("y").Enqueue(new float[8]);
        var full = new Session(shared, new SessionOptions { Threads = 1 });
        InputQueue queue = full.CreateQueueManager().InputQueue("x");
        using (var begun = new CountdownEvent(3))
        {
            Func<bool> enqueue = () => { queue.Enqueue(new float[8]); return true; };
            foreach (Func<bool> call in new Func<bool>[] { busy.RunMainPrograms, waiting.RunMainPrograms, enqueue })
            {
                var thread = new Thread(() =>
                {
                    begun.Signal();
                    try
                    {
                        while (call())
                        {
                        }
                    }
                    catch (PoprtException)
                    {
                        // The process ends.
                    }
                });
                thread.IsBackground = true;
                thread.Start();
            }
            begun.Wait();
        }
        var late = new Session(shared, new SessionOptions { Threads = 1 });
        AppDomain.CurrentDomain.ProcessExit += (sender, e) => RefuseToRun(late);
        Console.WriteLine("leaving with sessions that run");
    }

    /// <summary>The library's own handler, which is older, has stopped all sessions. None may begin to run now. What
    /// a handler throws is ignored, so the process ends by a signal.</summary>
    private static void RefuseToRun(Session late)
    {
        try
        {
            late.RunMainPrograms();
        }
        catch (PoprtException e)
        {
            if (e.Code == ErrorCode.Cancelled && e.Message == "the process ends") return;
            Console.WriteLine(e);
        }
        Console.WriteLine("a session ran at the end of the process");
        System.Diagnostics.Process.GetCurrentProcess().Kill();
    }
}
