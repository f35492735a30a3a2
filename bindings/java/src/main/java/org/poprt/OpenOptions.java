package org.poprt;

import java.util.Objects;

/** How PopEF files are opened. */
public final class OpenOptions {
  boolean ignorePackageHash;
  String executable = "";

  /** The defaults. */
  public OpenOptions() {}

  /**
   * Whether to open executables that another version compiled.
   *
   * @param on default false
   * @return this
   */
  public OpenOptions ignorePackageHash(boolean on) {
    ignorePackageHash = on;
    return this;
  }

  /**
   * Selects the model if the files contain several.
   *
   * @param name the name of the executable; "": the only one
   * @return this
   */
  public OpenOptions executable(String name) {
    executable = Objects.requireNonNull(name, "name");
    return this;
  }
}
