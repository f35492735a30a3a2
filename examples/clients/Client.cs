using System;
using System.Globalization;
using System.IO;
using System.Net;
using System.Text;

/// <summary>Classifies digits with a server of the Open Inference Protocol, such as poprt_serve or Triton. Tensors are binary: a
/// request is a JSON header, whose length is in a field of HTTP, and the bytes of its inputs.</summary>
///   mcs Client.cs; mono Client.exe 127.0.0.1:8000 digits IMAGES.idx3-ubyte LABELS.idx1-ubyte
public static class Client
{
    const int Rows = 8, Pixels = 64, Classes = 10;
    const string Length = "Inference-Header-Content-Length";

    /// <summary>Returns the scores of n images.</summary>
    static float[] Infer(string url, float[] images, int n)
    {
        byte[] header = Encoding.UTF8.GetBytes(
            "{\"inputs\": [{\"name\": \"image\", \"datatype\": \"FP32\", \"shape\": [" + n + ", 1, 8, 8], \"parameters\": {\"binary_data_size\": "
            + 4 * images.Length + "}}], \"outputs\": [{\"name\": \"scores\", \"parameters\": {\"binary_data\": true}}]}");
        var body = new byte[header.Length + 4 * images.Length];
        header.CopyTo(body, 0);
        Buffer.BlockCopy(images, 0, body, header.Length, 4 * images.Length);
        var request = WebRequest.CreateHttp(url);
        request.Method = "POST";
        request.ContentType = "application/octet-stream";
        request.Headers[Length] = header.Length.ToString(CultureInfo.InvariantCulture);
        request.ServicePoint.Expect100Continue = false;
        using (Stream stream = request.GetRequestStream()) stream.Write(body, 0, body.Length);
        using (WebResponse response = Answer(request))
        using (var answer = new MemoryStream())
        {
            response.GetResponseStream().CopyTo(answer);
            var scores = new float[n * Classes];
            Buffer.BlockCopy(answer.ToArray(), int.Parse(response.Headers[Length], CultureInfo.InvariantCulture), scores, 0, 4 * scores.Length);
            return scores;
        }
    }

    /// <summary>Returns the answer. The message of an error is in the body of the server's answer.</summary>
    static WebResponse Answer(WebRequest request)
    {
        try
        {
            return request.GetResponse();
        }
        catch (WebException e) when (e.Response != null)
        {
            using (var body = new StreamReader(e.Response.GetResponseStream()))
                throw new InvalidOperationException((int)((HttpWebResponse)e.Response).StatusCode + ": " + body.ReadToEnd());
        }
    }

    public static int Main(string[] args)
    {
        if (args.Length != 4)
        {
            Console.Error.WriteLine("usage: Client ADDRESS MODEL IMAGES LABELS");
            return 2;
        }
        string url = "http://" + args[0] + "/v2/models/" + args[1] + "/infer";
        byte[] images = File.ReadAllBytes(args[2]), labels = File.ReadAllBytes(args[3]);
        int count = labels.Length - 8, right = 0;
        for (int first = 0; first < count; first += Rows)
        {
            int n = Math.Min(Rows, count - first);
            var batch = new float[n * Pixels];
            for (int i = 0; i < batch.Length; i++) batch[i] = images[16 + first * Pixels + i] / 16f;
            float[] scores = Infer(url, batch, n);
            for (int row = 0; row < n; row++)
            {
                int best = 0;
                for (int c = 1; c < Classes; c++)
                    if (scores[row * Classes + c] > scores[row * Classes + best]) best = c;
                if (best == labels[8 + first + row]) right++;
            }
        }
        Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "{0} images, accuracy {1:F4}", count, (double)right / count));
        return 0;
    }
}
