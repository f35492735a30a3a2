using System;
using System.IO;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Generators: scenarios 85 to 88, 95 to 99, 109 and 110.</summary>
[TestFixture]
public sealed class GeneratorTest
{
    private static readonly string folder = Path.Combine(models, "../../data/generation/genai");
    private static readonly long[] prompt = { 6, 42, 26 };
    private static readonly long[] tokens = { 33, 33, 24, 21, 43, 37, 34, 43 };

    private static Generator Make(long slots = 1)
    {
        return new Generator(folder, new GeneratorOptions { Threads = 1, Slots = slots });
    }

    private static Sequence Text(Generator generator, int maxNewTokens = 8)
    {
        Sequence sequence = generator.NewSequence(prompt);
        sequence.SetOption("max_new_tokens", maxNewTokens);
        sequence.SetOption("ignore_stop", 1);
        return sequence;
    }

    [Test]
    public void Scenario85Generate()
    {
        string file = Path.GetTempFileName() + ".popef";
        using (Generator generator = Make(2))
        using (Sequence first = Text(generator))
        using (Sequence second = Text(generator))
        {
            Assert.That(generator.MaxLength, Is.EqualTo(64));
            Assert.That(generator.Slots, Is.EqualTo(2));
            Assert.That(generator.Vocabulary, Is.EqualTo(53));
            first.Start();
            second.Start();
            Assert.That(first.ReadAll(), Is.EqualTo(tokens));
            Assert.That(first.LogProbability, Is.LessThan(0));
            Assert.That(first.FinishReason(), Is.EqualTo("length"));
            Assert.That(second.ReadAll(), Is.EqualTo(tokens));
            Assert.That(generator.Statistics(), Contains.Substring("\"ended\":2"));
            generator.Save(file);
            using (var saved = new Generator(file))
            using (Sequence again = Text(saved))
            {
                saved.Dispose(); // the sequence keeps the generator alive
                again.Start();
                Assert.That(again.ReadAll(), Is.EqualTo(tokens));
            }
            File.Delete(file);
        }
    }

    [Test]
    public void Scenario86WrongGenerators()
    {
        Fails(ErrorCode.NotFound, () => new Generator("missing_folder"), "missing_folder");
        Fails(ErrorCode.Unimplemented, () => new Generator(Path.Combine(models, "affine.onnx")), "input_ids");
        string file = Path.GetTempFileName() + ".popef";
        using (Executable affine = Affine(2)) affine.Save(file);
        Fails(ErrorCode.FailedPrecondition, () => new Generator(file), "not compiled for generation");
        File.Delete(file);
        using (Generator generator = Make())
        using (Sequence sequence = generator.NewSequence())
        {
            Fails(ErrorCode.InvalidArgument, () => sequence.Append(53), "53");
            Fails(ErrorCode.NotFound, () => sequence.SetOption("heat", 1), "temperature");
            Fails(ErrorCode.InvalidArgument, () => sequence.SetOption("top_p", 2), "top_p");
            Fails(ErrorCode.InvalidArgument, () => sequence.Start(), "empty");
            Fails(ErrorCode.FailedPrecondition, () => sequence.Next(-1), "not started");
        }
    }

    [Test]
    public void Scenario131ATextAfterWrongOptions()
    {
        using (Generator generator = Make())
        using (Sequence sequence = Text(generator))
        {
            Fails(ErrorCode.NotFound, () => sequence.SetOption("heat", 1), "temperature");
            Fails(ErrorCode.InvalidArgument, () => sequence.SetOption("top_p", 2), "top_p");
            Fails(ErrorCode.InvalidArgument, () => sequence.Append(53), "53");
            sequence.SetOption("num_beams", 2);
            Fails(ErrorCode.InvalidArgument, () => sequence.Start(), "slots");
            sequence.SetOption("num_beams", 1);
            sequence.Start();
            Assert.That(sequence.ReadAll(), Is.EqualTo(tokens));
        }
    }

    [Test]
    public void Scenario87Logits()
    {
        using (Generator generator = Make())
        using (Sequence sequence = Text(generator, 1))
        {
            sequence.SetOption("wait_for_logits", 1);
            sequence.Start();
            Assert.That(sequence.WaitLogits(-1), Is.EqualTo(53));
            for (int i = 0; i < 53; i++) Assert.That(sequence.Logit(i), Is.LessThanOrEqualTo(sequence.Logit(tokens[0])));
            sequence.SetLogit(5, 1e6);
            sequence.Resume();
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 5 }));
        }
    }

    [Test]
    public void Scenario88Ends()
    {
        using (Generator generator = Make())
        using (Sequence sequence = Text(generator, 0))
        using (Sequence first = Text(generator, 0))
        using (Sequence second = Text(generator))
        {
            sequence.AddStopToken(24);
            sequence.AddBadToken(21);
            sequence.Start();
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 33, 33, 24 }));
            Assert.That(sequence.FinishReason(), Is.EqualTo("stop"));
            first.SetOption("wait_for_logits", 1);
            first.Start();
            second.Start();
            Fails(ErrorCode.DeadlineExceeded, () => second.Next(1000), "1000 ns");
            first.Cancel();
            Assert.That(second.ReadAll(), Is.EqualTo(tokens));
            Assert.That(first.Next(-1), Is.EqualTo(-1));
            Assert.That(first.FinishReason(), Is.EqualTo("cancelled"));
        }
    }

    [Test]
    public void Scenario127CloseEndsWaiting()
    {
        using (Generator generator = Make())
        using (Sequence holder = Text(generator, 0))
        using (Sequence next = Text(generator))
        {
            Sequence waiting = Text(generator);
            holder.SetOption("wait_for_logits", 1);
            holder.Start();
            holder.WaitLogits(-1); // it has the only slot
            waiting.Start();
            var ended = Task.Run(() => waiting.ReadAll());
            Thread.Sleep(50); // it waits for a slot
            waiting.Dispose();
            var failure = Assert.Throws<AggregateException>(() => ended.Wait(60000));
            Assert.That(failure.InnerException, Is.InstanceOf<ObjectDisposedException>());
            Assert.Throws<ObjectDisposedException>(() => waiting.Cancel());
            waiting.Dispose();
            holder.Dispose();
            next.Start();
            Assert.That(next.ReadAll(), Is.EqualTo(tokens));
        }
    }

    private static Sequence Eight(Generator generator, params long[] source)
    {
        Sequence sequence = generator.NewSequence(source);
        sequence.SetOption("max_new_tokens", 8);
        sequence.SetOption("ignore_stop", 1);
        return sequence;
    }

    private static string Model(string name)
    {
        return Path.Combine(models, "../../data/generation/" + name);
    }

    [Test]
    public void Scenario95Encoder()
    {
        using (var generator = new Generator(Model("t5"), new GeneratorOptions { Threads = 1, EncoderLength = 40 }))
        using (Sequence sequence = Eight(generator, 11, 16, 27, 26, 4))
        using (Sequence wrong = Eight(generator, new long[41]))
        {
            foreach (long token in new long[] { 3, 8, 1 }) sequence.AppendDecoder(token);
            sequence.Start();
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 1, 1, 30, 18, 35, 35, 42, 10 }));
            Fails(ErrorCode.InvalidArgument, () => wrong.AppendFeature(1), "features");
            Fails(ErrorCode.OutOfRange, () => wrong.Start(), "encoder_length");
        }
        foreach (string name in new[] { "t5", "genai" })
            Fails(ErrorCode.InvalidArgument,
                () => new Generator(Model(name), new GeneratorOptions { EncoderLength = 41 }), "encoder_length");
    }

    [Test]
    public void Scenario96Features()
    {
        using (var generator = new Generator(Model("whisper"), new GeneratorOptions { Threads = 1 }))
        using (Sequence sequence = Eight(generator))
        using (Sequence wrong = Eight(generator))
        {
            sequence.ReadFeatures(Model("whisper/features.npy"));
            Fails(ErrorCode.OutOfRange, () => sequence.AppendFeature(1), "288");
            sequence.Start();
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 14, 29, 41, 13, 40, 13, 15, 13 }));
            Fails(ErrorCode.NotFound, () => wrong.ReadFeatures("missing.npy"), "missing.npy");
            Fails(ErrorCode.InvalidArgument, () => wrong.Start(), "features");
        }
    }

    [Test]
    public void Scenario97Beams()
    {
        using (Generator generator = Make(3))
        using (Sequence sequence = generator.NewSequence(5, 9, 2))
        using (Sequence wrong = Text(generator))
        {
            sequence.SetOption("num_beams", 3);
            sequence.SetOption("num_return_sequences", 2);
            sequence.SetOption("length_penalty", 2);
            sequence.SetOption("early_stopping", 1);
            sequence.SetOption("max_new_tokens", 10);
            sequence.Start();
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 46, 25, 4, 46, 20, 33, 11, 25, 4, 47 }));
            Assert.That(sequence.Score, Is.EqualTo(-0.053866).Within(1e-4));
            Assert.That(sequence.NextText(), Is.True);
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 46, 25, 4, 46, 20, 33, 9, 23, 0, 34 }));
            Assert.That(sequence.Score, Is.EqualTo(-0.064983).Within(1e-4));
            Assert.That(sequence.NextText(), Is.False);
            wrong.SetOption("num_beams", 4);
            Fails(ErrorCode.InvalidArgument, () => wrong.Start(), "slots");
        }
    }

    [Test]
    public void Scenario109SavedTextInMemory()
    {
        using (Generator generator = Make(), more = Make(2))
        using (Sequence sequence = Text(generator))
        using (Sequence again = generator.NewSequence())
        using (Sequence other = more.NewSequence())
        {
            Fails(ErrorCode.FailedPrecondition, () => sequence.SaveBytes(), "not started");
            sequence.Start();
            for (int i = 0; i < 3; i++) sequence.Next(-1);
            byte[] saved = sequence.SaveBytes();
            Fails(ErrorCode.DataLoss, () => again.RestoreBytes(saved.AsSpan(0, 100)), "damaged");
            Fails(ErrorCode.DataLoss, () => again.RestoreBytes(new byte[0]), "saved sequence");
            again.RestoreBytes(saved);
            Fails(ErrorCode.FailedPrecondition, () => again.Append(1), "saved text");
            again.Start();
            Assert.That(again.ReadAll(), Is.EqualTo(new long[] { 21, 43, 37, 34, 43 }));
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 21, 43, 37, 34, 43 }));
            Fails(ErrorCode.FailedPrecondition, () => other.RestoreBytes(saved), "another model");
        }
    }

    [Test]
    public void Scenario110ByteCaches()
    {
        var options = new GeneratorOptions { Threads = 1, CachePrecision = "int8" };
        string file = Path.GetTempFileName() + ".popef";
        using (var generator = new Generator(Model("genai"), options))
        {
            Assert.That(generator.Statistics().Contains("\"cache_bytes\":4096"), Is.True);
            generator.Save(file);
        }
        using (var generator = new Generator(file, options))
        using (Sequence sequence = Text(generator))
        using (Generator exact = Make())
        using (Sequence wanted = Text(exact))
        {
            sequence.Start();
            wanted.Start();
            Assert.That(sequence.ReadAll(), Is.EqualTo(wanted.ReadAll()));
            exact.Save(file + ".exact.popef");
        }
        Fails(ErrorCode.InvalidArgument, () => new Generator(file + ".exact.popef", options),
            "the PopEF file was compiled without it");
        File.Delete(file);
        File.Delete(file + ".exact.popef");
        options.MaxLength = 64;
        Fails(ErrorCode.InvalidArgument, () => new Generator(Model("lstm"), options), "cache_precision");
        options.CachePrecision = "int4";
        Fails(ErrorCode.InvalidArgument, () => new Generator(Model("genai"), options), "cache_precision");
    }

    [Test]
    public void Scenario98SavedText()
    {
        string file = Path.GetTempFileName(), part = file + ".cut";
        using (Generator generator = Make(), more = Make(2))
        using (Sequence sequence = Text(generator))
        using (Sequence again = generator.NewSequence())
        using (Sequence other = more.NewSequence())
        {
            sequence.Start();
            for (int i = 0; i < 3; i++) sequence.Next(-1);
            sequence.Save(file);
            byte[] bytes = File.ReadAllBytes(file);
            Array.Resize(ref bytes, 100);
            File.WriteAllBytes(part, bytes);
            Fails(ErrorCode.DataLoss, () => again.Restore(part), part);
            again.Restore(file);
            Fails(ErrorCode.FailedPrecondition, () => again.Append(1), "saved text");
            again.Start();
            Assert.That(again.ReadAll(), Is.EqualTo(new long[] { 21, 43, 37, 34, 43 }));
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 21, 43, 37, 34, 43 }));
            Fails(ErrorCode.FailedPrecondition, () => other.Restore(file), "another model");
        }
        File.Delete(file);
        File.Delete(part);
    }

    [Test]
    public void Scenario99NamedStates()
    {
        var options = new GeneratorOptions { MaxLength = 64, States = "h%d_in=h%d_out,c%d_in=c%d_out" };
        using (var generator = new Generator(Model("lstm/model.onnx"), options))
        using (Sequence sequence = Eight(generator, 36, 37, 43))
        {
            sequence.Start();
            Assert.That(sequence.ReadAll(), Is.EqualTo(new long[] { 17, 1, 6, 52, 30, 7, 48, 19 }));
        }
        Fails(ErrorCode.InvalidArgument,
            () => new Generator(Model("lstm"), new GeneratorOptions { States = "h%d_in" }), "past=present");
        Fails(ErrorCode.NotFound,
            () => new Generator(Model("lstm"), new GeneratorOptions { States = "none_in=none_out" }), "none_out");
    }
}
