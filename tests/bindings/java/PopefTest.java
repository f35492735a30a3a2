import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.poprt.CompilerOptions;
import org.poprt.DataType;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.OpenOptions;
import org.poprt.Popef;
import org.poprt.PopefAnchor;
import org.poprt.PopefAnchor.Direction;
import org.poprt.PopefBlob;
import org.poprt.PopefError;
import org.poprt.PopefMetadata;
import org.poprt.PopefModel;
import org.poprt.PopefReader;
import org.poprt.PopefWriter;
import org.poprt.PoprtException;

/** Reading and writing PopEF files. Scenarios of tests/bindings/README.md, then features of Java only. */
class PopefTest extends Scenarios {
  private final Random random = new Random(7);

  private byte[] bytes(int count) {
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  private Path affineFile() {
    Path file = folder.resolve("affine.popef");
    try (Executable executable = affine(2)) {
      executable.save(file);
    }
    return file;
  }

  private static boolean contains(byte[] all, byte[] part) {
    ByteBuffer wanted = ByteBuffer.wrap(part);
    for (int i = 0; i + part.length <= all.length; i++)
      if (all[i] == part[0] && ByteBuffer.wrap(all, i, part.length).equals(wanted)) return true;
    return false;
  }

  private static byte[] read(ByteBuffer view) {
    byte[] bytes = new byte[view.remaining()];
    view.duplicate().get(bytes);
    return bytes;
  }

  @Test
  void scenario_51_read_a_popef_file() throws IOException {
    Path file = affineFile();
    PopefReader reader = PopefReader.open(file);
    assertEquals(1, reader.blobs(PopefBlob.Type.EXECUTABLE).size());
    PopefBlob program = reader.blobs(PopefBlob.Type.EXECUTABLE).get(0);
    try (Executable executable = Executable.open(file)) {
      assertEquals(executable.name(), program.name());
    }
    PopefMetadata metadata = reader.metadata().get(0);
    assertEquals(program.name(), metadata.executable());
    PopefModel model = reader.model();
    assertEquals("[x f32[2,4]]", model.userInputs().toString());
    assertEquals("[y f32[2,4]]", model.userOutputs().toString());
    assertEquals(metadata.mainPrograms(), model.metadata().mainPrograms());
    PopefAnchor x = model.userInputs().get(0);
    assertEquals(Direction.HOST_TO_DEVICE, x.direction());
    assertEquals(Direction.DEVICE_TO_HOST, model.userOutputs().get(0).direction());
    assertEquals(32, x.byteSize());
    assertFalse(x.handle().isEmpty());
    assertTrue(x.programs().length > 0);
    assertEquals(1, reader.models().size());
    fails(ErrorCode.FAILED_PRECONDITION, () -> reader.model("nope"), "nope");
    assertEquals(List.of(), reader.warnings());
    assertEquals(List.of(), model.warnings());

    byte[] code = program.toBytes();
    assertEquals(program.byteSize(), code.length);
    assertTrue(contains(Files.readAllBytes(file), code));
    for (ByteBuffer part : List.of(ByteBuffer.allocate(12), ByteBuffer.allocateDirect(12))) {
      part.position(1).limit(11);
      program.read(5, part);
      assertEquals(11, part.position());
      part.clear();
      byte[] expected = new byte[12];
      System.arraycopy(code, 5, expected, 1, 10);
      assertArrayEquals(expected, read(part));
    }
    program.read(program.byteSize(), ByteBuffer.allocate(0));
    ByteBuffer ten = ByteBuffer.allocate(10);
    fails(ErrorCode.OUT_OF_RANGE, () -> program.read(program.byteSize() - 9, ten));
    fails(ErrorCode.OUT_OF_RANGE, () -> program.read(-1, ten));
    fails(ErrorCode.OUT_OF_RANGE, () -> program.map(program.byteSize() - 9, 10));
    fails(ErrorCode.OUT_OF_RANGE, () -> program.map(-1, 1));

    fails(ErrorCode.NOT_FOUND, () -> PopefReader.open(folder.resolve("missing.popef")), "missing.popef");
    fails(ErrorCode.INVALID_ARGUMENT, () -> PopefReader.open(MODELS.resolve("affine.onnx")), "affine.onnx");
    ByteBuffer mapped = program.map();
    reader.close();
    reader.close();
    closed("PopefReader", () -> reader.blobs(PopefBlob.Type.EXECUTABLE));
    closed("PopefReader", reader::metadata);
    closed("PopefReader", reader::model);
    closed("PopefReader", program::toBytes);
    closed("PopefReader", program::map);
    assertArrayEquals(code, read(mapped));
    assertArrayEquals(code, model.executable().toBytes());
    model.close();
    closed("PopefModel", model::executable);
  }

  private static PopefMetadata metadata() {
    PopefMetadata metadata =
        new PopefMetadata()
            .executable("model")
            .seedHandle("h2d_seed")
            .replicationFactor(2)
            .numIpus(4)
            .ipuVersion(21)
            .pod(true)
            .numProcesses(3)
            .inference(false)
            .deviceIterations(1L << 40);
    metadata.engineOptions().add(Map.entry("b", "1"));
    metadata.engineOptions().add(Map.entry("a", ""));
    metadata.deviceOptions().add(Map.entry("tiles", "16"));
    metadata.loadPrograms().addAll(List.of(0L, 2L));
    metadata.mainPrograms().add(5L);
    metadata.savePrograms().addAll(List.of(7L, 0xffffffffL));
    metadata.programNames().put(5L, "størrelse");
    metadata.programNames().put(0L, "WeightsFromHost");
    List<PopefAnchor> anchors = metadata.anchors();
    anchors.add(
        new PopefAnchor("x", Direction.HOST_TO_DEVICE, DataType.F32, 2, 2)
            .handle("h2d_x")
            .programs(5)
            .perReplica(true));
    anchors.add(new PopefAnchor("w", Direction.NONE, DataType.F16, 2, 3));
    anchors.add(
        new PopefAnchor("fed", Direction.HOST_TO_DEVICE, DataType.F32, 2, 2)
            .handle("h2d_fed")
            .programs(5));
    anchors.add(
        new PopefAnchor("y", Direction.DEVICE_TO_HOST, DataType.F8143).handle("d2h_y").programs(5));
    return metadata;
  }

  /** All fields as text, for comparisons. */
  private static String text(PopefMetadata m) {
    StringBuilder text = new StringBuilder();
    for (Object part :
        new Object[] {
          m.executable(), m.seedHandle(), m.replicationFactor(), m.numIpus(), m.ipuVersion(),
          m.isPod(), m.numProcesses(), m.isInference(), m.deviceIterations(), m.engineOptions(),
          m.deviceOptions(), m.loadPrograms(), m.mainPrograms(), m.savePrograms(), m.programNames()
        }) text.append(part).append("; ");
    for (PopefAnchor a : m.anchors())
      text.append(a + " " + a.direction() + " " + a.handle() + " " + Arrays.toString(a.programs()))
          .append(" " + a.isPerReplica() + " " + a.byteSize() + "; ");
    return text.toString();
  }

  /** A round trip does not find a value that is set and read wrongly in the same way. */
  @Test
  void metadata_has_the_values_that_were_set() {
    String text = text(metadata());
    assertTrue(
        text.startsWith(
            "model; h2d_seed; 2; 4; 21; true; 3; false; 1099511627776; [b=1, a=]; [tiles=16]; "
                + "[0, 2]; [5]; [7, 4294967295]; {0=WeightsFromHost, 5=størrelse}; "),
        text);
    PopefMetadata m = new PopefMetadata();
    assertEquals("; ; 1; 1; 2; false; 1; true; 1; []; []; []; []; []; {}; ", text(m));
    assertFalse(m.isPod());
    assertTrue(m.isInference());
    for (boolean value : new boolean[] {true, false, true}) {
      assertEquals(value, m.pod(value).isPod());
      assertEquals(value, m.inference(value).isInference());
    }
    PopefAnchor anchor = new PopefAnchor("x", Direction.NONE, DataType.F32);
    for (boolean value : new boolean[] {true, false})
      assertEquals(value, anchor.perReplica(value).isPerReplica());
  }

  /** If one of several files cannot be opened, the files before it are closed. */
  @Test
  void a_reader_that_cannot_be_opened_keeps_no_file() throws IOException {
    Path file = affineFile();
    try (PopefReader reader = PopefReader.open(file)) {
      assertEquals(1, reader.blobs(PopefBlob.Type.EXECUTABLE).size());
      assertTrue(isMapped(file));
    }
    fails(
        ErrorCode.NOT_FOUND,
        () -> PopefReader.open(file, folder.resolve("none.popef")),
        "none.popef");
    assertFalse(isMapped(file));
  }

  @Test
  void scenario_52_write_a_popef_file() throws IOException {
    Path file = folder.resolve("størrelse.popef");
    byte[] code = bytes(10000);
    for (int i = 0; i < code.length; i++) code[i] &= 3;
    byte[] weights = bytes(12);
    ByteBuffer images = ByteBuffer.allocateDirect(48).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 12; i++) images.putFloat(4 * i, random.nextFloat());
    for (boolean compress : new boolean[] {false, true}) {
      PopefWriter writer = new PopefWriter(file);
      fails(ErrorCode.FAILED_PRECONDITION, () -> writer.write(images), "begun");
      writer.metadata(metadata());
      writer.executable("model", compress);
      writer.write(ByteBuffer.wrap(code, 0, 1)).write(ByteBuffer.wrap(code, 1, code.length - 1));
      writer.opaque("notes", "model").write(StandardCharsets.UTF_8.encode("free text"));
      writer.tensor("w", "", DataType.F16, 2, 3).write(ByteBuffer.wrap(weights));
      writer.feed("fed", "", 3, DataType.F32, 2, 2);
      writer.write(images.duplicate().limit(16)).write(images.duplicate().position(16));
      writer.write(ByteBuffer.allocate(0));
      writer.finish();
      writer.finish();
      fails(ErrorCode.FAILED_PRECONDITION, () -> writer.metadata(metadata()));
      writer.close();
      writer.close();
      closed("PopefWriter", writer::finish);

      try (PopefReader reader = PopefReader.open(file);
          PopefModel model = reader.models().get(0)) {
        assertEquals(text(metadata()), text(reader.metadata().get(0)));
        assertEquals(compress, model.executable().isCompressed());
        assertArrayEquals(code, model.executable().toBytes());
        assertArrayEquals(code, read(model.executable().map()));
        PopefBlob notes = model.blobs(PopefBlob.Type.OPAQUE).get(0);
        assertEquals("opaque notes 9 bytes", notes.toString());
        assertEquals("model", notes.executable());
        assertEquals("free text", new String(notes.toBytes(), StandardCharsets.UTF_8));
        PopefBlob w = reader.blobs(PopefBlob.Type.TENSOR).get(0);
        assertEquals(DataType.F16, w.dataType());
        assertArrayEquals(new long[] {2, 3}, w.shape());
        assertArrayEquals(weights, read(w.map()));
        assertArrayEquals(Arrays.copyOfRange(weights, 3, 8), read(w.map(3, 5)));
        PopefBlob fed = reader.blobs(PopefBlob.Type.FEED).get(0);
        assertEquals(3, fed.tensorCount());
        assertEquals(images.asFloatBuffer(), fed.map().asFloatBuffer());
        assertEquals("[x f32[2,2]]", model.userInputs().toString());
        assertEquals("[y f8143[]]", model.userOutputs().toString());
      }
    }

    Path npy = folder.resolve("exported.npy");
    Popef.exportTensor(file, "w", "", npy);
    byte[] exported = Files.readAllBytes(npy);
    assertArrayEquals(weights, Arrays.copyOfRange(exported, exported.length - 12, exported.length));
    Popef.exportFeed(file, "fed", "", npy);
    exported = Files.readAllBytes(npy);
    assertEquals(images.asFloatBuffer(),
        ByteBuffer.wrap(exported, exported.length - 48, 48).slice().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer());
    fails(ErrorCode.NOT_FOUND, () -> Popef.exportFeed(file, "w", "", npy), "w");
    byte[] before = Files.readAllBytes(file);
    try (PopefWriter writer = new PopefWriter(file)) {
      writer.opaque("lost", "");
    }
    try (PopefWriter writer = new PopefWriter(file)) {
      writer.tensor("w", "", DataType.F16, 2, 3).write(ByteBuffer.wrap(weights, 0, 11));
      fails(ErrorCode.INVALID_ARGUMENT, writer::finish, "12", "11");
      fails(ErrorCode.FAILED_PRECONDITION, writer::finish);
      PopefMetadata wrong = metadata();
      wrong.mainPrograms().add(-1L);
      fails(ErrorCode.INVALID_ARGUMENT, () -> writer.metadata(wrong), "-1");
    }
    assertArrayEquals(before, Files.readAllBytes(file));

    try (PopefWriter writer = new PopefWriter(file, PopefWriter.Mode.APPEND)) {
      writer.tensor("w", "model", DataType.F16, 2, 3).write(ByteBuffer.wrap(code, 0, 12)).finish();
    }
    try (PopefReader reader = PopefReader.open(ByteBuffer.wrap(Files.readAllBytes(file)));
        PopefModel model = reader.model("model")) {
      PopefBlob w = model.blobs(PopefBlob.Type.TENSOR).get(0);
      assertArrayEquals(Arrays.copyOf(code, 12), w.toBytes());
    }
  }

  private void writeFeeds(PopefWriter writer, byte[] images) {
    try (writer) {
      writer.metadata(new PopefMetadata().executable("model"));
      writer.feeds(
          "model",
          new PopefWriter.Feed("image", 3, DataType.F32, 2, 2),
          new PopefWriter.Feed("label", 3, DataType.U8));
      for (int i = 0; i < 2; i++)
        writer
            .write(0, ByteBuffer.wrap(images, 16 * i, 16))
            .write(1, ByteBuffer.wrap(new byte[] {(byte) i}));
      writer.write(0, ByteBuffer.wrap(images, 32, 16));
      writer.write(1, ByteBuffer.wrap(new byte[] {2})).finish();
    }
  }

  @Test
  void scenario_53_feeds_side_by_side_and_streams() throws IOException {
    Path file = folder.resolve("feeds.popef");
    byte[] images = bytes(48);
    writeFeeds(new PopefWriter(file), images);
    ByteArrayOutputStream stream = new ByteArrayOutputStream();
    writeFeeds(new PopefWriter(stream), images);
    assertArrayEquals(Files.readAllBytes(file), stream.toByteArray());
    try (PopefReader reader = PopefReader.open(file)) {
      List<PopefBlob> feeds = reader.blobs(PopefBlob.Type.FEED);
      assertEquals("[feed image 48 bytes, feed label 3 bytes]", feeds.toString());
      assertEquals("modelmodel", feeds.get(0).executable() + feeds.get(1).executable());
      assertArrayEquals(images, feeds.get(0).toBytes());
      assertArrayEquals(new byte[] {0, 1, 2}, feeds.get(1).toBytes());
    }

    for (int none : new int[] {1, -1}) {
      try (PopefWriter writer = new PopefWriter(new ByteArrayOutputStream())) {
        writer.feeds("", new PopefWriter.Feed("label", 3, DataType.U8));
        fails(ErrorCode.INVALID_ARGUMENT, () -> writer.write(none, ByteBuffer.allocate(1)));
      }
    }
    try (PopefWriter writer = new PopefWriter(new ByteArrayOutputStream())) {
      writer.feeds("", new PopefWriter.Feed("label", 3, DataType.U8));
      writer.write(0, ByteBuffer.allocate(2));
      fails(ErrorCode.INVALID_ARGUMENT, writer::finish);
    }
    Throwable[] thrown = {new IOException("full"), new IllegalStateException("full"), new Error("full")};
    for (Throwable e : thrown) {
      OutputStream full =
          new OutputStream() {
            @Override
            public void write(int b) throws IOException {
              if (e instanceof IOException) throw (IOException) e;
              if (e instanceof Error) throw (Error) e;
              throw (RuntimeException) e;
            }
          };
      try (PopefWriter writer = new PopefWriter(full)) {
        Throwable out =
            assertThrows(
                Throwable.class,
                () -> writer.opaque("notes", "").write(ByteBuffer.allocate(9)).finish());
        assertSame(e, e instanceof IOException ? out.getCause() : out);
        assertTrue(!(e instanceof IOException) || out instanceof UncheckedIOException);
        fails(ErrorCode.CANCELLED, writer::finish);
      }
    }
  }

  @Test
  void aReaderIsClosedWhileOthersRead() throws Exception {
    Path file = affineFile();
    ExecutorService threads = Executors.newFixedThreadPool(3);
    for (int round = 0; round < 50; round++) {
      PopefReader reader = PopefReader.open(file);
      PopefBlob program = reader.blobs(PopefBlob.Type.EXECUTABLE).get(0);
      byte[] code = program.toBytes();
      CountDownLatch reading = new CountDownLatch(3);
      List<Future<?>> readers = new ArrayList<>();
      for (int i = 0; i < 3; i++)
        readers.add(
            threads.submit(
                () -> {
                  closed(
                      "PopefReader",
                      () -> {
                        while (true) {
                          assertArrayEquals(code, program.toBytes());
                          assertEquals(code[0], program.map().get(0));
                          reading.countDown();
                        }
                      });
                }));
      reading.await();
      reader.close();
      for (Future<?> done : readers) done.get();
    }
    threads.shutdown();
  }

  @Test
  void mappedPayloadsOutliveEverything() throws IOException, InterruptedException {
    useMappedPayloads();
    for (int tries = 0; isMapped(folder.resolve("affine.popef")); tries++) {
      assertTrue(tries < 1000, "the file is still mapped");
      System.gc();
      Thread.sleep(10);
    }
  }

  private static boolean isMapped(Path file) throws IOException {
    return Files.readString(Path.of("/proc/self/maps")).contains(file.toString());
  }

  private void useMappedPayloads() throws IOException {
    IntBuffer values;
    byte[] code;
    PopefBlob program;
    try (PopefReader reader = PopefReader.open(affineFile())) {
      code = reader.model().executable().toBytes();
      values = reader.model().executable().map(0, code.length / 4 * 4).slice().asIntBuffer();
    }
    program = PopefReader.open(affineFile()).blobs(PopefBlob.Type.EXECUTABLE).get(0);
    for (int i = 0; i < 20; i++) {
      System.gc();
      ByteBuffer.allocateDirect(1 << 20);
    }
    assertTrue(isMapped(folder.resolve("affine.popef")));
    ByteBuffer expected = ByteBuffer.wrap(code);
    for (int i = 0; i < values.capacity(); i++)
      assertEquals(expected.getInt(4 * i), values.get(i), "word " + i);
    assertArrayEquals(code, program.toBytes()); // the reader may have been collected
    assertThrows(ReadOnlyBufferException.class, () -> program.map().put(0, (byte) 1));
    assertThrows(
        ReadOnlyBufferException.class, () -> program.read(0, ByteBuffer.allocate(1).asReadOnlyBuffer()));
  }

  @Test
  void scenario_59_popef_by_position() throws IOException {
    Path file = affineFile();
    byte[] code;
    try (PopefReader reader = PopefReader.open(file)) {
      code = reader.blobs(PopefBlob.Type.EXECUTABLE).get(0).toBytes();
    }
    try (SeekableByteChannel channel = Files.newByteChannel(file)) {
      PopefReader reader = PopefReader.open(channel);
      PopefBlob program = reader.blobs(PopefBlob.Type.EXECUTABLE).get(0);
      assertArrayEquals(code, program.toBytes());
      PopefModel model = reader.model();
      reader.close();
      try (Executable executable = Executable.open(model, new OpenOptions())) {
        checkAffine(executable);
      }
      assertEquals(ByteBuffer.wrap(code), model.executable().map());
      model.close();
    }
    IOException broken = new IOException("broken");
    PoprtException caused =
        assertThrows(PoprtException.class, () -> PopefReader.open(new BrokenChannel(broken)));
    assertSame(broken, caused.getCause());
    assertFalse(caused.getMessage().isEmpty());
    SeekableByteChannel closed = Files.newByteChannel(file);
    closed.close();
    UncheckedIOException e = assertThrows(UncheckedIOException.class, () -> PopefReader.open(closed));
    assertInstanceOf(ClosedChannelException.class, e.getCause());
    try (SeekableByteChannel channel = Files.newByteChannel(MODELS.resolve("affine.onnx"))) {
      assertEquals(PopefError.FORMAT, kind(() -> PopefReader.open(channel)));
    }
    assertEquals(PopefError.FORMAT, kind(() -> PopefReader.open(MODELS.resolve("affine.onnx"))));
    assertEquals(PopefError.FILE, kind(() -> PopefReader.open(folder.resolve("missing.popef"))));
    assertEquals(PopefError.NONE, kind(() -> compile("missing.onnx", new CompilerOptions())));
    try (PopefReader reader = PopefReader.open(file)) {
      assertEquals(PopefError.LINK, kind(() -> reader.model("nope")));
    }
  }

  /** A source that has fewer bytes than its size states. */
  @Test
  void scenario_59_a_source_that_ends_early() throws IOException {
    Path file = affineFile();
    try (SeekableByteChannel channel = Files.newByteChannel(file)) {
      SeekableByteChannel shorter =
          (SeekableByteChannel)
              java.lang.reflect.Proxy.newProxyInstance(
                  getClass().getClassLoader(),
                  new Class<?>[] {SeekableByteChannel.class},
                  (proxy, method, arguments) -> {
                    if (method.getName().equals("read")) return -1;
                    return method.invoke(channel, arguments);
                  });
      PoprtException e = assertThrows(PoprtException.class, () -> PopefReader.open(shorter));
      assertEquals(ErrorCode.DATA_LOSS, e.code(), e.getMessage());
    }
  }

  @Test
  void scenario_59_a_source_may_give_a_few_bytes_at_a_time() throws IOException {
    Path file = affineFile();
    byte[] code;
    try (PopefReader reader = PopefReader.open(file)) {
      code = reader.blobs(PopefBlob.Type.EXECUTABLE).get(0).toBytes();
    }
    try (SeekableByteChannel channel = Files.newByteChannel(file)) {
      SeekableByteChannel slow =
          (SeekableByteChannel)
              java.lang.reflect.Proxy.newProxyInstance(
                  getClass().getClassLoader(),
                  new Class<?>[] {SeekableByteChannel.class},
                  (proxy, method, arguments) -> {
                    if (!method.getName().equals("read")) return method.invoke(channel, arguments);
                    ByteBuffer into = (ByteBuffer) arguments[0];
                    ByteBuffer part = into.slice();
                    part.limit(Math.min(7, part.remaining()));
                    int count = channel.read(part);
                    into.position(into.position() + Math.max(count, 0));
                    return count;
                  });
      try (PopefReader reader = PopefReader.open(slow)) {
        assertArrayEquals(code, reader.blobs(PopefBlob.Type.EXECUTABLE).get(0).toBytes());
      }
    }
  }

  private static PopefError kind(org.junit.jupiter.api.function.Executable call) {
    return assertThrows(PoprtException.class, call).popefError();
  }

  /** A channel whose data cannot be read. */
  private static final class BrokenChannel implements SeekableByteChannel {
    private final IOException error;

    BrokenChannel(IOException error) {
      this.error = error;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
      throw error;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
      throw error;
    }

    @Override
    public long position() {
      return 0;
    }

    @Override
    public SeekableByteChannel position(long position) {
      return this;
    }

    @Override
    public long size() {
      return 1000;
    }

    @Override
    public SeekableByteChannel truncate(long size) {
      return this;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }
}
