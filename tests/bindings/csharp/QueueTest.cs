using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Queues of sessions: scenarios 42 to 45.</summary>
[TestFixture]
public sealed class QueueTest
{
    private static float[] Numbers(int first)
    {
        return Enumerable.Range(first, 8).Select(x => (float)x).ToArray();
    }

    private static IEnumerable<float> Expected(int first)
    {
        return Enumerable.Range(first, 8).Select(x => 2f * x + 1);
    }

    [Test]
    public void Scenario130QueuesAfterAWrongOption()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            QueueManager queues = session.CreateQueueManager(new QueueOptions { Buffers = 4 });
            Fails(ErrorCode.InvalidArgument, () => session.CreateQueueManager(new QueueOptions { Buffers = 1 << 30 }));
            var y = new float[8];
            queues.InputQueue("x").Enqueue(Numbers(3));
            Task done = queues.OutputQueue("y").Enqueue(y);
            session.RunMainPrograms();
            done.Wait();
            Assert.That(y, Is.EqualTo(Expected(3)));
        }
    }

    [Test]
    public void Scenario42Queues()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            QueueManager queues = session.CreateQueueManager(new QueueOptions { Buffers = 3 });
            session.VerifyConnected();
            InputQueue input = queues.InputQueue("x");
            OutputQueue output = queues.OutputQueue("y");
            Assert.That(queues.InputQueue("x"), Is.SameAs(input));
            Assert.That(input.Anchor.ToString(), Is.EqualTo("x f32[2,4]"));
            Assert.That(input.Capacity, Is.EqualTo(4));
            Fails(ErrorCode.NotFound, () => queues.InputQueue("y"), "'y'", "'x'");
            Fails(ErrorCode.NotFound, () => queues.OutputQueue("x"), "'x'", "'y'");
            const int runs = 100; // more than the queues hold, so producers wait
            Task engine = Task.Run(() =>
            {
                for (int i = 0; i < runs; i++) session.RunMainPrograms();
            });
            var results = new List<float[]>();
            var done = new List<Task>();
            for (int i = 0; i < runs; i++)
            {
                results.Add(new float[8]);
                done.Add(input.Enqueue(Numbers(i)));
                done.Add(output.Enqueue(results[i]));
            }
            Task.WaitAll(done.ToArray());
            engine.Wait();
            for (int i = 0; i < runs; i++) Assert.That(results[i], Is.EqualTo(Expected(i)));
            Assert.That(input.ReadAvailable, Is.EqualTo(0));
            Assert.That(Library.BytesCopied, Is.EqualTo(0));
            // An element may be a part of a transfer, or several transfers.
            var y = new float[16];
            Task filled = output.Enqueue(y);
            float[] x = Numbers(5);
            input.Enqueue(new ReadOnlyMemory<float>(x, 0, 3));
            input.Enqueue(new ReadOnlyMemory<float>(x, 3, 5));
            input.Enqueue(Numbers(6));
            Assert.That(input.ReadAvailable, Is.EqualTo(3));
            session.RunMainPrograms();
            Assert.That(filled.Wait(1), Is.False);
            session.RunMainPrograms();
            filled.Wait();
            Assert.That(y, Is.EqualTo(Expected(5).Concat(Expected(6))));
            // Wrong elements are refused.
            Fails(ErrorCode.InvalidArgument, () => input.Enqueue(new double[4]), "x", "f32");
            Fails(ErrorCode.InvalidArgument, () => input.Enqueue(new float[0]), "x", "memory");
        }
    }

    /// <summary>Threads that ask for a queue at the same time get the same object.</summary>
    [Test]
    public void QueuesAreTheSameForAllThreads()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            for (int round = 0; round < 400; round++)
            {
                QueueManager queues = session.CreateQueueManager();
                Func<object> queue = () => queues.InputQueue("x");
                if (round % 2 != 0) queue = () => queues.OutputQueue("y");
                var found = new object[2];
                int ready = 0;
                Thread[] threads = Enumerable.Range(0, 2).Select(i => new Thread(() =>
                {
                    Interlocked.Increment(ref ready);
                    while (Volatile.Read(ref ready) != 2) Thread.SpinWait(1);
                    found[i] = queue();
                })).ToArray();
                foreach (Thread thread in threads) thread.Start();
                foreach (Thread thread in threads) thread.Join();
                Assert.That(found, Has.All.SameAs(queue()));
            }
        }
    }

    [Test]
    public void Scenario43PaddingAfterATimeout()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            int calls = 0;
            InputQueue which = null;
            QueueManager queues = session.CreateQueueManager(new QueueOptions
            {
                Timeout = TimeSpan.FromMilliseconds(1),
                OnTimeout = queue =>
                {
                    which = queue;
                    calls++;
                    queue.Enqueue(new float[4]);
                }
            });
            InputQueue input = queues.InputQueue("x");
            var y = new float[8];
            Task filled = queues.OutputQueue("y").Enqueue(y);
            input.Enqueue(new float[] { 1, 2, 3, 4 });
            session.RunMainPrograms();
            filled.Wait();
            Assert.That(calls, Is.EqualTo(1));
            Assert.That(which, Is.SameAs(input));
            Assert.That(y, Is.EqualTo(new float[] { 3, 5, 7, 9, 1, 1, 1, 1 }));
            var mine = new InvalidOperationException("thrown by the test");
            session.CreateQueueManager(new QueueOptions
            {
                Timeout = TimeSpan.FromMilliseconds(1),
                OnTimeout = queue => { throw mine; }
            }).OutputQueue("y").Enqueue(y);
            Assert.That(Assert.Throws<InvalidOperationException>(() => session.RunMainPrograms()), Is.SameAs(mine));
            Assert.That(session.RunMainPrograms(), Is.False); // the exception stopped the session
        }
    }

    [Test]
    public void Scenario44FlushAndDisconnect()
    {
        using (Session session = OpenSession(Affine(2)))
        {
            QueueManager queues = session.CreateQueueManager();
            InputQueue input = queues.InputQueue("x");
            Assert.That(input.Capacity, Is.EqualTo(16));
            Task waits = input.Enqueue(Numbers(0));
            queues.FlushAll();
            Assert.That(IsCancelled(waits), Is.True);
            input.Enqueue(Numbers(1));
            queues.OutputQueue("y").Enqueue(new float[8]);
            session.RunMainPrograms();
            Task late = input.Enqueue(Numbers(2));
            queues.DisconnectAll();
            Assert.That(IsCancelled(late), Is.True);
            Fails(ErrorCode.Cancelled, () => input.Enqueue(Numbers(3)), "disconnected");
            Assert.That(session.RunMainPrograms(), Is.False);
            // Other queues replace them, also while a run waits for the first ones.
            QueueManager second = session.CreateQueueManager();
            Closed(() => GC.KeepAlive(input.ReadAvailable));
            Closed(() => input.Enqueue(Numbers(0)));
            Closed(queues.FlushAll);
            using (var begun = new ManualResetEventSlim())
            {
                Task run = Task.Run(() =>
                {
                    begun.Set();
                    Assert.That(session.RunMainPrograms(), Is.False);
                });
                begun.Wait();
                QueueManager third = session.CreateQueueManager();
                Closed(second.DisconnectAll);
                if (!run.Wait(100)) third.DisconnectAll(); // the run had not begun
                run.Wait();
            }
        }
    }

    [Test]
    public void Scenario45QueuesAndAClosedSession()
    {
        Session session = OpenSession(Affine(2));
        QueueManager queues = session.CreateQueueManager(new QueueOptions { Buffers = 1 });
        InputQueue input = queues.InputQueue("x");
        Task first = input.Enqueue(Numbers(0));
        Exception refused = null;
        using (var begun = new ManualResetEventSlim())
        {
            // The queue is full, so this producer waits until the session is closed.
            var producer = new Thread(() =>
            {
                begun.Set();
                try
                {
                    input.Enqueue(Numbers(1));
                }
                catch (Exception e)
                {
                    refused = e;
                }
            });
            producer.Start();
            begun.Wait();
            session.Dispose();
            producer.Join();
        }
        Assert.That(IsCancelled(first), Is.True);
        var error = refused as PoprtException;
        Assert.That(refused is ObjectDisposedException || error != null && error.Code == ErrorCode.Cancelled, Is.True,
            "" + refused);
        Closed(() => input.Enqueue(Numbers(0)));
        Closed(queues.DisconnectAll);
        Closed(() => GC.KeepAlive(input.Capacity));
        AssertDevicesFree(4);
    }
}
