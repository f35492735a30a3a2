using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;
using Poprt;

/// <summary>Mistakes of programs: the errors are those of .NET, in the terms of the caller.</summary>
[TestFixture]
public class MisuseTest
{
    /// <summary>One object of each class that has methods.</summary>
    private static IEnumerable<object> Objects(ModelRunner runner, Executable executable)
    {
        var session = new Session(executable, new SessionOptions { Threads = 1 });
        string path = Path.Combine(Scenarios.folder, "misuse.popef");
        executable.Save(path);
        PopefReader reader = PopefReader.Open(path);
        return new object[]
        {
            runner, executable, runner.CreateBindings(), new Compiler(), new CompilerOptions(), new RuntimeConfig(),
            session, new SessionOptions(), session.CreateQueueManager(), new DeviceManager(), new DeviceRequest(), reader,
            reader.Model().Executable, executable.PopefModel(), new PopefMetadata(), new PackOptions(),
        };
    }

    /// <summary>Null for each argument that is a reference, a zero for each other.</summary>
    private static object[] Nulls(MethodBase method)
    {
        return method.GetParameters()
            .Select(p => p.ParameterType.IsValueType ? Activator.CreateInstance(p.ParameterType) : null).ToArray();
    }

    private static bool HasReferences(MethodBase method)
    {
        ParameterInfo[] all = method.GetParameters();
        return all.Any(p => !p.ParameterType.IsValueType) && !all.Any(p => p.ParameterType.IsPointer || p.ParameterType.IsByRef ||
            p.ParameterType.Name.Contains("Span`")) && method.DeclaringType.Assembly == typeof(Library).Assembly;
    }

    private static IEnumerable<string> Careless(Type type, object instance)
    {
        BindingFlags which = BindingFlags.Public | (instance == null ? BindingFlags.Static : BindingFlags.Instance);
        var calls = type.GetMethods(which).Cast<MethodBase>().ToList();
        if (instance == null && !type.IsAbstract) calls.AddRange(type.GetConstructors());
        foreach (MethodBase call in calls.Where(HasReferences))
        {
            var method = call as MethodInfo;
            if (method != null && (method.Name == "Equals" || method.IsSpecialName)) continue;
            if (method != null && method.IsGenericMethodDefinition)
                method = method.MakeGenericMethod(method.GetGenericArguments().Select(a => typeof(float)).ToArray());
            if (method != null && !HasReferences(method)) continue;
            string error = null;
            try
            {
                object made = method == null ? ((ConstructorInfo)call).Invoke(Nulls(call)) : method.Invoke(instance, Nulls(method));
                (made as IDisposable)?.Dispose();
            }
            catch (TargetInvocationException e)
            {
                if (e.InnerException is NullReferenceException) error = e.InnerException.StackTrace.Split('\n')[0];
            }
            if (error != null)
                yield return type.Name + "." + call.Name + "(" +
                    string.Join(", ", call.GetParameters().Select(p => p.ParameterType.Name + " " + p.Name)) + ")" + error;
        }
    }

    [Test]
    public void NullIsAnErrorThatNamesTheArgument()
    {
        var careless = new List<string>();
        foreach (Type type in typeof(Library).Assembly.GetExportedTypes().Where(t => !typeof(Delegate).IsAssignableFrom(t)))
            careless.AddRange(Careless(type, null));
        using (Executable executable = Scenarios.Affine(2))
        using (var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 }))
            foreach (object one in Objects(runner, executable))
            {
                careless.AddRange(Careless(one.GetType(), one));
                (one as IDisposable)?.Dispose();
            }
        Assert.That(careless, Is.Empty, string.Join("\n", careless));
    }

    [Test]
    public void PositionsThatThereAreNot()
    {
        using (ModelRunner runner = Scenarios.AffineRunner())
            foreach (int index in new[] { -1, 1 })
            {
                Scenarios.Fails(ErrorCode.NotFound, () => runner.Execute(runner.CreateBindings().Input(index, new float[8])),
                    "there is no input " + index + ";");
                Scenarios.Fails(ErrorCode.NotFound, () => runner.Execute(runner.CreateBindings().Input(0, new float[8])
                    .Output(index, new float[8])), "there is no output " + index + ";");
            }
    }

    [Test]
    public void TimesHaveNoEndAndNoOverflow()
    {
        using (ModelRunner runner = Scenarios.AffineRunner())
        {
            foreach (TimeSpan never in new[] { TimeSpan.MaxValue, Timeout.InfiniteTimeSpan, TimeSpan.Zero })
                Assert.That(runner.ExecuteAsync(new Scenarios.Client(runner, 1).Bindings, default(CancellationToken), never)
                    .Wait(60000), Is.True);
            var c = new Scenarios.Client(runner, 1);
            Assert.That(Assert.Throws<ArgumentOutOfRangeException>(
                () => runner.ExecuteAsync(c.Bindings, default(CancellationToken), TimeSpan.FromSeconds(-1))).ParamName,
                Is.EqualTo("timeout"));
        }
        using (Executable executable = Scenarios.Affine(2))
        using (var patient = new ModelRunner(executable, new RuntimeConfig { Threads = 1, DeviceWaitTimeout = TimeSpan.MaxValue,
            Timeout = TimeSpan.MaxValue }))
            Assert.That(patient.Inputs.Count, Is.EqualTo(1));
    }

    [Test]
    public void ObjectsSayWhatTheyAre()
    {
        using (Executable executable = Scenarios.Affine(2))
        {
            var runner = new ModelRunner(executable, new RuntimeConfig { Threads = 1 });
            Assert.That(executable.ToString(), Is.EqualTo("Executable affine: x f32[2,4] -> y f32[2,4]"));
            Assert.That(runner.ToString(), Is.EqualTo("ModelRunner: x f32[2,4] -> y f32[2,4]"));
            var c = new Scenarios.Client(runner, 0);
            runner.Dispose();
            Assert.That(runner.ToString(), Is.EqualTo("ModelRunner: x f32[2,4] -> y f32[2,4]"));
            ObjectDisposedException closed = Assert.Throws<ObjectDisposedException>(() => runner.Execute(c.Bindings));
            Assert.That(closed.ObjectName, Is.EqualTo("Runner"));
        }
    }

    /// <summary>Ten thousand runs that wait take no threads and end as cancelled, and the thread that cancels does not wait for them.</summary>
    [Test]
    public void ManyAreCancelledAtOnce()
    {
        using (ModelRunner runner = Scenarios.SlowRunner())
        using (var source = new CancellationTokenSource())
        using (Bindings bindings = Scenarios.SlowBindings(runner))
        {
            Task[] tasks = Enumerable.Range(0, 10000).Select(i => runner.ExecuteAsync(bindings, source.Token)).ToArray();
            Assert.That(Directory.GetDirectories("/proc/self/task").Length, Is.LessThan(100));
            source.Cancel();
            int cancelled = tasks.Count(Scenarios.IsCancelled);
            Assert.That(cancelled, Is.GreaterThan(5000));
            Assert.That(tasks.Count(t => t.Status == TaskStatus.RanToCompletion), Is.EqualTo(10000 - cancelled));
        }
    }
}
