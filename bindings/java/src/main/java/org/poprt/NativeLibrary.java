package org.poprt;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Finds and loads the native libraries once; {@link Poprt} documents where it searches. */
final class NativeLibrary {
  private static final String CORE = "libpoprt.so.1";
  private static final String WRAPPER = "libpoprt_java.so";
  private static final String CACHE = "poprt.cache.path";
  private static final String UNFINISHED = ".unpacking";
  private static final int OTHERS_WRITE = 02; // S_IWOTH
  private static final int STICKY = 01000; // S_ISVTX: users cannot replace files of others in such a folder

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
   * Unpacks the libraries of the jar once for each build of it, in a folder of the user. The name
   * of the build's folder contains the version and a digest of the libraries. The folder gets this
   * name when it is complete, so that processes that start at the same time do not see a part of
   * it. Files of another size, or that are missing, are unpacked again.
   */
  private static void loadExtracted(String resources) {
    Path folder;
    try {
      List<String> index = readIndex(resources + "index");
      int user = user();
      folder = userFolder(cache(), user).resolve(index.get(0));
      Map<String, Long> sizes = new LinkedHashMap<>();
      for (String line : index.subList(1, index.size())) {
        String[] words = line.split(" ");
        sizes.put(words[0], Long.valueOf(words[1]));
      }
      removeUnfinished(folder.getParent());
      if (!damaged(sizes, folder).isEmpty()) unpack(resources, sizes, folder);
      checkOwner(folder, user);
      for (String file : sizes.keySet()) checkOwner(folder.resolve(file), user);
    } catch (IOException e) {
      throw new IllegalStateException(
          "cannot use the unpacked native libraries (" + e + "): name a folder that may be written and executed with -D" + CACHE
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
    String message = String.valueOf(e.getMessage());
    if (message.contains("GLIBC")) return e; // the C library is too old, wherever the libraries are
    boolean twice = message.contains("another classloader");
    UnsatisfiedLinkError better =
        new UnsatisfiedLinkError(
            message
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
   * process. The home of a user without an entry in passwd is "?".
   */
  private static Path cache() throws IOException {
    String named = System.getProperty(CACHE);
    if (named != null) return Files.createDirectories(Path.of(named).toAbsolutePath(), permissions("rwxrwxr-x"));
    String base = System.getenv("XDG_CACHE_HOME");
    Path folder =
        base != null && base.startsWith("/")
            ? Path.of(base, "poprt")
            : Path.of(System.getProperty("user.home"), ".cache", "poprt");
    try {
      if (folder.isAbsolute()) {
        Files.createDirectories(folder, permissions("rwx------"));
        if (Files.isWritable(folder)) return folder.toRealPath();
      }
    } catch (IOException e) {
      // The home is read-only or does not exist.
    }
    Path temporary = Files.createTempDirectory("poprt").toRealPath();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(temporary)));
    return temporary;
  }

  private static FileAttribute<Set<PosixFilePermission>> permissions(String text) {
    return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text));
  }

  /** Returns the number of the effective user of this process, whose name may not be known. */
  private static int user() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"), StandardCharsets.ISO_8859_1))
      if (line.startsWith("Uid:")) return Integer.parseUnsignedInt(line.split("\t")[2]);
    throw new IOException("/proc/self/status has no line Uid");
  }

  /** Makes the folder of the user, because several users may share the cache. */
  private static Path userFolder(Path cache, int user) throws IOException {
    int mode = (Integer) Files.getAttribute(cache, "unix:mode");
    if ((mode & OTHERS_WRITE) != 0 && (mode & STICKY) == 0) throw writable(cache);
    Path folder = cache.resolve("poprt-" + Integer.toUnsignedString(user));
    Files.createDirectories(folder, permissions("rwx------"));
    checkOwner(folder, user);
    return folder;
  }

  /**
   * Refuses a file or folder that another user may have made, as the cache of compiled models does:
   * the code of a library runs as the user of this process.
   */
  private static void checkOwner(Path path, int user) throws IOException {
    List<Integer> owners = List.of(
        (Integer) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS), // of a link
        (Integer) Files.getAttribute(path, "unix:uid"));
    for (int owner : owners)
      if (owner != user && owner != 0)
        throw new AccessDeniedException(
            path.toString(),
            null,
            "belongs to user " + Integer.toUnsignedString(owner) + ", not to user " + Integer.toUnsignedString(user)
                + " of this process; remove it");
    if (((Integer) Files.getAttribute(path, "unix:mode") & OTHERS_WRITE) != 0) throw writable(path);
  }

  private static IOException writable(Path path) {
    return new AccessDeniedException(path.toString(), null, "every user can write to it; forbid it (chmod o-w)");
  }

  private static List<String> damaged(Map<String, Long> sizes, Path folder) {
    List<String> found = new ArrayList<>();
    for (Map.Entry<String, Long> file : sizes.entrySet())
      if (folder.resolve(file.getKey()).toFile().length() != file.getValue())
        found.add(file.getKey());
    return found;
  }

  /** Removes folders, older than ten minutes, of processes that were killed while they unpacked. */
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
          Files.setPosixFilePermissions(unfinished.resolve(file), PosixFilePermissions.fromString("rwx------"));
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
