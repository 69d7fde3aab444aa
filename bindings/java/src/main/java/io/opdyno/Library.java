package io.opdyno;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Loads the native library. Each class with native methods calls load(), because a program may use any of them first.
 *
 * <p>The property "opdyno.library.path" names the file or its directory. Without it, the jar's file is copied once to a
 * cache directory, under the hash of its content. The cache directory is "opdyno.cache.dir", else $XDG_CACHE_HOME, else
 * ~/.cache. A file there is never changed, only replaced, so any number of programs can start at once. A damaged file
 * is replaced. The check compares the CRC-32, which takes half a millisecond; SHA-256 would take 75 ms at the start of
 * a JVM. A cache that others can write is not used, because the file is executed. If the cache cannot be used, a copy
 * in a temporary directory is loaded and then removed.
 */
final class Library {
  private static final String NAME = "libopdyno_java.so";

  static {
    String path = System.getProperty("opdyno.library.path");
    if (path == null) new Library().loadOfJar();
    else loadOf(Path.of(path).toAbsolutePath());
  }

  private final List<String> tried = new ArrayList<>();

  private Library() {}

  static void load() {}

  private static void loadOf(Path path) {
    Path file = Files.isDirectory(path) ? path.resolve(NAME) : path;
    try {
      System.load(file.toString());
    } catch (UnsatisfiedLinkError e) {
      throw refused("the property opdyno.library.path gives " + file + ", which cannot be loaded: " + e.getMessage());
    }
  }

  private void loadOfJar() {
    String resource = "natives/" + platform() + "/" + NAME;
    String[] known; // SHA-256, size, CRC-32
    try (InputStream in = Library.class.getResourceAsStream(resource + ".sha256")) {
      if (in == null) {
        throw refused("opdyno has no native library for " + platform() + ": there is no io/opdyno/" + resource
            + " beside the class io.opdyno.Library. The property opdyno.library.path may give one.");
      }
      known = new String(in.readAllBytes(), StandardCharsets.US_ASCII).trim().split(" ");
    } catch (IOException e) {
      throw refused("io/opdyno/" + resource + ".sha256 cannot be read: " + e);
    }
    Path kept = cacheDirectory(known[0]);
    if (kept != null && !isOwn(kept)) kept = null;
    if (kept != null && loadKept(resource, kept, Long.parseLong(known[1]), Long.parseLong(known[2], 16))) return;
    // The cache directory comes first, because it also works if another class loader has loaded the file in it.
    for (Path parent : new Path[] {kept, Path.of(System.getProperty("java.io.tmpdir")), Path.of("/dev/shm")}) {
      if (parent != null && loadCopy(resource, parent)) return;
    }
    throw refused("opdyno's native library cannot be loaded; tried " + String.join("; ", tried)
        + ". The property opdyno.cache.dir may give a directory in which files can be written and run.");
  }

  private boolean loadKept(String resource, Path directory, long size, long crc) {
    Path file = directory.resolve(NAME);
    try {
      if (!isGood(file, size, crc)) {
        Path made = Files.createTempFile(directory, NAME, ".part"); // only the owner may write this file
        try {
          extract(resource, made);
          Files.move(made, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
          Files.deleteIfExists(made);
        }
      }
    } catch (IOException e) {
      tried.add(file + ": " + e);
      return false;
    }
    return isLoaded(file);
  }

  /**
   * Whether only this user can write the directory DIRECTORY/opdyno/java/HASH. Creates the directory if it does not
   * exist.
   */
  private boolean isOwn(Path directory) {
    try {
      Files.createDirectories(directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      Path parent = directory;
      for (int i = 0; i < 4; ++i, parent = parent.getParent()) checkOwn(parent);
      return true;
    } catch (IOException e) {
      tried.add(directory + ": " + e);
      return false;
    }
  }

  /** Whether the file is undamaged and only this user can write it. Otherwise it is replaced. */
  private static boolean isGood(Path file, long size, long crc) throws IOException {
    if (!Files.isRegularFile(file) || Files.size(file) != size) return false;
    try {
      checkOwn(file);
    } catch (IOException refused) {
      return false;
    }
    CRC32 found = new CRC32();
    found.update(Files.readAllBytes(file));
    return found.getValue() == crc;
  }

  /**
   * Throws if a user other than this one and the superuser could replace the file. In a directory with the sticky bit,
   * other users cannot replace it.
   */
  private static void checkOwn(Path path) throws IOException {
    java.util.Map<String, Object> found = Files.readAttributes(path, "unix:uid,mode");
    int mode = (Integer) found.get("mode"), owner = (Integer) found.get("uid");
    boolean isSticky = Files.isDirectory(path) && (mode & 01000) != 0;
    if ((mode & 022) != 0 && !isSticky) throw new IOException("others may write " + path);
    if (owner != 0 && !Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(owner)) throw new IOException("others own " + path);
  }

  private boolean loadCopy(String resource, Path parent) {
    Path directory = null;
    try {
      directory = Files.createTempDirectory(parent, "opdyno");
      Path file = directory.resolve(NAME);
      try {
        extract(resource, file);
        return isLoaded(file);
      } finally {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      tried.add(parent + ": " + e);
      return false;
    } finally {
      delete(directory);
    }
  }

  private static void delete(Path directory) {
    try {
      if (directory != null) Files.deleteIfExists(directory);
    } catch (IOException e) {
      // the library is loaded already
    }
  }

  private static void extract(String resource, Path file) throws IOException {
    try (InputStream in = Library.class.getResourceAsStream(resource)) {
      if (in == null) throw new FileNotFoundException("io/opdyno/" + resource + " is not in the jar");
      Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private boolean isLoaded(Path file) {
    try {
      System.load(file.toAbsolutePath().toString());
      return true;
    } catch (UnsatisfiedLinkError e) {
      tried.add(file + ": " + e.getMessage());
      return false;
    }
  }

  /** The cache directory; null if there is none, for example in a container without a home directory. */
  private Path cacheDirectory(String hash) {
    String given = System.getProperty("opdyno.cache.dir"), ofUser = System.getenv("XDG_CACHE_HOME");
    Path base;
    if (given != null) base = Path.of(given).toAbsolutePath();
    else if (ofUser != null && ofUser.startsWith("/")) base = Path.of(ofUser);
    else base = Path.of(System.getProperty("user.home"), ".cache");
    if (base.isAbsolute()) return base.resolve("opdyno").resolve("java").resolve(hash);
    tried.add(base + ": not a cache directory, since it is relative");
    return null;
  }

  private static String platform() {
    String arch = System.getProperty("os.arch");
    return System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT) + "-" + (arch.equals("amd64") ? "x86_64" : arch);
  }

  private static UnsatisfiedLinkError refused(String why) {
    return new UnsatisfiedLinkError(why);
  }
}
