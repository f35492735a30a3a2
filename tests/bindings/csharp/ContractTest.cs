using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>
/// Guarantees of the binding for every object: new memory replaces the old, every 16-bit float is the same number on both sides,
/// and objects are closed in any order and refuse any use afterwards (scenarios 75 to 78).
/// </summary>
[TestFixture]
public class ContractTest
{
    private static float[] Floats(int count, float first)
    {
        return Enumerable.Range(0, count).Select(i => first + i).ToArray();
    }

    private static float[] TwicePlusOne(float[] x)
    {
        return x.Select(v => 2 * v + 1).ToArray();
    }

    private static void Bind(Bindings b, bool byName, float[] x, float[] y)
    {
        if (x != null && byName) b.Input("x", x);
        else if (x != null) b.Input(0, x);
        if (y != null && byName) b.Output("y", y);
        else if (y != null) b.Output(0, y);
    }

    [Test]
    public void Scenario75NewMemoryReplacesTheOld([Values(true, false)] bool byName)
    {
        using (ModelRunner runner = AffineRunner())
        using (Bindings b = runner.CreateBindings())
        {
            float[] x = Floats(8, 1), y = new float[8], x2 = Floats(8, 50), y2 = new float[8];
            Bind(b, byName, x, y);
            runner.Execute(b);
            Assert.That(y, Is.EqualTo(TwicePlusOne(x)));
            float[] before = y.ToArray();
            Bind(b, byName, x2, y2);
            x[0] = 1000;
            runner.Execute(b);
            Assert.That(y2, Is.EqualTo(TwicePlusOne(x2)));
            Assert.That(y, Is.EqualTo(before));
            x2[3] = -5;
            runner.ExecuteAsync(b).Wait();
            Assert.That(y2, Is.EqualTo(TwicePlusOne(x2)));
            Bind(b, byName, x, null); // only the input
            runner.Execute(b);
            Assert.That(y2, Is.EqualTo(TwicePlusOne(x)));
            Assert.That(y, Is.EqualTo(before));
            Bind(b, byName, null, y); // only the output
            y2[0] = 7;
            runner.Execute(b);
            Assert.That(y, Is.EqualTo(TwicePlusOne(x)));
            Assert.That(y2[0], Is.EqualTo(7));
        }
    }

    [Test]
    public void Scenario75MemoryOfAnotherSize()
    {
        using (ModelRunner runner = AffineRunner())
        using (Bindings b = runner.CreateBindings().Input("x", Floats(8, 0)).Output("y", new float[8]))
            foreach (int batches in new[] { 3, 1, 2 })
            {
                float[] x = Floats(8 * batches, 5), y = new float[8 * batches];
                b.Input("x", x).Output("y", y);
                runner.Execute(b);
                Assert.That(y, Is.EqualTo(TwicePlusOne(x)));
            }
    }

    [Test]
    public void Scenario75ReplacedMemoryMoves()
    {
        // Memory is pinned while it is bound, so a run finds each array at its address after collections.
        using (ModelRunner runner = AffineRunner())
        using (Bindings b = runner.CreateBindings())
            for (int round = 0; round < 200; round++)
            {
                float[] x = Floats(8, round), y = new float[8];
                b.Input("x", x).Output("y", y);
                for (int i = 0; i < 50; i++) GC.KeepAlive(new byte[1000]);
                if (round % 20 == 0) GC.Collect();
                runner.Execute(b);
                Assert.That(y, Is.EqualTo(TwicePlusOne(x)));
            }
    }

    [Test]
    public void Scenario75ARunInFlightKeepsItsMemory()
    {
        using (ModelRunner runner = SlowRunner())
        {
            float[] x = Enumerable.Repeat(1f, 512 * 512).ToArray(), old = new float[512 * 512], now = new float[512 * 512];
            Bindings b = runner.CreateBindings().Input(0, x).Output(0, old);
            Task run = runner.ExecuteAsync(b);
            b.Output(0, now);
            b.Dispose();
            for (int i = 0; i < 100; i++) GC.KeepAlive(new byte[10000]);
            GC.Collect();
            run.Wait();
            Assert.That(old.All(v => v == 1));
            Assert.That(now.All(v => v == 0));
        }
    }

    [Test]
    public void Scenario22ARunThatHasEndedCannotBeCancelled()
    {
        using (ModelRunner runner = AffineRunner())
            for (int round = 0; round < 50; round++)
                using (var source = new CancellationTokenSource())
                {
                    var client = new Client(runner, round);
                    Task run = runner.ExecuteAsync(client.Bindings, source.Token);
                    run.Wait();
                    source.Cancel();
                    Assert.That(run.Status, Is.EqualTo(TaskStatus.RanToCompletion));
                    client.Check();
                }
    }

    [Test]
    public void Scenario29DefaultsOfArguments()
    {
        using (var manager = new DeviceManager(4))
        using (Device device = manager.GetDevice())
        using (Device model = manager.CreateIpuModelDevice())
        using (Device small = manager.CreateSmallIpuModelDevice())
        {
            Assert.That(device.NumIpus, Is.EqualTo(1));
            Assert.That(device.IsIpuModel, Is.False);
            Assert.That(new[] { model.NumIpus, model.IpuVersion, model.TilesPerIpu }, Is.EqualTo(new[] { 1, 2, 1472 }));
            Assert.That(new[] { small.NumIpus, small.IpuVersion, small.TilesPerIpu }, Is.EqualTo(new[] { 1, 2, 4 }));
        }
    }

    [Test]
    public void Scenario21SizesOfNothing()
    {
        using (ModelRunner runner = Runner(Affine(0)))
        {
            Tensor y = runner.Run(new Dictionary<string, Array> { { "x", new float[0, 4] } })["y"];
            Assert.That(y.Shape, Is.EqualTo(new long[] { 0, 4 }));
            Assert.That(y.Span<float>().Length, Is.EqualTo(0));
            Assert.That(y.ToArray<float>().Length, Is.EqualTo(0));
            runner.Execute(new float[0], new float[0]);
        }
        using (Executable large = Affine(1 << 28))
        {
            Assert.That(large.Inputs[0].ByteSize, Is.EqualTo(1L << 32));
            Assert.That(large.Inputs[0].ElementCount, Is.EqualTo(1L << 30));
        }
    }

    /// <summary>The value of a code, computed from the definition of half precision.</summary>
    private static double HalfValue(int code)
    {
        int exponent = code >> 10 & 31;
        double fraction = code & 1023, sign = code >= 0x8000 ? -1 : 1;
        if (exponent == 31) return fraction == 0 ? sign * double.PositiveInfinity : double.NaN;
        return sign * (exponent == 0 ? fraction * Math.Pow(2, -24) : (1 + fraction / 1024) * Math.Pow(2, exponent - 15));
    }

    private static int Bits(float value)
    {
        return BitConverter.ToInt32(BitConverter.GetBytes(value), 0);
    }

    private static float Value(int bits)
    {
        return BitConverter.ToSingle(BitConverter.GetBytes(bits), 0);
    }

    private static void Same(long found, long expected, int code)
    {
        if (found != expected) Assert.Fail("0x{0:x}: expected 0x{1:x}, found 0x{2:x}", code, expected, found);
    }

    [Test]
    public void Scenario76EveryHalfIsItsValueAndBack()
    {
        for (int code = 0; code < 65536; code++)
        {
            var value = (float)HalfValue(code);
            float found = Float16.ToSingle((ushort)code);
            int back = Float16.FromSingle(found);
            if (float.IsNaN(value))
            {
                Assert.That(found, Is.NaN);
                Same(Convert.ToInt32(double.IsNaN(HalfValue(back))), 1, code);
                Same(back & 0x83ff, code & 0x83ff, code); // sign and payload
                continue;
            }
            Same(Bits(found), Bits(value), code);
            Same(Float16.FromSingle(value), code, code);
        }
        foreach (int bits in new[] { 0x7f800001, 0x7fc00000, unchecked((int)0xff801fff), 0x7fffffff })
            Assert.That(HalfValue(Float16.FromSingle(Value(bits))), Is.NaN);
    }

    [Test]
    public void Scenario76TiesRoundToEven()
    {
        for (int code = 0; code < 0x7c00; code++)
        {
            double next = code == 0x7bff ? 65536 : HalfValue(code + 1);
            int middle = Bits((float)((HalfValue(code) + next) / 2));
            foreach (int sign in new[] { 0, 0x8000 })
            {
                int at = middle | sign << 16;
                Same(Float16.FromSingle(Value(at)), sign | code + (code & 1), code);
                Same(Float16.FromSingle(Value(at - 1)), sign | code, code);
                Same(Float16.FromSingle(Value(at + 1)), sign | code + 1, code);
            }
        }
        foreach (float large in new[] { 65536, 1e6f, float.MaxValue, float.PositiveInfinity })
        {
            Assert.That(Float16.FromSingle(large), Is.EqualTo(0x7c00));
            Assert.That(Float16.FromSingle(-large), Is.EqualTo(0xfc00));
        }
        Assert.That(Float16.FromSingle(float.Epsilon), Is.EqualTo(0));
    }

    [Test]
    public void Scenario76RunsTakeAndReturnEveryCode()
    {
        using (ModelRunner runner = Runner(Compile("floats.onnx")))
        {
            ushort[] codes = Enumerable.Range(0, 65536).Select(i => (ushort)i).ToArray();
            var values = new float[65536];
            Float16.Convert(codes, values);
            float[] halfValues = new float[65536], brainValues = new float[65536];
            ushort[] halves = new ushort[65536], brains = new ushort[65536];
            Action<float[]> run = value => runner.Execute(
                new Dictionary<string, Array> { { "half", codes }, { "brain", codes }, { "value", value } },
                new Dictionary<string, Array>
                {
                    { "half_value", halfValues }, { "brain_value", brainValues }, { "value_half", halves }, { "value_brain", brains }
                });
            run(values);
            for (int code = 0; code < 65536; code++)
            {
                if (!double.IsNaN(HalfValue(code)))
                {
                    Same(Bits(halfValues[code]), Bits((float)HalfValue(code)), code);
                    Same(halves[code], code, code);
                }
                if ((code & 0x7f80) != 0 && !float.IsNaN(Value(code << 16))) Same(Bits(brainValues[code]), code << 16, code);
            }
            run((float[])brainValues.Clone());
            for (int code = 0; code < 65536; code++)
                if ((code & 0x7f80) != 0 && !float.IsNaN(Value(code << 16))) Same(brains[code], code, code);
        }
    }

    [Test]
    public void Scenario76AllValuesAreConverted()
    {
        ushort[] to = { 9, 9, 9 };
        Float16.Convert(new float[] { 1, -2 }, to);
        Assert.That(to, Is.EqualTo(new[] { 0x3c00, 0xc000, 9 }));
        float[] back = { 9, 9, 9 };
        Float16.Convert(new ReadOnlySpan<ushort>(to, 0, 2), back);
        Assert.That(back, Is.EqualTo(new[] { 1f, -2, 9 }));
        Assert.Throws<ArgumentException>(() => Float16.Convert(new float[2], new ushort[1]));
        Assert.Throws<ArgumentException>(() => Float16.Convert(new ushort[2], new float[1]));
    }

    /// <summary>One object of each class that can be closed, each made from those before it.</summary>
    private static Dictionary<string, IDisposable> Objects()
    {
        var manager = new DeviceManager();
        Executable executable = Affine(2);
        Device device = manager.GetDevice();
        var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, Device = device });
        return new Dictionary<string, IDisposable>
        {
            { "Executable", executable }, { "Device", device }, { "DeviceManager", manager }, { "ModelRunner", runner },
            { "Bindings", runner.CreateBindings().Input("x", new float[8]).Output("y", new float[8]) },
            { "Session", new Session(executable, new SessionOptions { Threads = 1 }) }
        };
    }

    private static IEnumerable<List<string>> Orders(List<string> names)
    {
        if (names.Count == 0) yield return new List<string>();
        foreach (string first in names)
            foreach (List<string> rest in Orders(names.Where(n => n != first).ToList()))
            {
                rest.Insert(0, first);
                yield return rest;
            }
    }

    [Test]
    public void Scenario77ObjectsCloseInAnyOrder()
    {
        var names = new List<string> { "Executable", "Device", "DeviceManager", "ModelRunner", "Bindings", "Session" };
        List<List<string>> orders = Orders(names).ToList();
        Assert.That(orders.Count, Is.EqualTo(720));
        for (int i = 0; i < orders.Count; i += 7)
        {
            Dictionary<string, IDisposable> made = Objects();
            Task run = ((ModelRunner)made["ModelRunner"]).ExecuteAsync((Bindings)made["Bindings"]);
            foreach (string name in orders[i])
            {
                made[name].Dispose();
                made[name].Dispose();
            }
            Assert.That(run.Wait(60000));
        }
        AssertDevicesFree(4);
    }

    /// <summary>An argument of a type for a call that fails before it uses it.</summary>
    private static object Argument(Type type)
    {
        if (type == typeof(string)) return "x";
        if (type == typeof(int[])) return new[] { 0 };
        if (type == typeof(float[])) return new float[8];
        if (type == typeof(DeviceRequest)) return new DeviceRequest();
        if (type == typeof(RequestOptions)) return new RequestOptions();
        if (type == typeof(QueueOptions)) return new QueueOptions();
        if (type == typeof(StreamTransfer)) return (StreamTransfer)(data => true);
        if (type == typeof(IEnumerable<KeyValuePair<string, Array>>)) return new Dictionary<string, Array> { { "x", new float[8] } };
        if (type == typeof(IEnumerable<string>)) return new[] { "x" };
        return type.IsValueType ? Activator.CreateInstance(type) : null;
    }

    /// <summary>Methods that work on a closed object: their result is known since it was made, or they do nothing.</summary>
    private static readonly string[] withoutError =
    {
        "Dispose", "ToString", "GetHashCode", "Equals", "GetType", "get_Inputs", "get_Outputs", "get_Name", "get_UserInputs",
        "get_UserOutputs", "get_Id", "get_IpuVersion", "CreateBindings", "get_Anchors", "get_Metadata", "get_Models"
    };

    [Test]
    public void Scenario78NoMethodWorksAfterwards()
    {
        Dictionary<string, IDisposable> made = Objects();
        made["Compiler"] = new Compiler();
        foreach (IDisposable one in made.Values) one.Dispose();
        var wrong = new List<string>();
        int checkedCalls = 0;
        using (ModelRunner open = AffineRunner())
            foreach (IDisposable closed in made.Values)
                foreach (MethodInfo method in closed.GetType().GetMethods(BindingFlags.Public | BindingFlags.Instance))
                {
                    if (withoutError.Contains(method.Name)) continue;
                    if (method.GetParameters().Any(p => p.ParameterType.Name.Contains("Span") || p.ParameterType.Name.Contains("Memory")
                        || p.ParameterType.IsInterface && p.ParameterType.Name.StartsWith("IStream"))) continue; // reflection cannot make an argument
                    MethodInfo call = method.IsGenericMethod
                        ? method.MakeGenericMethod(method.GetGenericArguments().Select(t => typeof(float)).ToArray()) : method;
                    object[] arguments = call.GetParameters().Select(p => p.ParameterType == typeof(Bindings) ? open.CreateBindings()
                        : p.ParameterType == typeof(InputHandler) || p.ParameterType == typeof(OutputHandler) ? Handler(p.ParameterType)
                        : Argument(p.ParameterType)).ToArray();
                    checkedCalls++;
                    try
                    {
                        object result = call.Invoke(closed, arguments);
                        var task = result as Task;
                        if (task != null) task.Wait();
                        wrong.Add(closed.GetType().Name + "." + method + " returned " + result);
                    }
                    catch (TargetInvocationException e)
                    {
                        if (!(e.InnerException is ObjectDisposedException)) wrong.Add(method + ": " + e.InnerException.Message);
                    }
                    catch (AggregateException e)
                    {
                        if (!(e.InnerException is ObjectDisposedException)) wrong.Add(method + ": " + e.InnerException.Message);
                    }
                }
        Assert.That(wrong, Is.Empty, string.Join("\n", wrong));
        Assert.That(checkedCalls, Is.GreaterThan(50));
    }

    private sealed class Nothing : InputHandler
    {
        public override bool Fetch(Span<byte> data)
        {
            return true;
        }
    }

    private sealed class Dropped : OutputHandler
    {
        public override bool Take(ReadOnlySpan<byte> data)
        {
            return true;
        }
    }

    private static object Handler(Type type)
    {
        return type == typeof(InputHandler) ? (object)new Nothing() : new Dropped();
    }

    [Test]
    public void Scenario78NeitherDoesAnObjectThatNeedsIt()
    {
        Executable executable = Affine(2);
        Device device = new DeviceManager().GetDevice();
        ModelRunner runner = AffineRunner();
        Bindings bindings = runner.CreateBindings();
        Session session = OpenSession(Affine(2));
        QueueManager queues = session.CreateQueueManager();
        bindings.Dispose();
        device.Dispose();
        Closed(() => runner.Execute(bindings));
        Closed(() => runner.ExecuteAsync(bindings).GetAwaiter().GetResult());
        Closed(() => new ModelRunner(executable, new RuntimeConfig { Device = device }));
        var pinned = new RuntimeConfig();
        pinned.ReplicaDevices[0] = device;
        Closed(() => new ModelRunner(executable, pinned));
        Closed(() => new Session(executable, new SessionOptions { Device = device }));
        Closed(() => session.BindToDevice(device));
        executable.Dispose();
        Closed(() => new ModelRunner(executable));
        Closed(() => new Session(executable));
        Closed(() => Executable.Fuse(new[] { executable }));
        Closed(() => new DeviceManager().Acquire(new DeviceRequest { Executable = executable }));
        session.Dispose();
        Closed(() => queues.InputQueue("x"));
        runner.Dispose();
        Closed(() => runner.Execute(new float[8], new float[8]));
        Closed(() => runner.Execute(new ReadOnlySpan<float>(new float[8]), new Span<float>(new float[8])));
    }
}
