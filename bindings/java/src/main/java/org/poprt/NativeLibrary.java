package org.poprt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Finds and loads the native libraries, once; see {@link Poprt} for where they are looked for. */
final class NativeLibrary {
  private static final String CORE = "libpoprt.so.1";
  private static final String COMPILER = "libpoprt_compiler.so.1";
  private static final String IMAGES = "libpoprt_images.so.1";
  private static final String WRAPPER = "libpoprt_java.so";

  private NativeLibrary() {}

  static void load() {
    String folder = System.getProperty("poprt.library.path");
    if (folder != null) {
      loadFrom(Path.of(folder).toAbsolutePath());
      return;
    }
    String resources = "/native/" + platform() + "/";
    if (NativeLibrary.class.getResource(resources + WRAPPER) != null) {
      loadExtracted(resources);
      return;
    }
    // Finds libpoprt.so.1 beside itself.
    System.loadLibrary("poprt_java");
  }

  /** Refuses a libpoprt that is older than what the wrapper was built with, or of another major version. */
  static void checkVersion() {
    int header = poprt_raw.raw_header_version();
    int found = poprt_raw.raw_version();
    if (!poprt_raw.raw_version_fits(header, found))
      throw new UnsatisfiedLinkError(
          "libpoprt.so.1 has version "
              + poprt_raw.raw_version_string()
              + " ("
              + found
              + "), the Java wrapper was built with "
              + header
              + ": install both from one build");
  }

  private static String platform() {
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
    if (machine.equals("amd64")) machine = "x86_64";
    return (system.startsWith("linux") ? "linux" : system.replace(' ', '_')) + "-" + machine;
  }

  /** The core first, by its full path: then no other copy of it can be found in its place. */
  private static void loadFrom(Path folder) {
    Path core = folder.resolve(CORE);
    if (Files.exists(core)) System.load(core.toString());
    System.load(folder.resolve(WRAPPER).toString());
  }

  private static void loadExtracted(String resources) {
    try {
      Path folder = Files.createTempDirectory("poprt").toRealPath();
      try {
        for (String file : new String[] {CORE, COMPILER, IMAGES, WRAPPER})
          extract(resources + file, folder.resolve(file));
        loadFrom(folder);
      } finally {
        // What is mapped lives on without its file. The compiler and its part for images are
        // loaded when they are first needed.
        Files.deleteIfExists(folder.resolve(CORE));
        Files.deleteIfExists(folder.resolve(WRAPPER));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
      }
    } catch (IOException e) {
      throw new IllegalStateException(
          "cannot unpack the native libraries in " + System.getProperty("java.io.tmpdir"), e);
    }
  }

  private static void extract(String resource, Path file) throws IOException {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in != null) Files.copy(in, file);
    }
  }

  private static void delete(Path folder) {
    try {
      Files.deleteIfExists(folder.resolve(COMPILER));
      Files.deleteIfExists(folder.resolve(IMAGES));
      Files.deleteIfExists(folder);
    } catch (IOException e) {
      // A file that stays in the temporary folder is no reason to fail at exit.
    }
  }
}
