using System;
using System.Collections;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Disposing in any order, and runs of several threads. The scenarios of tests/bindings/README.md, in order.</summary>
[TestFixture]
public sealed class LifetimeTest
{
    [Test]
    public void Scenario14FreeInOddOrder()
    {
        var options = new CompilerOptions();
        options.InputShapes["x"] = new long[] { 2, 4 };
        var compiler = new Compiler(options);
        Executable executable = compiler.Compile(Path.Combine(models, "affine.onnx"));
        var manager = new DeviceManager();
        Device device = manager.GetDevice();
        var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, Device = device });
        var c = new Client(runner, 0);
        Task run = runner.ExecuteAsync(c.Bindings);
        compiler.Dispose();
        executable.Dispose();
        device.Dispose();
        manager.Dispose();
        runner.Dispose();
        c.Bindings.Dispose();
        run.Wait();
        c.Check();
        AssertDevicesFree(4);
    }

    [Test]
    public void Scenario15UseAfterClose()
    {
        Executable executable = Affine(2);
        var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 });
        var c = new Client(runner, 0);
        runner.Dispose();
        runner.Dispose();
        executable.Dispose();
        executable.Dispose();
        Closed(() => runner.Execute(c.Bindings));
        Closed(() => runner.Execute(c.X, c.Y));
        Closed(() => runner.ExecuteAsync(c.Bindings));
        Closed(runner.Stop);
        Closed(() => executable.Listing());
        Closed(() => new ModelRunner(executable));
        Assert.That(runner.Inputs[0].Name, Is.EqualTo("x"));
        c.Bindings.Dispose();
        c.Bindings.Dispose();
        Closed(() => c.Bindings.Input("x", c.X));
        var compiler = new Compiler();
        compiler.Dispose();
        compiler.Dispose();
        Closed(() => compiler.Compile(Path.Combine(models, "slow.onnx")));
    }

    [Test]
    public void Scenario16CloseDuringARun()
    {
        ModelRunner runner = SlowRunner();
        var running = new ManualResetEventSlim();
        Exception thrown = null;
        var thread = new Thread(() =>
        {
            try
            {
                using (Bindings bindings = SlowBindings(runner))
                    while (true)
                    {
                        running.Set();
                        runner.Execute(bindings);
                    }
            }
            catch (Exception e)
            {
                thrown = e;
            }
        });
        thread.Start();
        running.Wait();
        Thread.Sleep(5);
        runner.Dispose();
        thread.Join();
        Assert.That(thrown, Is.InstanceOf<ObjectDisposedException>());
        AssertDevicesFree(4);
    }

    [Test]
    public void Scenario17TwoThreads()
    {
        using (ModelRunner runner = AffineRunner())
        {
            int right = 0;
            Thread[] threads = new[] { 0, 1000 }.Select(offset => new Thread(() =>
            {
                for (int i = 0; i < 200; i++)
                {
                    var c = new Client(runner, offset + i);
                    runner.Execute(c.Bindings);
                    if (c.Y.SequenceEqual(c.X.Select(x => 2 * x + 1))) Interlocked.Increment(ref right);
                }
            })).ToArray();
            foreach (Thread thread in threads) thread.Start();
            foreach (Thread thread in threads) thread.Join();
            Assert.That(right, Is.EqualTo(400));
        }
    }

    /// <summary>Functions that native code no longer calls are not kept: those that others replace, and those that it
    /// has refused.</summary>
    [Test]
    public void ReplacedHandlersAreForgotten()
    {
        var kept = (ICollection)typeof(Session).Assembly.GetType("Poprt.Targets")
            .GetField("targets", BindingFlags.NonPublic | BindingFlags.Static).GetValue(null);
        using (Executable executable = Affine(2))
        using (var session = new Session(executable, new SessionOptions { Threads = 1 }))
        {
            int before = kept.Count;
            for (int i = 0; i < 100; i++)
            {
                session.SetUserInputHandler("x", data => true);
                session.SetUserOutputHandler("y", data => true);
                Assert.Throws<PoprtException>(() => session.SetUserInputHandler("nope", data => true));
            }
            Assert.LessOrEqual(kept.Count, before + 2);
        }
    }
}
