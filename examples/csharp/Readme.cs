using System;
using System.Collections.Generic;
using Poprt;

class Readme
{
    static void Main()
    {
        using (var runner = new ModelRunner("digits.onnx"))
            foreach (int batch in new[] { 1, 8 })
            {
                var inputs = new Dictionary<string, Array> { { "image", new float[batch, 1, 8, 8] } };
                var scores = runner.Run(inputs)["scores"];
                Console.WriteLine("scores [{0}, 10]: {1} ...", batch, scores.Span<float>()[0]);
            }
    }
}
