using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Threading;
using Poprt;

/// <summary>
/// Scenarios 26 and 27 of tests/bindings/README.md, which need a process of their own.
/// Lifetime cycles MODELS; Lifetime exit MODELS
/// </summary>
internal static class Lifetime
{
    private static Executable shared;

    private static void Main(string[] args)
    {
        if (args[0] == "cycles") Cycles(Path.Combine(args[1], "affine.onnx"));
        else Exit(Path.Combine(args[1], "slow.onnx"));
    }

    private static void Cycles(string model)
    {
        long early = 0;
        for (int i = 1; i <= 10000; i++)
        {
            Cycle(model, i % 1000 == 1);
            if (i == 1000) early = ResidentMiB();
        }
        long late = ResidentMiB();
        Console.WriteLine("resident after 1 000 cycles " + early + " MiB, after 10 000 " + late);
        if (late > early + 32) throw new InvalidOperationException("memory grows");
        WaitForDevices();
    }

    /// <summary>Nothing is disposed of. A new executable now and then, because compiling is slow.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Cycle(string model, bool compile)
    {
        if (compile)
        {
            var options = new CompilerOptions();
            options.InputShapes["x"] = new long[] { 2, 4 };
            shared = new Compiler(options).Compile(model);
        }
        ModelRunner runner = Create();
        var x = new float[8];
        var y = new float[8];
        x[0] = 3;
        Bindings bindings = runner.CreateBindings().Input(0, x).Output(0, y);
        runner.Execute(bindings);
        if (y[0] != 7) throw new InvalidOperationException("2 * 3 + 1 is " + y[0]);
    }

    /// <summary>A runner that was forgotten keeps its device until it is collected.</summary>
    private static ModelRunner Create()
    {
        for (int tries = 0; ; tries++)
            try
            {
                return new ModelRunner(shared, new RuntimeConfig { Threads = 1 });
            }
            catch (PoprtException e)
            {
                if (e.Code != ErrorCode.Unavailable || tries == 100) throw;
                Collect();
            }
    }

    private static void Collect()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Thread.Sleep(5);
    }

    /// <summary>All but the few that a conservative stack scan still sees.</summary>
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
                if (tries == 100) throw new InvalidOperationException(busy + " devices are still held");
                Collect();
            }
        }
    }

    private static long ResidentMiB()
    {
        for (int i = 0; i < 5; i++) Collect();
        return long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1]) * 4096 >> 20;
    }

    private static void Exit(string model)
    {
        var runner = new ModelRunner(new Compiler().Compile(model), new RuntimeConfig { Threads = 1 });
        for (int i = 0; i < 8; i++)
            runner.ExecuteAsync(runner.CreateBindings().Input(0, new float[512 * 512]).Output(0, new float[512 * 512]));
        Console.WriteLine("leaving with runs in flight");
    }
}
