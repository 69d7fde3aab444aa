package io.opdyno;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A module, which was loaded from a file or made from an {@link Executable}. */
public final class Program extends Handle {
  Program(long pointer) {
    super(pointer);
  }

  /** Loads a file that TVM, a compiler or opdyno wrote. */
  public static Program load(Path path) {
    return load(path, null);
  }

  /** Loads such a file with options; null: all defaults. */
  public static Program load(Path path, @Nullable ProgramOptions options) {
    return Out.take(out -> Native.opd_module_load(path, ProgramOptions.map(options), out));
  }

  /** Loads the bytes of such a file. Messages use the name. */
  public static Program load(byte[] bytes, @Nullable String name, @Nullable ProgramOptions options) {
    Objects.requireNonNull(bytes, "bytes must not be null");
    return Out.take(out -> Native.opd_module_load_bytes(bytes, name, ProgramOptions.map(options), out));
  }

  /**
   * Loads C functions of a shared library by name and signature: {@code Map.of("scaled", "f64(f64, i32)")}. A wrong signature
   * breaks the process. Throws {@link OpdynoException.NotFound} for a missing function.
   */
  public static Program loadNative(Path path, java.util.Map<String, String> signatures, @Nullable ProgramOptions options) {
    Objects.requireNonNull(signatures, "signatures must not be null");
    return Out.take(out -> Native.opd_module_load_native(path, signatures, ProgramOptions.map(options), out));
  }

  /**
   * Makes a module of an object file or archive. The module cannot run, but export() links it into the file that it
   * writes.
   */
  public static Program loadStaticLibrary(Path path, String... functions) {
    Objects.requireNonNull(functions, "functions must not be null");
    return Out.take(out -> Native.opd_module_load_static_library(path, functions, out));
  }

  /**
   * The module of object files that are linked into the process. They have registered themselves under a prefix,
   * usually "". Each call returns the same module.
   */
  public static Program systemLib(@Nullable String prefix) {
    return Out.take(out -> Native.opd_module_system_lib(prefix, out));
  }

  /** The kind of the module: "relax.VMExecutable", "library" … */
  public String kind() {
    return Native.opd_module_kind(this);
  }

  /** The format of the content: "so", "c", "o", "vmexec" …; "" if it is not known. */
  public String format() {
    return Native.opd_module_format(this);
  }

  /** Whether the module can be embedded, called or linked. */
  public Set<ProgramProperty> properties() {
    int bits = Native.opd_module_properties(this);
    Set<ProgramProperty> properties = EnumSet.allOf(ProgramProperty.class);
    properties.removeIf(property -> (bits & property.swigValue()) == 0);
    return properties;
  }

  /** The imported modules. They are new handles, which the caller has to close. */
  public List<Program> imports() {
    return ValueList.items(Out.take(out -> Native.opd_module_list_imports(this, out))).stream().map(Program.class::cast).toList();
  }

  /** The names of the module's functions. */
  public List<String> functions() {
    return ValueList.texts(Out.take(out -> Native.opd_module_list_functions(this, out)));
  }

  /** Whether function(name) finds a function. */
  public boolean hasFunction(String name) {
    return hasFunction(name, Set.of(ProgramLookup.IMPORTS));
  }

  /** Whether there is a function of that name. With an empty set, only the module's own callable functions count. */
  public boolean hasFunction(String name, Set<ProgramLookup> lookup) {
    int bits = lookup.stream().mapToInt(ProgramLookup::swigValue).reduce(0, (all, bit) -> all | bit);
    return Native.opd_module_has_function(this, name, bits) != 0;
  }

  /** Returns a function of the module or its imports; null: the entry function, "main". */
  public PackedFn function(@Nullable String name) {
    return Out.take(out -> Native.opd_module_get_function(this, name, 1, out));
  }

  /**
   * Makes a function from a C symbol and its signature: {@code "f64(f64, i32)"}. A wrong signature breaks the process.
   */
  public PackedFn function(String symbol, String signature) {
    return Out.take(out -> Native.opd_module_native_function(this, symbol, signature, out));
  }

  /** Makes a VM of the module's program, on the CPU. */
  public Vm vm() {
    return vm(null);
  }

  /** Makes a VM with options; null: all defaults. */
  public Vm vm(@Nullable VmOptions options) {
    return Out.take(out -> Native.opd_vm_create(this, VmOptions.map(options), out));
  }

  /** The source, in a format that the kind of the module has; null: the usual format. */
  public String source(@Nullable String format) {
    return Out.take(out -> Native.opd_module_get_source(this, format, out));
  }

  /** The module and its imports as JSON: kinds, files, functions. */
  public String toJson() {
    return Out.take(out -> Native.opd_module_to_json(this, out));
  }

  /** Adds an imported module, in which functions are looked up, too. */
  public void addImport(Program imported) {
    Native.opd_module_add_import(this, imported);
  }

  /** The formats of save(), the usual one first. */
  public List<String> formats() {
    return ValueList.texts(Out.take(out -> Native.opd_module_list_formats(this, out)));
  }

  /**
   * Writes a file of the module alone, without its imports. A null format is the format of the path's suffix, else the
   * usual one. Throws {@link OpdynoException.Unsupported} for another format; the message lists the possible formats.
   */
  public void save(Path path, @Nullable String format) {
    Native.opd_module_save(this, path, format);
  }

  /** Writes the module and its imports to one file. */
  public void export(Path path, @Nullable ExportOptions options) {
    Native.opd_module_export(this, path, ExportOptions.map(options));
  }
}
