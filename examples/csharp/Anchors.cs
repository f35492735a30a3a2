using System;
using System.Collections.Generic;
using Poprt;

/// <summary>Prints what a PopEF file takes and gives. Anchors MODEL.popef</summary>
internal static class Anchors
{
    private static void Print(string kind, IEnumerable<Anchor> anchors)
    {
        foreach (Anchor a in anchors)
            Console.WriteLine("{0} {1} {2} [{3}] {4} bytes", kind, a.Name, a.DataTypeName, string.Join(",", a.Shape), a.ByteSize);
    }

    private static int Main(string[] args)
    {
        if (args.Length != 1)
        {
            Console.Error.WriteLine("usage: Anchors MODEL.popef");
            return 2;
        }
        using (Executable executable = Executable.Open(args[0]))
        {
            Print("input", executable.Inputs);
            Print("output", executable.Outputs);
        }
        return 0;
    }
}
