using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Sessions with handlers: scenarios 34 to 41.</summary>
[TestFixture]
public sealed class SessionTest
{
    /// <summary>Gives x = run, run + 1 ... and counts its calls.</summary>
    private sealed class Numbers : InputHandler
    {
        internal readonly List<Thread> Threads = new List<Thread>();
        internal int Run, Fetched, Prefetched, Invalidated;
        internal bool Early;

        public override bool Fetch(Span<byte> data)
        {
            Threads.Add(Thread.CurrentThread);
            Fetched++;
            Fill(data);
            return true;
        }

        public override bool Prefetch(Span<byte> data)
        {
            if (!Early) return false;
            Prefetched++;
            Fill(data);
            return true;
        }

        public override void Complete()
        {
            Run++;
        }

        public override void InvalidatePrefetched()
        {
            Invalidated++;
        }

        private void Fill(Span<byte> data)
        {
            Span<float> x = MemoryMarshal.Cast<byte, float>(data);
            for (int i = 0; i < x.Length; i++) x[i] = Run + i;
        }
    }

    /// <summary>Waits for data that never comes.</summary>
    private sealed class Patient : InputHandler
    {
        internal readonly ManualResetEventSlim Waiting = new ManualResetEventSlim();
        private readonly ManualResetEventSlim interrupted = new ManualResetEventSlim();

        public override bool Fetch(Span<byte> data)
        {
            Waiting.Set();
            interrupted.Wait();
            return false;
        }

        public override void Interrupt()
        {
            interrupted.Set();
        }
    }

    private sealed class Results : OutputHandler
    {
        internal readonly List<float[]> Taken = new List<float[]>();

        public override bool Take(ReadOnlySpan<byte> data)
        {
            Taken.Add(MemoryMarshal.Cast<byte, float>(data).ToArray());
            return true;
        }
    }

    /// <summary>Counts the calls, and waits for an interruption if it is full.</summary>
    private sealed class Sink : OutputHandler
    {
        internal readonly ManualResetEventSlim Waiting = new ManualResetEventSlim(), Interrupted = new ManualResetEventSlim();
        internal bool Full;
        internal int Taken, Completed;

        public override bool Take(ReadOnlySpan<byte> data)
        {
            Taken++;
            if (!Full) return true;
            Waiting.Set();
            return !Interrupted.Wait(60000);
        }

        public override void Complete()
        {
            Completed++;
        }

        public override void Interrupt()
        {
            Interrupted.Set();
        }
    }

    [Test]
    public void Scenario115EventsOfAnOutput()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            var sink = new Sink();
            session.SetUserInputHandler("x", data => true);
            session.SetUserOutputHandler("y", sink);
            for (int i = 0; i < 3; i++) session.RunMainPrograms();
            Assert.That(sink.Taken, Is.EqualTo(3));
            Assert.That(sink.Completed, Is.EqualTo(3));
            Assert.That(sink.Interrupted.IsSet, Is.False);
            sink.Full = true;
            Task<bool> run = Task.Run(() => session.RunMainPrograms());
            sink.Waiting.Wait();
            session.Stop();
            Assert.That(run.Result, Is.False);
            Assert.That(sink.Interrupted.IsSet, Is.True);
            Assert.That(sink.Taken, Is.EqualTo(4));
        }
    }

    private static IEnumerable<float> Expected(int first)
    {
        return Enumerable.Range(first, 8).Select(x => 2f * x + 1);
    }

    [Test]
    public void Scenario34Session()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            Assert.That(session.IsLoaded, Is.True);
            Assert.That(Names(session.UserInputs), Is.EqualTo("x f32[2,4]"));
            Assert.That(Names(session.UserOutputs), Is.EqualTo("y f32[2,4]"));
            Fails(ErrorCode.FailedPrecondition, session.VerifyConnected, "'x'", "'y'");
            Fails(ErrorCode.FailedPrecondition, () => session.RunMainPrograms(), "'x'", "'y'");
            var numbers = new Numbers();
            var results = new Results();
            session.SetUserInputHandler("x", numbers);
            session.SetUserOutputHandler("y", results);
            session.VerifyConnected();
            session.RunLoadPrograms();
            session.RunMainPrograms();
            numbers.Early = true;
            session.RunMainPrograms();
            session.RunMainPrograms();
            session.RunPrograms(1);
            session.RunSavePrograms();
            Assert.That(results.Taken.Count, Is.EqualTo(4));
            for (int i = 0; i < 4; i++) Assert.That(results.Taken[i], Is.EqualTo(Expected(i)));
            Assert.That(numbers.Fetched, Is.EqualTo(2));
            Assert.That(numbers.Prefetched, Is.EqualTo(3));
            Assert.That(numbers.Threads.Distinct(), Is.EqualTo(new[] { Thread.CurrentThread }));
            session.UnloadFromDevice();
            Assert.That(numbers.Invalidated, Is.EqualTo(1));
            Assert.That(session.IsLoaded, Is.False);
            Fails(ErrorCode.FailedPrecondition, () => session.RunMainPrograms(), "on no device");
            session.Reload();
            session.RunMainPrograms();
            Assert.That(results.Taken[4], Is.EqualTo(Expected(4)));
            Fails(ErrorCode.NotFound, () => session.SetUserInputHandler("nope", numbers), "'nope'", "'x'");
            Fails(ErrorCode.NotFound, () => session.RunPrograms(1, 9), "9");
            Fails(ErrorCode.NotFound, () => session.RunPrograms(-1));
            session.SetUserInputHandler("x", (InputHandler)null);
            Fails(ErrorCode.FailedPrecondition, () => session.RunMainPrograms(), "'x'");
        }
    }

    [Test]
    public void Scenario35NoDataAndExceptions()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            bool refuse = true;
            session.SetUserInputHandler("x", data => !refuse);
            session.SetUserOutputHandler("y", data => true);
            Fails(ErrorCode.Cancelled, () => session.RunMainPrograms());
            refuse = false;
            session.RunMainPrograms();
            var mine = new InvalidOperationException("thrown by the test");
            session.SetUserInputHandler("x", data => { throw mine; });
            Assert.That(Assert.Throws<InvalidOperationException>(() => session.RunMainPrograms()), Is.SameAs(mine));
            session.SetUserInputHandler("x", data => true);
            session.SetUserOutputHandler("y", data => { throw mine; });
            Assert.That(Assert.Throws<InvalidOperationException>(() => session.RunMainPrograms()), Is.SameAs(mine));
            session.SetUserOutputHandler("y", data => true);
            session.RunMainPrograms();
        }
    }

    [Test]
    public void Scenario36StopEndsARunThatWaits()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            var patient = new Patient();
            session.SetUserInputHandler("x", patient);
            session.SetUserOutputHandler("y", data => true);
            Task<bool> run = Task.Run(() => session.RunMainPrograms());
            patient.Waiting.Wait();
            session.Stop();
            Assert.That(run.Result, Is.False);
            Assert.That(session.RunMainPrograms(), Is.False);
            Fails(ErrorCode.Cancelled, session.RunSavePrograms, "stopped");
            session.SetUserInputHandler("x", data => true);
            session.Reload();
            Assert.That(session.RunMainPrograms(), Is.True);
            // A handler may stop its session.
            session.SetUserInputHandler("x", data =>
            {
                session.Stop();
                return true;
            });
            Assert.That(session.RunMainPrograms(), Is.False);
        }
    }

    [Test]
    public void Scenario37Predicates()
    {
        var asked = new List<string>();
        var options = new SessionOptions { Threads = 1 };
        options.UserAnchors = (name, isOutput, programs) =>
        {
            asked.Add(name + isOutput + string.Join(",", programs));
            return isOutput;
        };
        using (Executable executable = Affine(2))
        using (var session = new Session(executable, options))
        {
            Assert.That(asked, Is.EqualTo(new[] { "xFalse1", "yTrue1" }));
            Assert.That(session.UserInputs.Count, Is.EqualTo(0));
            Assert.That(session.UserOutputs.Count, Is.EqualTo(1));
            var results = new Results();
            session.SetUserOutputHandler("y", results);
            session.RunMainPrograms(); // zeros replace the rejected input
            Assert.That(results.Taken[0], Is.EqualTo(Enumerable.Repeat(1f, 8)));
            var mine = new InvalidOperationException("thrown by the test");
            options.UserAnchors = (name, isOutput, programs) => { throw mine; };
            Assert.That(Assert.Throws<InvalidOperationException>(() => new Session(executable, options)),
                Is.SameAs(mine));
        }
        AssertDevicesFree(4);
    }

    [Test]
    public void Scenario38Weights()
    {
        using (Session session = OpenSession(Weights()))
        {
            Assert.That(Names(session.UserInputs), Is.EqualTo("x f32[2,4]"));
            var results = new Results();
            session.SetUserInputHandler("x", data =>
            {
                Span<float> x = MemoryMarshal.Cast<byte, float>(data);
                for (int i = 0; i < x.Length; i++) x[i] = i;
                return true;
            });
            session.SetUserOutputHandler("y", results);
            session.RunMainPrograms();
            Assert.That(results.Taken[0], Is.EqualTo(new float[] { 1, 3, 7, 13, 5, 11, 19, 29 }));
            session.UpdateWeights<float>("w", new float[] { 5, 5, 5, 5 });
            session.RunMainPrograms();
            Assert.That(results.Taken[1], Is.EqualTo(new float[] { 1, 6, 11, 16, 21, 26, 31, 36 }));
            var value = new float[4];
            session.ReadWeights<float>("w", value);
            Assert.That(value, Is.EqualTo(new float[] { 5, 5, 5, 5 }));
            Fails(ErrorCode.NotFound, () => session.UpdateWeights<float>("x", value), "'x'", "'w'");
            Fails(ErrorCode.InvalidArgument, () => session.UpdateWeights<float>("w", new float[3]), "16", "12");
            Fails(ErrorCode.InvalidArgument, () => session.ReadWeights<float>("w", new float[3]), "16", "12");
        }
    }

    [Test]
    public void Scenario39TheNextSessionTakesTheDevice()
    {
        using (var manager = new DeviceManager())
        using (Device device = manager.GetDevice(1))
        using (Executable executable = Affine(2))
        {
            var options = new SessionOptions { Threads = 1, Device = device };
            var first = new Session(executable, options);
            options.Exclusive = true;
            var second = new Session(executable, options);
            Assert.That(first.IsLoaded, Is.False);
            Assert.That(second.IsLoaded, Is.True);
            Fails(ErrorCode.FailedPrecondition, () => first.BindToDevice(device), "another session");
            second.Dispose();
            first.BindToDevice(device);
            Assert.That(first.IsLoaded, Is.True);
            first.Dispose();
            using (var deferred = new Session(executable, new SessionOptions { Threads = 1, Deferred = true }))
            {
                Assert.That(deferred.IsLoaded, Is.False);
                deferred.BindToDevice();
                Assert.That(deferred.IsLoaded, Is.True);
            }
        }
    }

    [Test]
    public void Scenario40ASessionIsClosed()
    {
        Session session = OpenSession(Affine(2));
        var patient = new Patient();
        session.SetUserInputHandler("x", patient);
        session.SetUserOutputHandler("y", data => true);
        Task<bool> run = Task.Run(() => session.RunMainPrograms());
        patient.Waiting.Wait();
        session.Dispose();
        session.Dispose();
        Assert.That(run.Result, Is.False);
        Closed(() => session.RunMainPrograms());
        Closed(session.Stop);
        Closed(() => session.SetUserInputHandler("x", patient));
        Closed(() => session.CreateQueueManager());
        Assert.That(session.UserInputs[0].Name, Is.EqualTo("x"));
        AssertDevicesFree(4);
    }

    [Test]
    public void Scenario41TelemetryOfASession()
    {
        using (Executable executable = Affine(2))
        using (var session = new Session(executable, new SessionOptions { Threads = 1, Telemetry = true }))
        {
            session.SetUserInputHandler("x", data => true);
            session.SetUserOutputHandler("y", data => true);
            session.RunMainPrograms();
            string json = Library.ReadTelemetry().Replace(" ", "");
            Assert.That(json, Contains.Substring("\"pid\":" + Process.GetCurrentProcess().Id));
            Assert.That(json, Contains.Substring("\"runs\":1"));
        }
    }

    [Test]
    public void Scenario58ProfileOfASession()
    {
        using (Executable executable = Affine(2))
        using (var session = new Session(executable, new SessionOptions { Threads = 1, EnableProfile = true }))
        {
            session.SetUserInputHandler("x", data => true);
            session.SetUserOutputHandler("y", data => true);
            for (int i = 0; i < 3; i++) session.RunMainPrograms();
            string json = session.Profile().Replace(" ", "");
            Assert.That(json, Contains.Substring("\"runs\":3"));
            Assert.That(json, Contains.Substring("\"kernel\""));
            session.UnloadFromDevice();
            Fails(ErrorCode.FailedPrecondition, () => session.Profile(), "device");
        }
        using (Session session = OpenSession(Affine(2)))
            Fails(ErrorCode.FailedPrecondition, () => session.Profile(), "profiling");
    }
}
