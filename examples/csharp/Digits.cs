using System;
using System.Globalization;
using System.IO;
using System.Linq;
using Poprt;

/// <summary>Compiles the digits model and classifies handwritten digits. Digits MODEL.onnx IMAGES.idx3-ubyte
/// LABELS.idx1-ubyte</summary>
internal static class Digits
{
    private const int Batch = 8, Pixels = 8 * 8, Classes = 10;

    /// <summary>Returns the bytes of an IDX file after its header.</summary>
    private static byte[] Payload(string path, int rank)
    {
        return File.ReadAllBytes(path).Skip(4 + 4 * rank).ToArray();
    }

    private static int Best(float[] scores, int row)
    {
        int best = 0;
        for (int c = 1; c < Classes; c++)
            if (scores[row * Classes + c] > scores[row * Classes + best]) best = c;
        return best;
    }

    private static int Main(string[] args)
    {
        if (args.Length != 3)
        {
            Console.Error.WriteLine("usage: Digits MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte");
            return 2;
        }
        byte[] images = Payload(args[1], 3);
        byte[] labels = Payload(args[2], 1);
        var image = new float[Batch * Pixels];
        var scores = new float[Batch * Classes];
        int correct = 0;
        using (var compiler = new Compiler(new CompilerOptions { BatchSize = Batch }))
        using (Executable executable = compiler.Compile(args[0]))
        using (var runner = new ModelRunner(executable))
        using (Bindings memory = runner.CreateBindings().Input("image", image).Output("scores", scores)) // pinned once
            for (int first = 0; first < labels.Length; first += Batch)
            {
                int count = Math.Min(Batch, labels.Length - first);
                for (int i = 0; i < count * Pixels; i++) image[i] = images[first * Pixels + i] / 16f; // 0 to 16
                runner.Execute(memory);
                for (int i = 0; i < count; i++)
                    if (Best(scores, i) == labels[first + i]) correct++;
            }
        Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "f32: {0} held-out images, accuracy {1:F4}",
            labels.Length, (double)correct / labels.Length));
        return 0;
    }
}
