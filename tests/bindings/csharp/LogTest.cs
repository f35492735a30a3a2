using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Log messages: scenario 54 of tests/bindings/README.md.</summary>
[TestFixture]
public class LogTest
{
    private static readonly string noFolder = Path.Combine(folder, "cache_file");

    /// <summary>Makes the compiler warn: the cache folder is a file.</summary>
    private static void Warn()
    {
        File.WriteAllText(noFolder, "");
        var options = new CompilerOptions { EnableEngineCaching = true, CachePath = noFolder };
        options.InputShapes["x"] = new long[] { 2, 4 };
        using (var compiler = new Compiler(options))
            compiler.Compile(Path.Combine(models, "affine.onnx")).Dispose();
    }

    private static void WarnElsewhere(List<Thread> threads)
    {
        var thread = new Thread(Warn);
        threads.Add(thread);
        thread.Start();
        thread.Join();
    }

    /// <summary>The numbers of poprt/log.h.</summary>
    [Test]
    public void LevelsHaveTheNumbersOfTheLibrary()
    {
        Assert.That(Enum.GetValues(typeof(LogLevel)).Cast<LogLevel>().Select(level => (int)level + " " + level),
            Is.EqualTo(new[] { "0 Trace", "1 Debug", "2 Info", "3 Warning", "4 Error", "5 Critical" }));
    }

    [Test]
    public void Scenario54LogMessages()
    {
        var messages = new List<string>();
        var threads = new List<Thread> { Thread.CurrentThread };
        Action<LogLevel, string> take = (level, message) =>
        {
            Library.SetLogLevel("WARNING"); // a receiver may call the library
            if (level == LogLevel.Warning && !threads.Contains(Thread.CurrentThread)) messages.Add(message);
        };
        Library.Logged += take;
        Warn();
        WarnElsewhere(threads);
        Library.Logged -= take;
        Library.Logged -= take;
        Assert.That(messages.Count, Is.EqualTo(2));
        Assert.That(messages[0], Contains.Substring(noFolder));
        Assert.That(messages[1], Is.EqualTo(messages[0]));

        Library.SetLogLevel("OFF");
        Library.Logged += take;
        Warn();
        Library.Logged -= take;
        Library.SetLogLevel("WARNING");
        Assert.That(messages.Count, Is.EqualTo(2));
    }

    [Test]
    public void Scenario54Exceptions()
    {
        var messages = new List<string>();
        Action<LogLevel, string> take = (level, message) => messages.Add(message);
        Action<LogLevel, string> fail = (level, message) => { throw new InvalidOperationException("of the test"); };
        TextWriter before = Console.Error;
        var written = new StringWriter();
        Console.SetError(TextWriter.Synchronized(written));
        try
        {
            Library.Logged += take;
            Library.Logged += fail;
            Warn();
            WarnElsewhere(new List<Thread>());
            Library.Logged -= fail;
            Warn(); // one receiver is left
        }
        finally
        {
            Library.Logged -= take;
            Console.SetError(before);
        }
        string[] parts = written.ToString().Split(new[] { "InvalidOperationException: of the test" }, StringSplitOptions.None);
        Assert.That(parts.Length, Is.EqualTo(3), written.ToString());
        Assert.That(messages.Count, Is.EqualTo(3));
    }

    [Test]
    public void AHandlerMayRemoveItself()
    {
        using (var removed = new ManualResetEventSlim())
        {
            Action<LogLevel, string> take = null;
            take = (level, message) =>
            {
                Library.Logged -= take;
                removed.Set();
            };
            Library.Logged += take;
            Warn();
            removed.Wait();
        }
    }
}
