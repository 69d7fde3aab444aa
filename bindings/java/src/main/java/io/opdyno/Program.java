package io.opdyno;

import java.nio.file.Path;
import java.util.List;

/** A module: what was loaded of a file, or made. */
public final class Program extends Handle {
  Program(long pointer) {
    super(pointer);
  }

  /** Of a file: what TVM or a compiler exported, or one of the library's own. */
  public static Program load(Path path) {
    return load(path, null);
  }

  /** Likewise; no options (null) are all defaults. */
  public static Program load(Path path, ProgramOptions options) {
    return Out.take(out -> Native.opd_module_load(path.toString(), ProgramOptions.map(options), out));
  }

  /** Of the bytes of such a file; the name is for messages. */
  public static Program load(byte[] bytes, String name, ProgramOptions options) {
    return Out.take(out -> Native.opd_module_load_bytes(bytes, name, ProgramOptions.map(options), out));
  }

  /** "relax.VMExecutable", "library" … */
  public String kind() {
    return Native.opd_module_kind(this);
  }

  /** The names of its functions. */
  public List<String> functions() {
    return ValueList.texts(Out.take(out -> Native.opd_module_list_functions(this, out)));
  }

  /** A function of it or of what it imports. */
  public PackedFn function(String name) {
    return Out.take(out -> Native.opd_module_get_function(this, name, 1, out));
  }

  /** A C symbol, called as its signature says: {@code "f64(f64, i32)"}. A wrong one breaks the process. */
  public PackedFn function(String symbol, String signature) {
    return Out.take(out -> Native.opd_module_native_function(this, symbol, signature, out));
  }

  /** A VM of it, on the CPU. */
  public Vm vm() {
    return vm(null);
  }

  /** Likewise; no options (null) are all defaults. */
  public Vm vm(VmOptions options) {
    return Out.take(out -> Native.opd_vm_create(this, VmOptions.map(options), out));
  }

  /** Its source, in a format of its kind, or null for the usual one. */
  public String source(String format) {
    return Out.take(out -> Native.opd_module_get_source(this, format, out));
  }

  /** What it is made of, as JSON. */
  public String toJson() {
    return Out.take(out -> Native.opd_module_to_json(this, out));
  }

  /** Adds another module, where functions are looked for, too. */
  public void addImport(Program imported) {
    Native.opd_module_add_import(this, imported);
  }

  /** Writes it and its imports as one file. */
  public void export(Path path, ExportOptions options) {
    Native.opd_module_export(this, path.toString(), ExportOptions.map(options));
  }
}
