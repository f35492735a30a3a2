using System;
using Poprt;

class Readme
{
    static void Main()
    {
        using (var compiler = new Compiler(new CompilerOptions { BatchSize = 8 }))
        using (Executable model = compiler.Compile("digits.onnx"))
        using (var runner = new ModelRunner(model))
        {
            float[] image = new float[8 * 64], scores = new float[8 * 10];
            runner.Execute(image, scores);
            Console.WriteLine("{0}: {1} {2} ...", runner.Outputs[0], scores[0], scores[1]);
        }
    }
}
