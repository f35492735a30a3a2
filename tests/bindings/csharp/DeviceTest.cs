using System;
using System.IO;
using System.Linq;
using System.Threading;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Devices, statistics, version. The scenarios of tests/bindings/README.md, in order.</summary>
[TestFixture]
public sealed class DeviceTest
{
    [Test]
    public void Scenario24DeviceBusy()
    {
        using (var manager = new DeviceManager(2))
        using (Executable executable = Affine(2))
        {
            Assert.That(manager.DeviceCount, Is.EqualTo(2));
            Assert.That(manager.IpuHardwareVersion, Is.EqualTo("ipu21"));
            Device first = manager.GetSpecificDevice(0);
            Device second = manager.GetSpecificDevice(1);
            Assert.That(second.Id, Is.EqualTo(1));
            Assert.That(second.IpuVersion, Is.EqualTo(21));
            Fails(ErrorCode.Unavailable, () => manager.GetDevice());
            var config = new RuntimeConfig { Threads = 1, Device = second };
            using (var runner = new ModelRunner(executable, config))
            {
                Fails(ErrorCode.FailedPrecondition, () => new ModelRunner(executable, config));
                Fails(ErrorCode.Unavailable, () => manager.GetDevice());
                first.Dispose();
                using (Device free = manager.GetDevice()) Assert.That(free.Id, Is.EqualTo(0));
                var c = new Client(runner, 0);
                runner.Execute(c.Bindings);
                c.Check();
            }
            second.Dispose();
            Fails(ErrorCode.NotFound, () => manager.GetSpecificDevice(2));
        }
    }

    [Test]
    public void Scenario25Statistics()
    {
        using (Executable executable = Affine(2))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, Profile = true }))
        using (var older = new ModelRunner(executable, new RuntimeConfig { Threads = 1, EnableProfile = true }))
        using (var without = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
        {
            for (int i = 0; i < 3; i++) runner.Execute(new float[8], new float[8]);
            Assert.That(runner.Profile(), Contains.Substring("\"runs\": 3"));
            Assert.That(runner.Profile(), Contains.Substring("\"kernel\""));
            older.Execute(new float[8], new float[8]);
            Assert.That(older.Profile(), Contains.Substring("\"runs\": 1"));
            Fails(ErrorCode.FailedPrecondition, () => without.Profile());
        }
    }

    [Test]
    public void Scenario28Version()
    {
        Assert.That(Library.Version, Is.StringMatching("^[0-9]+[.][0-9]+[.][0-9]+$"));
    }

    [Test]
    public void Scenario29WaitingForADevice()
    {
        using (var manager = new DeviceManager(2))
        {
            Assert.That(manager.DeviceIds, Is.EqualTo(new long[] { 0, 1 }));
            Device first = manager.GetSpecificDevice(0);
            Device second = manager.GetSpecificDevice(1);
            Fails(ErrorCode.Unavailable, () => manager.Acquire(new DeviceRequest { Wait = TimeSpan.FromMilliseconds(1) }));
            var giver = new Thread(() =>
            {
                Thread.Sleep(50);
                second.Dispose();
            });
            giver.Start();
            using (Device got = manager.Acquire(new DeviceRequest
                { IpuVersion = 21, Wait = TimeSpan.FromSeconds(60), Sleep = TimeSpan.FromMilliseconds(20) }))
            using (Device model = manager.CreateIpuModelDevice(1, 2, 4))
            {
                Assert.That(got.Id, Is.EqualTo(1));
                Assert.That(got.NumIpus, Is.EqualTo(1));
                Assert.That(got.IsIpuModel, Is.False);
                Assert.That(model.IsIpuModel);
                Assert.That(model.TilesPerIpu, Is.EqualTo(4));
                Assert.That(model.Id, Is.EqualTo(-1));
            }
            giver.Join();
            first.Dispose();
            using (Executable executable = Affine(2))
            using (Device fits = manager.Acquire(new DeviceRequest { Executable = executable, Id = 0 }))
                Assert.That(fits.Id, Is.EqualTo(0));
        }
    }

    [Test]
    public void Scenario30Telemetry()
    {
        string empty = Path.Combine(folder, "telemetry");
        Directory.CreateDirectory(empty);
        Assert.That(Library.ReadTelemetry(empty).Trim(), Is.EqualTo("[]"));
    }

    [Test]
    public void Scenario33RunnerStatistics()
    {
        using (Executable executable = Affine(2))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, FlushOnWaitingOutputs = true }))
        {
            for (int i = 0; i < 3; i++) runner.Execute(new float[8], new float[8]);
            Assert.That(runner.Statistics().Replace(" ", ""), Contains.Substring("\"completed\":3"));
            Assert.That(runner.Tracepoints().Split(new[] { "\"compute_begin\"" }, StringSplitOptions.None).Length, Is.EqualTo(4));
        }
    }

    [Test]
    public void Scenario33CountersOfARunner()
    {
        using (Executable executable = Affine(2))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, ReplicationFactor = 2 }))
        {
            for (int i = 0; i < 3; i++) runner.Execute(new float[8], new float[8]);
            RunnerCounters all = runner.Counters();
            Assert.That(new[] { all.Submitted, all.Completed, all.Batches, all.LatencyCount }, Is.All.EqualTo(3));
            Assert.That(new[] { all.Failed, all.Cancelled, all.TimedOut, all.InFlight }, Is.All.EqualTo(0));
            Assert.That(all.Replicas, Is.EqualTo(2));
            Assert.That(all.LatencyBuckets.Sum(), Is.EqualTo(3));
            Assert.That(all.LatencyP50, Is.GreaterThan(TimeSpan.Zero).And.LessThanOrEqualTo(all.LatencyP99));
            Assert.That(all.LatencyMax, Is.LessThanOrEqualTo(all.LatencyTotal));
            Assert.That(all.ToString(), Contains.Substring("Completed=3, Failed=0"));
            Assert.That(runner.Counters(0).Completed + runner.Counters(1).Completed, Is.EqualTo(3));
            Fails(ErrorCode.NotFound, () => runner.Counters(2), "replica 2", "has 2");
            runner.Dispose();
            Assert.Throws<ObjectDisposedException>(() => runner.Counters());
        }
    }

    [Test]
    public void Scenario57TelemetryOfARunner()
    {
        string pid = "\"pid\":" + System.Diagnostics.Process.GetCurrentProcess().Id;
        using (Executable executable = Affine(2))
        using (var silent = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
        {
            silent.Execute(new Client(silent, 0).Bindings);
            Assert.That(Library.ReadTelemetry().Replace(" ", "").Contains(pid), Is.False);
            using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1, Telemetry = true }))
            {
                runner.Execute(new Client(runner, 0).Bindings);
                string json = Library.ReadTelemetry().Replace(" ", "");
                Assert.That(json, Contains.Substring(pid));
                Assert.That(json, Contains.Substring("\"completed\":1"));
            }
        }
    }

    [Test]
    public void Scenario60FurtherOptionsOfARunner()
    {
        using (var manager = new DeviceManager())
        using (Device device = manager.GetSpecificDevice(3))
        using (Device small = manager.CreateSmallIpuModelDevice(1, 21))
        using (Executable executable = Affine(2))
        {
            Assert.That(small.TilesPerIpu, Is.EqualTo(4));
            using (var some = new DeviceManager(6, "1,3-4", "0"))
                Assert.That(some.DeviceIds, Is.EqualTo(new long[] { 1, 3, 4 }));
            Fails(ErrorCode.InvalidArgument, () => new DeviceManager(0, "", "relative/folder"));
            var x = new float[] { 0, 1, 2, 3, 4, 5, 6, 7 };
            var y = new float[8];
            RuntimeConfig config = new RuntimeConfig { Threads = 1 }.FrozenInput<float>("x", x);
            config.ReplicaDevices[0] = device;
            using (var runner = new ModelRunner(executable, config))
            {
                Fails(ErrorCode.FailedPrecondition, () => new ModelRunner(executable, config));
                x[0] = 100; // the runner has copied x
                Assert.That(runner.InputHasData(0), Is.True);
                runner.Execute(runner.CreateBindings().Output("y", y));
                Assert.That(y, Is.EqualTo(new float[] { 1, 3, 5, 7, 9, 11, 13, 15 }));
            }
            var failing = new RuntimeConfig { Threads = 1, Faults = "recoverable_runtime_error@2" };
            using (var runner = new ModelRunner(executable, failing))
            {
                Assert.That(runner.InputHasData(0), Is.False);
                var client = new Client(runner, 0);
                runner.Execute(client.Bindings);
                Fails(ErrorCode.Unavailable, () => runner.Execute(client.Bindings));
            }
            RuntimeConfig wrong = new RuntimeConfig().FrozenInput<float>("x", new float[7]);
            Fails(ErrorCode.InvalidArgument, () => new ModelRunner(executable, wrong), "x", "28");
            RuntimeConfig integers = new RuntimeConfig().FrozenInput<int>("x", new int[8]);
            Fails(ErrorCode.InvalidArgument, () => new ModelRunner(executable, integers), "frozen input 'x'", "Int32");
        }
    }
}
