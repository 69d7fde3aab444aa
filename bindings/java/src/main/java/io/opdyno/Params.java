package io.opdyno;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Named tensors, in a file or in memory. */
public final class Params extends Handle {
  Params(long pointer) {
    super(pointer);
  }

  /** None yet. */
  public static Params create() {
    return Out.take(Native::opd_params_create);
  }

  /** Of a file; no options (null) are all defaults. */
  public static Params open(Path path, ParamsOptions options) {
    return Out.take(out -> Native.opd_params_open(path.toString(), ParamsOptions.map(options), out));
  }

  /** Of a file. */
  public static Params open(Path path) {
    return open(path, null);
  }

  /** In the order of the file. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    for (long i = 0, count = Native.opd_params_count(this); i < count; ++i) names.add(Native.opd_params_name(this, i));
    return names;
  }

  /** A tensor by its name. */
  public Tensor get(String name) {
    return Out.take(out -> Native.opd_params_get(this, name, out));
  }

  /** Adds or replaces a tensor. */
  public void set(String name, Tensor tensor) {
    Native.opd_params_set(this, name, tensor);
  }

  /** Writes a file. */
  public void save(Path path) {
    Native.opd_params_save(this, path.toString());
  }
}
