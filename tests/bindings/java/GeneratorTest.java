import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.poprt.ErrorCode;
import org.poprt.Executable;
import org.poprt.Generator;
import org.poprt.GeneratorOptions;
import org.poprt.Sequence;

/** Generators: scenarios 85 to 88, 95 to 99, 109 and 110. */
class GeneratorTest extends Scenarios {
  private static final Path FOLDER = MODELS.resolve("../../data/generation/genai");
  private static final long[] PROMPT = {6, 42, 26};
  private static final long[] TOKENS = {33, 33, 24, 21, 43, 37, 34, 43};

  private static Generator generator(long slots) {
    return new Generator(FOLDER, new GeneratorOptions().threads(1).slots(slots));
  }

  private static Sequence sequence(Generator generator, int maxNewTokens) {
    Sequence sequence = generator.newSequence(PROMPT);
    sequence.setOption("max_new_tokens", maxNewTokens);
    sequence.setOption("ignore_stop", 1);
    return sequence;
  }

  @Test
  void scenario_85_generate() throws Exception {
    Path file = Files.createTempFile("generator", ".popef");
    try (Generator generator = generator(2);
        Sequence first = sequence(generator, 8);
        Sequence second = sequence(generator, 8)) {
      assertEquals(64, generator.maxLength());
      assertEquals(2, generator.slots());
      assertEquals(53, generator.vocabulary());
      first.start();
      second.start();
      assertArrayEquals(TOKENS, first.readAll());
      assertTrue(first.logProbability() < 0);
      assertEquals("length", first.finishReason());
      assertArrayEquals(TOKENS, second.readAll());
      assertTrue(generator.statistics().contains("\"ended\":2"), generator.statistics());
      generator.save(file);
      Generator saved = new Generator(file);
      try (Sequence again = sequence(saved, 8)) {
        saved.close(); // the sequence keeps the generator alive
        again.start();
        assertArrayEquals(TOKENS, again.readAll());
      }
      assertThrows(IllegalStateException.class, () -> saved.newSequence(1));
    } finally {
      Files.delete(file);
    }
  }

  @Test
  void scenario_86_wrong_generators() throws Exception {
    fails(ErrorCode.NOT_FOUND, () -> new Generator(Path.of("missing_folder")), "missing_folder");
    fails(
        ErrorCode.UNIMPLEMENTED,
        () -> new Generator(MODELS.resolve("affine.onnx")),
        "input_ids");
    Path file = Files.createTempFile("affine", ".popef");
    try (Executable affine = affine(2)) {
      affine.save(file);
      fails(
          ErrorCode.FAILED_PRECONDITION,
          () -> new Generator(file),
          "not compiled for generation");
    } finally {
      Files.delete(file);
    }
    try (Generator generator = generator(1);
        Sequence sequence = generator.newSequence()) {
      fails(ErrorCode.INVALID_ARGUMENT, () -> sequence.append(53), "53");
      fails(ErrorCode.NOT_FOUND, () -> sequence.setOption("heat", 1), "temperature");
      fails(ErrorCode.INVALID_ARGUMENT, () -> sequence.setOption("top_p", 2), "top_p");
      fails(ErrorCode.INVALID_ARGUMENT, sequence::start, "empty");
      fails(ErrorCode.FAILED_PRECONDITION, () -> sequence.next(-1), "not started");
    }
  }

  @Test
  void scenario_131_a_text_after_wrong_options() {
    try (Generator generator = generator(1);
        Sequence sequence = sequence(generator, 8)) {
      fails(ErrorCode.NOT_FOUND, () -> sequence.setOption("heat", 1), "temperature");
      fails(ErrorCode.INVALID_ARGUMENT, () -> sequence.setOption("top_p", 2), "top_p");
      fails(ErrorCode.INVALID_ARGUMENT, () -> sequence.append(53), "53");
      sequence.setOption("num_beams", 2);
      fails(ErrorCode.INVALID_ARGUMENT, sequence::start, "slots");
      sequence.setOption("num_beams", 1);
      sequence.start();
      assertArrayEquals(TOKENS, sequence.readAll());
    }
  }

  @Test
  void scenario_87_logits() {
    try (Generator generator = generator(1);
        Sequence sequence = sequence(generator, 1)) {
      sequence.setOption("wait_for_logits", 1);
      sequence.start();
      assertEquals(53, sequence.waitLogits(-1));
      for (int i = 0; i < 53; i++)
        assertTrue(sequence.logit(i) <= sequence.logit(TOKENS[0]), "token " + i);
      sequence.setLogit(5, 1e6);
      sequence.resume();
      assertArrayEquals(new long[] {5}, sequence.readAll());
    }
  }

  @Test
  @SuppressWarnings("try") // the compiler warns of sequences that are closed early
  void scenario_127_close_ends_waiting() throws Exception {
    try (Generator generator = generator(1);
        Sequence holder = sequence(generator, 0);
        Sequence waiting = sequence(generator, 8);
        Sequence next = sequence(generator, 8)) {
      holder.setOption("wait_for_logits", 1);
      holder.start();
      holder.waitLogits(-1); // it has the only slot
      waiting.start();
      CompletableFuture<long[]> ended = CompletableFuture.supplyAsync(waiting::readAll);
      Thread.sleep(50); // it waits for a slot
      waiting.close();
      ExecutionException failure =
          assertThrows(ExecutionException.class, () -> ended.get(1, TimeUnit.MINUTES));
      assertEquals(IllegalStateException.class, failure.getCause().getClass());
      assertThrows(IllegalStateException.class, waiting::cancel);
      holder.close();
      next.start();
      assertArrayEquals(TOKENS, next.readAll());
    }
  }

  @Test
  void scenario_88_ends() {
    try (Generator generator = generator(1);
        Sequence sequence = sequence(generator, 0);
        Sequence first = sequence(generator, 0);
        Sequence second = sequence(generator, 8)) {
      sequence.addStopToken(24);
      sequence.addBadToken(21);
      sequence.start();
      assertArrayEquals(new long[] {33, 33, 24}, sequence.readAll());
      assertEquals("stop", sequence.finishReason());
      first.setOption("wait_for_logits", 1);
      first.start();
      second.start();
      fails(ErrorCode.DEADLINE_EXCEEDED, () -> second.next(1000), "1000 ns");
      first.cancel();
      assertArrayEquals(TOKENS, second.readAll());
      assertEquals(-1, first.next(-1));
      assertEquals("cancelled", first.finishReason());
    }
  }

  private static Sequence eight(Generator generator, long... source) {
    Sequence sequence = generator.newSequence(source);
    sequence.setOption("max_new_tokens", 8);
    sequence.setOption("ignore_stop", 1);
    return sequence;
  }

  @Test
  void scenario_95_encoder() {
    Path t5 = MODELS.resolve("../../data/generation/t5");
    try (Generator generator =
            new Generator(t5, new GeneratorOptions().threads(1).encoderLength(40));
        Sequence sequence = eight(generator, 11, 16, 27, 26, 4);
        Sequence wrong = eight(generator, new long[41])) {
      for (long token : new long[] {3, 8, 1}) sequence.appendDecoder(token);
      sequence.start();
      assertArrayEquals(new long[] {1, 1, 30, 18, 35, 35, 42, 10}, sequence.readAll());
      fails(ErrorCode.INVALID_ARGUMENT, () -> wrong.appendFeature(1), "features");
      fails(ErrorCode.OUT_OF_RANGE, wrong::start, "encoder_length");
    }
    for (Path path : new Path[] {t5, FOLDER})
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new Generator(path, new GeneratorOptions().encoderLength(41)),
          "encoder_length");
  }

  @Test
  void scenario_96_features() {
    Path whisper = MODELS.resolve("../../data/generation/whisper");
    try (Generator generator = new Generator(whisper, new GeneratorOptions().threads(1));
        Sequence sequence = eight(generator);
        Sequence wrong = eight(generator)) {
      sequence.readFeatures(whisper.resolve("features.npy"));
      fails(ErrorCode.OUT_OF_RANGE, () -> sequence.appendFeature(1), "288");
      sequence.start();
      assertArrayEquals(new long[] {14, 29, 41, 13, 40, 13, 15, 13}, sequence.readAll());
      fails(
          ErrorCode.NOT_FOUND, () -> wrong.readFeatures(Path.of("missing.npy")), "missing.npy");
      fails(ErrorCode.INVALID_ARGUMENT, wrong::start, "features");
    }
  }

  @Test
  void scenario_97_beams() {
    try (Generator generator = generator(3);
        Sequence sequence = generator.newSequence(5, 9, 2);
        Sequence wrong = sequence(generator, 2)) {
      sequence.setOption("num_beams", 3);
      sequence.setOption("num_return_sequences", 2);
      sequence.setOption("length_penalty", 2);
      sequence.setOption("early_stopping", 1);
      sequence.setOption("max_new_tokens", 10);
      sequence.start();
      assertArrayEquals(new long[] {46, 25, 4, 46, 20, 33, 11, 25, 4, 47}, sequence.readAll());
      assertEquals(-0.053866, sequence.score(), 1e-4);
      assertTrue(sequence.nextText());
      assertArrayEquals(new long[] {46, 25, 4, 46, 20, 33, 9, 23, 0, 34}, sequence.readAll());
      assertEquals(-0.064983, sequence.score(), 1e-4);
      assertEquals(false, sequence.nextText());
      wrong.setOption("num_beams", 4);
      fails(ErrorCode.INVALID_ARGUMENT, wrong::start, "slots");
    }
  }

  @Test
  void scenario_109_saved_text_in_memory() {
    try (Generator generator = generator(1);
        Generator more = generator(2);
        Sequence sequence = sequence(generator, 8);
        Sequence again = generator.newSequence();
        Sequence other = more.newSequence()) {
      fails(ErrorCode.FAILED_PRECONDITION, sequence::saveBytes, "not started");
      sequence.start();
      for (int i = 0; i < 3; i++) sequence.next(-1);
      java.nio.ByteBuffer saved = java.nio.ByteBuffer.wrap(sequence.saveBytes());
      fails(
          ErrorCode.DATA_LOSS,
          () -> again.restoreBytes(java.nio.ByteBuffer.wrap(saved.array(), 0, 100)),
          "damaged");
      fails(
          ErrorCode.DATA_LOSS,
          () -> again.restoreBytes(java.nio.ByteBuffer.allocate(0)),
          "saved sequence");
      again.restoreBytes(saved);
      fails(ErrorCode.FAILED_PRECONDITION, () -> again.append(1), "saved text");
      again.start();
      assertArrayEquals(new long[] {21, 43, 37, 34, 43}, again.readAll());
      assertArrayEquals(new long[] {21, 43, 37, 34, 43}, sequence.readAll());
      fails(ErrorCode.FAILED_PRECONDITION, () -> other.restoreBytes(saved), "another model");
    }
  }

  @Test
  void scenario_110_byte_caches() throws Exception {
    GeneratorOptions options = new GeneratorOptions().threads(1).cachePrecision("int8");
    Path folder = FOLDER.getParent();
    Path file = Files.createTempFile("bytes", ".popef"),
        other = Files.createTempFile("exact", ".popef");
    try {
      try (Generator generator = new Generator(folder.resolve("genai"), options)) {
        assertTrue(generator.statistics().contains("\"cache_bytes\":4096"));
        generator.save(file);
      }
      try (Generator generator = new Generator(file, options);
          Generator exact = generator(1);
          Sequence sequence = sequence(generator, 8);
          Sequence wanted = sequence(exact, 8)) {
        sequence.start();
        wanted.start();
        assertArrayEquals(wanted.readAll(), sequence.readAll());
        exact.save(other);
      }
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new Generator(other, options),
          "the PopEF file was compiled without it");
      options.maxLength(64);
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new Generator(folder.resolve("lstm"), options),
          "cache_precision");
      options.cachePrecision("int4");
      fails(
          ErrorCode.INVALID_ARGUMENT,
          () -> new Generator(folder.resolve("genai"), options),
          "cache_precision");
    } finally {
      Files.delete(file);
      Files.delete(other);
    }
  }

  @Test
  void scenario_98_saved_text() throws Exception {
    Path file = Files.createTempFile("text", ".bin"), part = Files.createTempFile("cut", ".bin");
    try (Generator generator = generator(1);
        Generator more = generator(2);
        Sequence sequence = sequence(generator, 8);
        Sequence again = generator.newSequence();
        Sequence other = more.newSequence()) {
      sequence.start();
      for (int i = 0; i < 3; i++) sequence.next(-1);
      sequence.save(file);
      Files.write(part, java.util.Arrays.copyOf(Files.readAllBytes(file), 100));
      fails(ErrorCode.DATA_LOSS, () -> again.restore(part), part.toString());
      again.restore(file);
      fails(ErrorCode.FAILED_PRECONDITION, () -> again.append(1), "saved text");
      again.start();
      assertArrayEquals(new long[] {21, 43, 37, 34, 43}, again.readAll());
      assertArrayEquals(new long[] {21, 43, 37, 34, 43}, sequence.readAll());
      fails(ErrorCode.FAILED_PRECONDITION, () -> other.restore(file), "another model");
    } finally {
      Files.delete(file);
      Files.delete(part);
    }
  }

  @Test
  void scenario_99_named_states() {
    Path lstm = MODELS.resolve("../../data/generation/lstm");
    GeneratorOptions options =
        new GeneratorOptions().maxLength(64).states("h%d_in=h%d_out,c%d_in=c%d_out");
    try (Generator generator = new Generator(lstm.resolve("model.onnx"), options);
        Sequence sequence = eight(generator, 36, 37, 43)) {
      sequence.start();
      assertArrayEquals(new long[] {17, 1, 6, 52, 30, 7, 48, 19}, sequence.readAll());
    }
    fails(
        ErrorCode.INVALID_ARGUMENT,
        () -> new Generator(lstm, new GeneratorOptions().states("h%d_in")),
        "past=present");
    fails(
        ErrorCode.NOT_FOUND,
        () -> new Generator(lstm, new GeneratorOptions().states("none_in=none_out")),
        "none_out");
  }
}
