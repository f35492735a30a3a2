package org.poprt;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Finds and loads the native libraries once; {@link Poprt} documents where it searches. */
final class NativeLibrary {
  private static final String CORE = "libpoprt.so.1";
  private static final String WRAPPER = "libpoprt_java.so";
  private static final String CACHE = "poprt.cache.path";
  private static final String UNFINISHED = ".unpacking";

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
    // The wrapper finds libpoprt.so.1 in its own folder.
    System.loadLibrary("poprt_java");
  }

  /**
   * Refuses a libpoprt that is older than the one with which the wrapper was built, or of
   * another major version.
   */
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

  /** Loads the core first, by its full path, so that the wrapper finds no other copy of it. */
  private static void loadFrom(Path folder) {
    Path core = folder.resolve(CORE);
    if (Files.exists(core)) System.load(core.toString());
    System.load(folder.resolve(WRAPPER).toString());
  }

  /**
   * Unpacks the libraries of the jar once for each build of it. The name of the folder contains the
   * version and a digest of the libraries. The folder is renamed when it is complete, so that
   * processes that start at the same time do not see a part of it. Files of another size, or that
   * are missing, are unpacked again.
   */
  private static void loadExtracted(String resources) {
    Path folder;
    try {
      List<String> index = readIndex(resources + "index");
      folder = cache().resolve(index.get(0));
      Map<String, Long> sizes = new LinkedHashMap<>();
      for (String line : index.subList(1, index.size())) {
        String[] words = line.split(" ");
        sizes.put(words[0], Long.valueOf(words[1]));
      }
      removeUnfinished(folder.getParent());
      if (!damaged(sizes, folder).isEmpty()) unpack(resources, sizes, folder);
    } catch (IOException e) {
      throw new IllegalStateException(
          "cannot unpack the native libraries (" + e + "): name a folder that may be written and executed with -D" + CACHE
              + "=DIR, or the libraries with -Dpoprt.library.path=DIR",
          e);
    }
    try {
      loadFrom(folder);
    } catch (UnsatisfiedLinkError e) {
      throw explained(e, folder);
    }
  }

  /**
   * Adds the remedy to the error: a virtual machine loads a library for one class loader only, and
   * the message is only "failed to map" if the file system is noexec.
   */
  private static UnsatisfiedLinkError explained(UnsatisfiedLinkError e, Path folder) {
    boolean twice = String.valueOf(e.getMessage()).contains("another classloader");
    UnsatisfiedLinkError better =
        new UnsatisfiedLinkError(
            e.getMessage()
                + (twice
                    ? " (two applications share the libraries if poprt's jar is on the class path of their server instead of in each"
                        + " application; after a redeployment, the garbage collector must have removed the old application)"
                    : " (unpacked in " + folder + "; where the file system does not allow to execute files, name"
                        + " another folder with -D" + CACHE + "=DIR)"));
    better.initCause(e);
    return better;
  }

  private static List<String> readIndex(String resource) throws IOException {
    InputStream in = NativeLibrary.class.getResourceAsStream(resource);
    if (in == null) throw new IOException("the jar has no " + resource);
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      List<String> lines = new ArrayList<>();
      for (String line = reader.readLine(); line != null; line = reader.readLine()) lines.add(line);
      return lines;
    }
  }

  /**
   * Returns the property, the user's cache, or, for users without a home, a folder for this
   * process.
   */
  private static Path cache() throws IOException {
    String named = System.getProperty(CACHE);
    if (named != null) return Files.createDirectories(Path.of(named).toAbsolutePath());
    String base = System.getenv("XDG_CACHE_HOME");
    Path folder =
        base != null && base.startsWith("/")
            ? Path.of(base, "poprt")
            : Path.of(System.getProperty("user.home"), ".cache", "poprt");
    try {
      Files.createDirectories(folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      if (Files.isWritable(folder)) return folder.toRealPath();
    } catch (IOException e) {
      // The home is read-only or does not exist.
    }
    Path temporary = Files.createTempDirectory("poprt").toRealPath();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(temporary)));
    return temporary;
  }

  private static List<String> damaged(Map<String, Long> sizes, Path folder) {
    List<String> found = new ArrayList<>();
    for (Map.Entry<String, Long> file : sizes.entrySet())
      if (folder.resolve(file.getKey()).toFile().length() != file.getValue())
        found.add(file.getKey());
    return found;
  }

  /** Removes what processes left that were killed while they unpacked. */
  private static void removeUnfinished(Path cache) {
    long old = System.currentTimeMillis() - TimeUnit.MINUTES.toMillis(10);
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(cache, UNFINISHED + "*")) {
      for (Path folder : folders) if (folder.toFile().lastModified() < old) delete(folder);
    } catch (IOException | DirectoryIteratorException e) {
      // Folders that remain there are not an error.
    }
  }

  private static void unpack(String resources, Map<String, Long> sizes, Path folder)
      throws IOException {
    Path unfinished = Files.createTempDirectory(folder.getParent(), UNFINISHED);
    try {
      for (String file : sizes.keySet()) {
        try (InputStream in = NativeLibrary.class.getResourceAsStream(resources + file)) {
          if (in == null) throw new IOException("the jar has no " + resources + file);
          Files.copy(in, unfinished.resolve(file));
        }
      }
      try {
        Files.move(unfinished, folder, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException e) { // another process was first, or files of the folder are damaged
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) throw e;
        for (String file : damaged(sizes, folder))
          Files.move(
              unfinished.resolve(file), folder.resolve(file), StandardCopyOption.ATOMIC_MOVE);
      }
    } finally {
      delete(unfinished);
    }
  }

  private static void delete(Path folder) {
    if (!Files.exists(folder)) return;
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toArray(Path[]::new))
        Files.deleteIfExists(file);
    } catch (IOException e) {
      // Files that remain there are not an error.
    }
  }
}
