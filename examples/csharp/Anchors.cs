using System;
using System.Collections.Generic;
using Poprt;

/// <summary>Prints the inputs and outputs of a PopEF file. Anchors MODEL.popef</summary>
internal static class Anchors
{
    private static void Print(string kind, IEnumerable<PopefAnchor> anchors)
    {
        foreach (PopefAnchor a in anchors)
            Console.WriteLine("{0} {1} {2} [{3}] {4} bytes", kind, a.Name, a.DataTypeName, string.Join(",", a.Shape), a.ByteSize);
    }

    private static int Main(string[] args)
    {
        if (args.Length != 1)
        {
            Console.Error.WriteLine("usage: Anchors MODEL.popef");
            return 2;
        }
        using (PopefReader reader = PopefReader.Open(args[0]))
            foreach (PopefModel model in reader.Models())
            {
                Print("input", model.UserInputs);
                Print("output", model.UserOutputs);
            }
        return 0;
    }
}
