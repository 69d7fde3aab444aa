package io.opdyno;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A module, loaded of a file or made. */
public final class Program extends Handle {
  Program(long pointer) {
    super(pointer);
  }

  /** Of a file that TVM or a compiler exported, or of one of the library's own. */
  public static Program load(Path path) {
    return load(path, null);
  }

  /** Likewise; no options (null) are all defaults. */
  public static Program load(Path path, @Nullable ProgramOptions options) {
    return Out.take(out -> Native.opd_module_load(path, ProgramOptions.map(options), out));
  }

  /** Of the bytes of such a file; the name is for messages. */
  public static Program load(byte[] bytes, @Nullable String name, @Nullable ProgramOptions options) {
    Objects.requireNonNull(bytes, "bytes must not be null");
    return Out.take(out -> Native.opd_module_load_bytes(bytes, name, ProgramOptions.map(options), out));
  }

  /**
   * Of a shared library, with C functions of it by name and signature: {@code Map.of("scaled", "f64(f64, i32)")}. A wrong signature
   * breaks the process. An absent function is an {@link OpdynoException.NotFound}.
   */
  public static Program loadNative(Path path, java.util.Map<String, String> signatures, @Nullable ProgramOptions options) {
    Objects.requireNonNull(signatures, "signatures must not be null");
    return Out.take(out -> Native.opd_module_load_native(path, signatures, ProgramOptions.map(options), out));
  }

  /** Of an object file or an archive of them, which is not run, but linked into the file that export() writes. */
  public static Program loadStaticLibrary(Path path, String... functions) {
    Objects.requireNonNull(functions, "functions must not be null");
    return Out.take(out -> Native.opd_module_load_static_library(path, functions, out));
  }

  /** The objects that are linked into the process and registered themselves by a prefix, usually "": the same module each time. */
  public static Program systemLib(@Nullable String prefix) {
    return Out.take(out -> Native.opd_module_system_lib(prefix, out));
  }

  /** "relax.VMExecutable", "library" … */
  public String kind() {
    return Native.opd_module_kind(this);
  }

  /** "so", "c", "o", "vmexec" …; "" if it is not known. */
  public String format() {
    return Native.opd_module_format(this);
  }

  /** Whether it can be embedded, called or linked. */
  public Set<ProgramProperty> properties() {
    int bits = Native.opd_module_properties(this);
    Set<ProgramProperty> properties = EnumSet.allOf(ProgramProperty.class);
    properties.removeIf(property -> (bits & property.swigValue()) == 0);
    return properties;
  }

  /** The modules that it imports; new handles, which are the caller's to close. */
  public List<Program> imports() {
    return ValueList.items(Out.take(out -> Native.opd_module_list_imports(this, out))).stream().map(Program.class::cast).toList();
  }

  /** The names of its functions. */
  public List<String> functions() {
    return ValueList.texts(Out.take(out -> Native.opd_module_list_functions(this, out)));
  }

  /** Whether function(name) finds one. */
  public boolean hasFunction(String name) {
    return hasFunction(name, Set.of(ProgramLookup.IMPORTS));
  }

  /** Whether there is a function of that name; none (an empty set): of its own that can be called. */
  public boolean hasFunction(String name, Set<ProgramLookup> lookup) {
    int bits = lookup.stream().mapToInt(ProgramLookup::swigValue).reduce(0, (all, bit) -> all | bit);
    return Native.opd_module_has_function(this, name, bits) != 0;
  }

  /** A function of it or of its imports; null: the one that it is called by, "main". */
  public PackedFn function(@Nullable String name) {
    return Out.take(out -> Native.opd_module_get_function(this, name, 1, out));
  }

  /** A C symbol, called by its signature: {@code "f64(f64, i32)"}. A wrong one breaks the process. */
  public PackedFn function(String symbol, String signature) {
    return Out.take(out -> Native.opd_module_native_function(this, symbol, signature, out));
  }

  /** A VM of it, on the CPU. */
  public Vm vm() {
    return vm(null);
  }

  /** Likewise; no options (null) are all defaults. */
  public Vm vm(@Nullable VmOptions options) {
    return Out.take(out -> Native.opd_vm_create(this, VmOptions.map(options), out));
  }

  /** Its source, in a format of its kind, or null for the usual one. */
  public String source(@Nullable String format) {
    return Out.take(out -> Native.opd_module_get_source(this, format, out));
  }

  /** The module and its imports as JSON: kinds, files, functions. */
  public String toJson() {
    return Out.take(out -> Native.opd_module_to_json(this, out));
  }

  /** Adds another module, where functions are looked for, too. */
  public void addImport(Program imported) {
    Native.opd_module_add_import(this, imported);
  }

  /** The formats of save(), the usual one first. */
  public List<String> formats() {
    return ValueList.texts(Out.take(out -> Native.opd_module_list_formats(this, out)));
  }

  /**
   * Writes a file of it alone, without its imports, in a format; null: by the path's suffix, then the usual one. A format that it
   * has not is an {@link OpdynoException.Unsupported}, which lists those that it has.
   */
  public void save(Path path, @Nullable String format) {
    Native.opd_module_save(this, path, format);
  }

  /** Writes it and its imports as one file. */
  public void export(Path path, @Nullable ExportOptions options) {
    Native.opd_module_export(this, path, ExportOptions.map(options));
  }
}
