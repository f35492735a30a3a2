using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Reading and writing PopEF files. Scenarios of tests/bindings/README.md, then features of C# only.</summary>
[TestFixture]
public sealed class PopefTest
{
    private static readonly Random random = new Random(7);

    private static byte[] Bytes(int count)
    {
        var bytes = new byte[count];
        random.NextBytes(bytes);
        return bytes;
    }

    private static string AffineFile(string name)
    {
        string file = Path.Combine(folder, name);
        Affine(2).Save(file);
        return file;
    }

    private static bool Has(byte[] all, byte[] part)
    {
        return all.AsSpan().IndexOf(part) >= 0;
    }

    [Test]
    public void Scenario51ReadAPopefFile()
    {
        string file = AffineFile("read.popef");
        PopefReader reader = PopefReader.Open(file);
        PopefBlob program = reader.Blobs(PopefBlobType.Executable).Single();
        using (Executable executable = Executable.Open(file)) Assert.That(program.Name, Is.EqualTo(executable.Name));
        PopefMetadata metadata = reader.Metadata().Single();
        Assert.That(metadata.Executable, Is.EqualTo(program.Name));
        PopefAnchor x = metadata.Anchors.Single(a => a.Name == "x");
        PopefAnchor y = metadata.Anchors.Single(a => a.Name == "y");
        Assert.That(x.Direction, Is.EqualTo(PopefDirection.HostToDevice));
        Assert.That(y.Direction, Is.EqualTo(PopefDirection.DeviceToHost));
        Assert.That(x.ToString() + " " + y, Is.EqualTo("x f32[2,4] y f32[2,4]"));
        Assert.That(x.ByteSize, Is.EqualTo(32));
        Assert.That(x.Handle, Is.Not.Empty);
        Assert.That(x.Programs, Is.Not.Empty);

        Assert.That(File.ReadAllText("/proc/self/maps"), Contains.Substring("read.popef"));
        PopefModel model = reader.Model();
        Assert.That(string.Join(" ", model.UserInputs) + " " + string.Join(" ", model.UserOutputs),
            Is.EqualTo("x f32[2,4] y f32[2,4]"));
        Assert.That(model.Metadata.MainPrograms, Is.EqualTo(metadata.MainPrograms));
        foreach (PopefModel same in reader.Models())
            using (same) Assert.That(same.Metadata.Executable, Is.EqualTo(program.Name));
        Fails(ErrorCode.FailedPrecondition, () => reader.Model("nope"), "nope");
        Assert.That(reader.Warnings(), Is.Empty);
        Assert.That(model.Warnings(), Is.Empty);

        byte[] code = program.ToArray();
        Assert.That(code.Length, Is.EqualTo(program.ByteSize));
        Assert.That(Has(File.ReadAllBytes(file), code));
        var part = new byte[12];
        program.Read(5, part.AsSpan(1, 10));
        Assert.That(part, Is.EqualTo(new byte[1].Concat(code.Skip(5).Take(10)).Concat(new byte[1])));
        program.Read(program.ByteSize, new byte[0]);
        Fails(ErrorCode.OutOfRange, () => program.Read(program.ByteSize - 9, new byte[10]));
        Fails(ErrorCode.OutOfRange, () => program.Read(-1, new byte[1]));

        Fails(ErrorCode.NotFound, () => PopefReader.Open(Path.Combine(folder, "missing.popef")), "missing.popef");
        Fails(ErrorCode.InvalidArgument, () => PopefReader.Open(Path.Combine(models, "affine.onnx")), "affine.onnx");
        PopefPayload payload = program.Map();
        reader.Dispose();
        reader.Dispose();
        Closed(() => reader.Blobs(PopefBlobType.Executable));
        Closed(() => reader.Metadata());
        Closed(() => reader.Model());
        Closed(() => program.ToArray());
        Closed(() => program.Map());
        Assert.That(payload.Span.SequenceEqual(code));
        Assert.That(payload.Slice(5, 10).SequenceEqual(code.AsSpan(5, 10)));
        Assert.Throws<ArgumentOutOfRangeException>(() => payload.Slice(payload.Length - 9, 10));
        Assert.Throws<ArgumentOutOfRangeException>(() => payload.Slice(-1, 1));
        payload.Dispose();
        Closed(() => payload.Slice(0, 1));
        Assert.That(model.Executable.ToArray(), Is.EqualTo(code));
        model.Dispose();
        Closed(() => model.Blobs(PopefBlobType.Executable));
        Assert.That(File.ReadAllText("/proc/self/maps"), Is.Not.StringContaining("read.popef"));
    }

    private static PopefMetadata Metadata()
    {
        var metadata = new PopefMetadata
        {
            Executable = "model", SeedHandle = "h2d_seed", ReplicationFactor = 2, NumIpus = 4, IpuVersion = 21,
            IsPod = true, NumProcesses = 3, IsInference = false, DeviceIterations = 1L << 40
        };
        metadata.EngineOptions.Add(new KeyValuePair<string, string>("b", "1"));
        metadata.EngineOptions.Add(new KeyValuePair<string, string>("a", ""));
        metadata.DeviceOptions.Add(new KeyValuePair<string, string>("tiles", "16"));
        metadata.LoadPrograms.AddRange(new uint[] { 0, 2 });
        metadata.MainPrograms.Add(5);
        metadata.SavePrograms.AddRange(new uint[] { 7, uint.MaxValue });
        metadata.ProgramNames[5] = "størrelse";
        metadata.ProgramNames[0] = "WeightsFromHost";
        metadata.Anchors.Add(new PopefAnchor("x", PopefDirection.HostToDevice, DataType.F32, 2, 2)
            { Handle = "h2d_x", Programs = new uint[] { 5 }, IsPerReplica = true });
        metadata.Anchors.Add(new PopefAnchor("w", PopefDirection.None, DataType.F16, 2, 3));
        metadata.Anchors.Add(new PopefAnchor("fed", PopefDirection.HostToDevice, DataType.F32, 2, 2)
            { Handle = "h2d_fed", Programs = new uint[] { 5 } });
        metadata.Anchors.Add(new PopefAnchor("y", PopefDirection.DeviceToHost, DataType.F8143)
            { Handle = "d2h_y", Programs = new uint[] { 5 } });
        return metadata;
    }

    /// <summary>All fields as text, for comparisons.</summary>
    private static string Text(PopefMetadata m)
    {
        return string.Join("; ", m.Executable, m.SeedHandle, m.ReplicationFactor, m.NumIpus, m.IpuVersion, m.IsPod,
            m.NumProcesses, m.IsInference, m.DeviceIterations, string.Join(",", m.EngineOptions),
            string.Join(",", m.DeviceOptions), string.Join(",", m.LoadPrograms), string.Join(",", m.MainPrograms),
            string.Join(",", m.SavePrograms), string.Join(",", m.ProgramNames),
            string.Join(",", m.Anchors.Select(a => string.Join(" ", a, a.Direction, a.Handle,
                string.Join("+", a.Programs), a.IsPerReplica, a.ByteSize))));
    }

    /// <summary>If one of several files cannot be opened, the files before it are closed.</summary>
    [Test]
    public void AReaderThatCannotBeOpenedKeepsNoFile()
    {
        string file = AffineFile("kept.popef");
        using (PopefReader.Open(file))
            Assert.That(File.ReadAllText("/proc/self/maps"), Contains.Substring("kept.popef"));
        Fails(ErrorCode.NotFound, () => PopefReader.Open(file, Path.Combine(folder, "none.popef")), "none.popef");
        Assert.That(File.ReadAllText("/proc/self/maps"), Is.Not.StringContaining("kept.popef"));
    }

    /// <summary>A round trip does not find a value that is set and read wrongly in the same way.</summary>
    [Test]
    public void MetadataHasTheValuesThatWereSet()
    {
        Assert.That(Text(Metadata()), Is.StringStarting("model; h2d_seed; 2; 4; 21; True; 3; False; 1099511627776; " +
            "[b, 1],[a, ]; [tiles, 16]; 0,2; 5; 7,4294967295; "));
        var m = new PopefMetadata();
        Assert.That(Text(m), Is.EqualTo("; ; 1; 1; 2; False; 1; True; 1; ; ; ; ; ; ; "));
        Assert.That(m.IsPod, Is.False);
        Assert.That(m.IsInference, Is.True);
        foreach (bool value in new[] { true, false, true })
        {
            m.IsPod = value;
            m.IsInference = value;
            Assert.That(m.IsPod, Is.EqualTo(value));
            Assert.That(m.IsInference, Is.EqualTo(value));
        }
    }

    [Test]
    public void Scenario52WriteAPopefFile()
    {
        string file = Path.Combine(folder, "størrelse.popef");
        byte[] code = Bytes(10000).Select(b => (byte)(b & 3)).ToArray();
        ushort[] weights = MemoryMarshal.Cast<byte, ushort>(Bytes(12)).ToArray();
        float[] images = Enumerable.Range(0, 12).Select(i => (float)random.NextDouble()).ToArray();
        foreach (bool compress in new[] { false, true })
        {
            using (var writer = new PopefWriter(file))
            {
                Fails(ErrorCode.FailedPrecondition, () => writer.Write<byte>(code), "begun");
                writer.WriteMetadata(Metadata());
                writer.BeginExecutable("model", compress);
                writer.Write<byte>(code.AsSpan(0, 1));
                writer.Write<byte>(code.AsSpan(1));
                writer.BeginOpaque("notes", "model");
                writer.Write<byte>(Encoding.UTF8.GetBytes("free text"));
                writer.BeginTensor("w", DataType.F16, new long[] { 2, 3 });
                writer.Write<ushort>(weights);
                writer.BeginFeed("fed", 3, DataType.F32, new long[] { 2, 2 });
                writer.Write<float>(images.AsSpan(0, 4));
                writer.Write<float>(images.AsSpan(4));
                writer.Write<float>(new float[0]);
                writer.Finish();
                writer.Finish();
                Fails(ErrorCode.FailedPrecondition, () => writer.WriteMetadata(Metadata()));
                writer.Dispose();
                Closed(writer.Finish);
            }
            using (PopefReader reader = PopefReader.Open(file))
            using (PopefModel model = reader.Models().Single())
            {
                Assert.That(Text(reader.Metadata().Single()), Is.EqualTo(Text(Metadata())));
                Assert.That(model.Executable.IsCompressed, Is.EqualTo(compress));
                Assert.That(model.Executable.ToArray(), Is.EqualTo(code));
                using (PopefPayload payload = model.Executable.Map()) Assert.That(payload.Span.SequenceEqual(code));
                PopefBlob notes = model.Blobs(PopefBlobType.Opaque).Single();
                Assert.That(notes.Name + notes.Executable, Is.EqualTo("notesmodel"));
                Assert.That(Encoding.UTF8.GetString(notes.ToArray()), Is.EqualTo("free text"));
                PopefBlob w = reader.Blobs(PopefBlobType.Tensor).Single();
                Assert.That(w.ToString(), Is.EqualTo("Tensor w 12 bytes"));
                Assert.That(w.DataType, Is.EqualTo(DataType.F16));
                Assert.That(w.Shape, Is.EqualTo(new[] { 2, 3 }));
                using (PopefPayload payload = w.Map())
                    Assert.That(MemoryMarshal.Cast<byte, ushort>(payload.Span).ToArray(), Is.EqualTo(weights));
                PopefBlob fed = reader.Blobs(PopefBlobType.Feed).Single();
                Assert.That(fed.TensorCount, Is.EqualTo(3));
                var values = new float[12];
                fed.Read(0, MemoryMarshal.AsBytes(values.AsSpan()));
                Assert.That(values, Is.EqualTo(images));
                Assert.That(model.UserInputs.Single().Name + model.UserOutputs.Single().Name, Is.EqualTo("xy"));
            }
        }

        string npy = Path.Combine(folder, "exported.npy");
        Popef.ExportTensor(file, "w", npy);
        byte[] exported = File.ReadAllBytes(npy);
        Assert.That(MemoryMarshal.Cast<byte, ushort>(exported.AsSpan(exported.Length - 12)).ToArray(), Is.EqualTo(weights));
        Popef.ExportFeed(file, "fed", npy);
        exported = File.ReadAllBytes(npy);
        Assert.That(MemoryMarshal.Cast<byte, float>(exported.AsSpan(exported.Length - 48)).ToArray(), Is.EqualTo(images));
        Fails(ErrorCode.NotFound, () => Popef.ExportFeed(file, "w", npy), "w");
        byte[] before = File.ReadAllBytes(file);
        using (var writer = new PopefWriter(file)) writer.BeginOpaque("lost");
        using (var writer = new PopefWriter(file))
        {
            writer.BeginTensor("w", DataType.F16, new long[] { 2, 3 });
            writer.Write<byte>(new byte[11]);
            Fails(ErrorCode.InvalidArgument, writer.Finish, "12", "11");
            Fails(ErrorCode.FailedPrecondition, writer.Finish);
        }
        Assert.That(File.ReadAllBytes(file), Is.EqualTo(before));

        using (var writer = new PopefWriter(file, PopefMode.Append))
        {
            writer.BeginTensor("w", DataType.F16, new long[] { 2, 3 }, "model");
            writer.Write<byte>(before.AsSpan(0, 12));
            writer.Finish();
        }
        using (PopefReader reader = PopefReader.Open(File.ReadAllBytes(file).AsSpan()))
        using (PopefModel model = reader.Model("model"))
            Assert.That(model.Blobs(PopefBlobType.Tensor).Single().ToArray(), Is.EqualTo(before.Take(12)));
    }

    private static void WriteFeeds(PopefWriter writer, float[] images)
    {
        using (writer)
        {
            writer.WriteMetadata(new PopefMetadata { Executable = "model" });
            writer.BeginFeeds(new[] { new PopefFeed("image", 3, DataType.F32, 2, 2), new PopefFeed("label", 3, DataType.U8) },
                "model");
            for (int i = 0; i < 2; i++)
            {
                writer.WriteFeed<float>(0, images.AsSpan(4 * i, 4));
                writer.WriteFeed<byte>(1, new[] { (byte)i });
            }
            writer.WriteFeed<float>(0, images.AsSpan(8));
            writer.WriteFeed<byte>(1, new byte[] { 2 });
            writer.Finish();
        }
    }

    private sealed class FullStream : MemoryStream
    {
        internal Exception Thrown;

        public override void Write(byte[] buffer, int offset, int count)
        {
            throw Thrown;
        }
    }

    [Test]
    public void Scenario53FeedsSideBySideAndStreams()
    {
        string file = Path.Combine(folder, "feeds.popef");
        float[] images = Enumerable.Range(0, 12).Select(i => (float)random.NextDouble()).ToArray();
        WriteFeeds(new PopefWriter(file), images);
        var stream = new MemoryStream();
        WriteFeeds(new PopefWriter(stream), images);
        Assert.That(stream.ToArray(), Is.EqualTo(File.ReadAllBytes(file)));
        using (PopefReader reader = PopefReader.Open(file))
        {
            PopefBlob[] feeds = reader.Blobs(PopefBlobType.Feed).ToArray();
            Assert.That(string.Join(", ", feeds.Select(f => f + " " + f.Executable)),
                Is.EqualTo("Feed image 48 bytes model, Feed label 3 bytes model"));
            Assert.That(feeds[0].ToArray(), Is.EqualTo(MemoryMarshal.AsBytes(images.AsSpan()).ToArray()));
            Assert.That(feeds[1].ToArray(), Is.EqualTo(new byte[] { 0, 1, 2 }));
        }

        foreach (int none in new[] { 1, -1 })
            using (var writer = new PopefWriter(new MemoryStream()))
            {
                writer.BeginFeeds(new[] { new PopefFeed("label", 3, DataType.U8) });
                Fails(ErrorCode.InvalidArgument, () => writer.WriteFeed<byte>(none, new byte[1]));
            }
        using (var writer = new PopefWriter(new MemoryStream()))
        {
            writer.BeginFeeds(new[] { new PopefFeed("label", 3, DataType.U8) });
            writer.WriteFeed<byte>(0, new byte[2]);
            Fails(ErrorCode.InvalidArgument, writer.Finish);
        }
        var thrown = new IOException("full");
        using (var writer = new PopefWriter(new FullStream { Thrown = thrown }))
        {
            Assert.That(Assert.Throws<IOException>(() =>
            {
                writer.BeginOpaque("notes");
                writer.Write<byte>(new byte[9]);
                writer.Finish();
            }), Is.SameAs(thrown));
            Fails(ErrorCode.Cancelled, writer.Finish);
        }
    }

    [Test]
    public void AReaderIsDisposedOfWhileOthersRead()
    {
        string file = AffineFile("closing.popef");
        for (int round = 0; round < 50; round++)
        {
            PopefReader reader = PopefReader.Open(file);
            PopefBlob program = reader.Blobs(PopefBlobType.Executable).Single();
            byte[] code = program.ToArray();
            var reading = new CountdownEvent(3);
            Task[] readers = Enumerable.Range(0, 3).Select(i => Task.Factory.StartNew(() =>
            {
                for (bool first = true; ; first = false)
                {
                    if (!program.ToArray().SequenceEqual(code)) throw new InvalidDataException();
                    using (PopefPayload payload = program.Map())
                        if (!payload.Span.SequenceEqual(code)) throw new InvalidDataException();
                    if (first) reading.Signal();
                }
            }, TaskCreationOptions.LongRunning)).ToArray();
            reading.Wait();
            reader.Dispose();
            foreach (Task task in readers)
                Assert.That(Assert.Throws<AggregateException>(task.Wait).InnerException,
                    Is.InstanceOf<ObjectDisposedException>());
        }
    }

    [Test]
    public void AForgottenReaderIsKeptByItsBlobs()
    {
        PopefBlob program = PopefReader.Open(AffineFile("forgotten.popef")).Blobs(PopefBlobType.Executable).Single();
        for (int i = 0; i < 20; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Assert.That(program.ToArray().Length, Is.EqualTo(program.ByteSize));
    }

    private sealed class Broken : MemoryStream
    {
        internal Broken(byte[] bytes) : base(bytes)
        {
        }

        public override int Read(byte[] buffer, int offset, int count)
        {
            throw new InvalidOperationException("of the test");
        }
    }

    /// <summary>A stream that returns a few bytes at a time, and counts them.</summary>
    private sealed class Dribble : MemoryStream
    {
        private readonly int most;
        internal long Given;

        internal Dribble(byte[] bytes, int most) : base(bytes)
        {
            this.most = most;
        }

        public override int Read(byte[] buffer, int offset, int count)
        {
            int size = base.Read(buffer, offset, Math.Min(count, most));
            Given += size;
            return size;
        }
    }

    [Test]
    public void Scenario59ASourceMayGiveAFewBytesAtATime()
    {
        string file = AffineFile("dribble.popef");
        byte[] code;
        using (PopefReader reader = PopefReader.Open(file)) code = reader.Blobs(PopefBlobType.Executable).Single().ToArray();
        foreach (int most in new[] { 1, 7, 11, 64 })
        {
            var stream = new Dribble(File.ReadAllBytes(file), most);
            using (PopefReader reader = PopefReader.Open(stream))
            {
                stream.Given = 0;
                Assert.That(reader.Blobs(PopefBlobType.Executable).Single().ToArray(), Is.EqualTo(code));
                Assert.That(stream.Given, Is.EqualTo(code.Length)); // no byte after the program was read
            }
        }
    }

    [Test]
    public void Scenario59PopefByPosition()
    {
        string file = AffineFile("position.popef");
        byte[] code;
        using (PopefReader reader = PopefReader.Open(file))
        {
            code = reader.Blobs(PopefBlobType.Executable).Single().ToArray();
            Kind(PopefError.Link, () => reader.Model("nope"));
        }
        using (FileStream stream = File.OpenRead(file))
        {
            PopefReader reader = PopefReader.Open(stream);
            Assert.That(reader.Blobs(PopefBlobType.Executable).Single().ToArray(), Is.EqualTo(code));
            PopefModel model = reader.Model();
            reader.Dispose();
            using (Executable executable = Executable.Open(model)) CheckAffine(executable);
            using (PopefPayload payload = model.Executable.Map())
                Assert.That(payload.Span.ToArray(), Is.EqualTo(code));
            model.Dispose();
        }
        var broken = new Broken(File.ReadAllBytes(file));
        Assert.That(Assert.Throws<InvalidOperationException>(() => PopefReader.Open(broken)).Message,
            Is.EqualTo("of the test"));
        string onnx = Path.Combine(models, "affine.onnx");
        using (FileStream stream = File.OpenRead(onnx)) Kind(PopefError.Format, () => PopefReader.Open(stream));
        Kind(PopefError.Format, () => PopefReader.Open(onnx));
        Kind(PopefError.File, () => PopefReader.Open(Path.Combine(folder, "missing.popef")));
        Kind(PopefError.None, () => Compile("missing.onnx"));
    }

    private static void Kind(PopefError expected, TestDelegate call)
    {
        Assert.That(Assert.Throws<PoprtException>(call).PopefError, Is.EqualTo(expected));
    }
}
