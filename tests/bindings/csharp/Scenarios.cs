using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;

/// <summary>
/// Helpers of the scenario tests. The tests only use the functions that NUnit 2.6 and 3 have in common: Assert.That with Is,
/// Has, Throws.
/// </summary>
internal static class Scenarios
{
    internal static readonly string models = Environment.GetEnvironmentVariable("POPRT_TEST_MODELS");
    internal static readonly string folder = Environment.GetEnvironmentVariable("POPRT_TEST_FOLDER");

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

    /// <summary>Waits until the devices are free; a runner returns its device when its last run is over.</summary>
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
}
