using System;
using System.Collections.Generic;
using System.Linq;
using NUnit.Framework;
using Poprt;
using static Scenarios;

/// <summary>Every type of elements, as arrays of one and more dimensions (scenario 79).</summary>
[TestFixture]
public class TypesTest
{
    /// <summary>A 2 x 3 array for each input: the extremes of the type, and numbers that distinguish bytes, rows and columns.</summary>
    private static Dictionary<string, Array> Arrays()
    {
        return new Dictionary<string, Array>
        {
            { "f32", new float[,] { { 1, -2, 0.5f }, { float.MaxValue, 1.17549435e-38f, 3 } } },
            { "f64", new double[,] { { 1, -2, 0.5 }, { double.MaxValue, 2.2250738585072014e-308, 3 } } },
            { "f16", new ushort[,] { { 0x3c00, 0x4000, 0x7bff }, { 0x0400, 0xc000, 0x3555 } } },
            { "bf16", new ushort[,] { { 0x3f80, 0x4000, 0x7f7f }, { 0x0080, 0xc000, 0x3eab } } },
            { "s8", new sbyte[,] { { 1, -2, 3 }, { -128, 127, 0x12 } } },
            { "u8", new byte[,] { { 1, 254, 3 }, { 128, 127, 0x12 } } },
            { "s16", new short[,] { { 1, -2, 3 }, { short.MinValue, short.MaxValue, 0x1234 } } },
            { "u16", new ushort[,] { { 1, 65534, 3 }, { 0, ushort.MaxValue, 0x1234 } } },
            { "s32", new int[,] { { 1, -2, 3 }, { int.MinValue, int.MaxValue, 0x12345678 } } },
            { "u32", new uint[,] { { 1, 2, 3 }, { 0, uint.MaxValue, 0x12345678 } } },
            { "s64", new long[,] { { 1, -2, 3 }, { long.MinValue, long.MaxValue, 0x123456789abcdef0 } } },
            { "u64", new ulong[,] { { 1, 2, 3 }, { 0, ulong.MaxValue, 0x123456789abcdef0 } } },
            { "bool", new[,] { { true, false, true }, { true, true, false } } }
        };
    }

    private static Array Flat(Array values)
    {
        Array made = Array.CreateInstance(values.GetType().GetElementType(), values.Length);
        Buffer.BlockCopy(values, 0, made, 0, Buffer.ByteLength(values));
        return made;
    }

    private static ModelRunner Types()
    {
        return Runner(Compile("types.onnx"));
    }

    private static Array ToArray(Tensor tensor, Type element)
    {
        try
        {
            return (Array)typeof(Tensor).GetMethod("ToArray").MakeGenericMethod(element).Invoke(tensor, null);
        }
        catch (System.Reflection.TargetInvocationException e)
        {
            throw e.InnerException;
        }
    }

    [Test]
    public void Scenario79ArraysOfEveryType()
    {
        using (ModelRunner runner = Types())
        {
            IReadOnlyDictionary<string, Tensor> outputs = runner.Run(Arrays());
            Assert.That(outputs.Count, Is.EqualTo(13));
            foreach (KeyValuePair<string, Array> given in Arrays())
            {
                Tensor found = outputs[given.Key + "_y"];
                Assert.That(found.DataType.ToString().ToLowerInvariant(), Is.EqualTo(given.Key));
                Assert.That(found.DataTypeName, Is.EqualTo(given.Key));
                Assert.That(found.Shape, Is.EqualTo(new long[] { 2, 3 }));
                Type element = given.Value.GetType().GetElementType();
                Assert.That(ToArray(found, element), Is.EqualTo(given.Value), given.Key);
                foreach (Type other in Arrays().Values.Select(a => a.GetType().GetElementType()).Distinct())
                    if (other != element && other != typeof(byte))
                        Fails(ErrorCode.InvalidArgument, () => ToArray(found, other), given.Key + "_y");
            }
        }
    }

    [Test]
    public void Scenario79MemoryOfEveryType()
    {
        using (ModelRunner runner = Types())
        {
            Dictionary<string, Array> inputs = Arrays().ToDictionary(p => p.Key, p => Flat(p.Value));
            Dictionary<string, Array> outputs = inputs.ToDictionary(p => p.Key + "_y",
                p => Array.CreateInstance(p.Value.GetType().GetElementType(), 6));
            runner.Execute(inputs, outputs);
            foreach (string name in inputs.Keys) Assert.That(outputs[name + "_y"], Is.EqualTo(inputs[name]), name);
        }
    }

    [Test]
    public void Scenario79OtherTypesAreRefused()
    {
        using (ModelRunner runner = Types())
            foreach (Anchor anchor in runner.Inputs)
                foreach (Array given in Arrays().Values)
                {
                    Type element = given.GetType().GetElementType();
                    bool same = element == Arrays()[anchor.Name].GetType().GetElementType() || element == typeof(byte);
                    foreach (string direction in new[] { "Input", "Output" })
                        using (Bindings b = runner.CreateBindings())
                        {
                            var call = typeof(Bindings).GetMethods().Single(m => m.Name == direction
                                && m.GetParameters()[0].ParameterType == typeof(string) && m.GetParameters()[1].ParameterType.IsArray)
                                .MakeGenericMethod(element);
                            string name = anchor.Name + (direction == "Output" ? "_y" : "");
                            try
                            {
                                call.Invoke(b, new object[] { name, Flat(given) });
                                Assert.That(same, anchor + " takes " + element);
                            }
                            catch (System.Reflection.TargetInvocationException e)
                            {
                                Assert.That(!same, anchor + " refuses " + element);
                                Assert.That(((PoprtException)e.InnerException).Code, Is.EqualTo(ErrorCode.InvalidArgument));
                                Assert.That(e.InnerException.Message, Contains.Substring("'" + name + "'"));
                            }
                        }
                }
    }

    [Test]
    public void Scenario79RunNamesBothTypes()
    {
        using (ModelRunner runner = Types())
            foreach (string name in Arrays().Keys)
                foreach (KeyValuePair<string, Array> other in Arrays())
                {
                    Type element = other.Value.GetType().GetElementType();
                    if (element == Arrays()[name].GetType().GetElementType()) continue;
                    Dictionary<string, Array> inputs = Arrays();
                    inputs[name] = other.Value;
                    string given = element == typeof(ushort) ? "u16" : other.Key;
                    Fails(ErrorCode.InvalidArgument, () => runner.Run(inputs), "'" + name + "'", name + "[2,3]", given + "[2,3]");
                }
    }

    [Test]
    public void Scenario79TheShortestCallChecksTypes()
    {
        using (ModelRunner runner = AffineRunner())
        {
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(new double[8], new float[8]), "'x'", "Double");
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(new float[8], new double[8]), "'y'", "Double");
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(new ReadOnlySpan<int>(new int[8]), new Span<float>(new float[8])), "'x'");
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(new ReadOnlySpan<float>(new float[8]), new Span<int>(new int[8])), "'y'");
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(new float[7], new float[8]), "28");
            Fails(ErrorCode.InvalidArgument, () => runner.Execute(new float[8], new float[7]), "28");
            var bytes = new byte[32];
            runner.Execute(new float[] { 0, 1, 2, 3, 4, 5, 6, 7 }, bytes); // bytes are accepted for every type
            Assert.That(BitConverter.ToSingle(bytes, 28), Is.EqualTo(15));
        }
        using (ModelRunner several = Types())
            Fails(ErrorCode.InvalidArgument, () => several.Execute(new float[6], new float[6]));
    }
}
