import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Classifies digits with a server of the Open Inference Protocol, such as poprt_serve or Triton. Tensors are binary: a request is a
 * JSON header, whose length is in a field of HTTP, and the bytes of its inputs.
 *
 * <pre>java Client.java 127.0.0.1:8000 digits IMAGES.idx3-ubyte LABELS.idx1-ubyte</pre>
 */
public final class Client {
    private static final int ROWS = 8, PIXELS = 64, CLASSES = 10;
    private static final String LENGTH = "Inference-Header-Content-Length";

    /** Returns the scores of n images. */
    private static ByteBuffer infer(HttpClient client, URI uri, ByteBuffer images, int n) throws Exception {
        byte[] header = String.format(Locale.ROOT, """
            {"inputs": [{"name": "image", "datatype": "FP32", "shape": [%d, 1, 8, 8], "parameters": {"binary_data_size": %d}}],
             "outputs": [{"name": "scores", "parameters": {"binary_data": true}}]}""", n, images.limit())
            .getBytes(StandardCharsets.UTF_8);
        byte[] body = ByteBuffer.allocate(header.length + images.limit()).put(header).put(images).array();
        HttpRequest request = HttpRequest.newBuilder(uri).header(LENGTH, String.valueOf(header.length))
            .header("Content-Type", "application/octet-stream").POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
        HttpResponse<byte[]> response = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
        if (response.statusCode() != 200) {
            throw new IllegalStateException(response.statusCode() + ": " + new String(response.body(), StandardCharsets.UTF_8));
        }
        int length = Integer.parseInt(response.headers().firstValue(LENGTH).orElseThrow());
        return ByteBuffer.wrap(response.body(), length, 4 * n * CLASSES).slice().order(ByteOrder.LITTLE_ENDIAN);
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 4) {
            System.err.println("usage: Client ADDRESS MODEL IMAGES LABELS");
            System.exit(2);
        }
        URI uri = URI.create("http://" + args[0] + "/v2/models/" + args[1] + "/infer");
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        byte[] images = Files.readAllBytes(Path.of(args[2])), labels = Files.readAllBytes(Path.of(args[3]));
        int count = labels.length - 8, right = 0;
        for (int first = 0; first < count; first += ROWS) {
            int n = Math.min(ROWS, count - first);
            ByteBuffer batch = ByteBuffer.allocate(4 * n * PIXELS).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < n * PIXELS; i++) {
                batch.putFloat(images[16 + first * PIXELS + i] / 16f);
            }
            ByteBuffer scores = infer(client, uri, batch.flip(), n);
            for (int row = 0; row < n; row++) {
                int best = 0;
                for (int c = 1; c < CLASSES; c++) {
                    if (scores.getFloat(4 * (row * CLASSES + c)) > scores.getFloat(4 * (row * CLASSES + best))) {
                        best = c;
                    }
                }
                right += best == labels[8 + first + row] ? 1 : 0;
            }
        }
        System.out.printf(Locale.ROOT, "%d images, accuracy %.4f%n", count, (double) right / count);
    }

    private Client() {}
}
