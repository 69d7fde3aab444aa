package io.opdyno;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A path from a root object to a part of it: {@code ObjectPath.root().attr("shape").arrayIndex(0)}, written {@code
 * <root>.shape[0]}. Immutable; compared by its steps. Source: TVM's ObjectPath.
 */
public final class ObjectPath {
  /** The kind of a step. */
  public enum Kind {
    /** The root itself. */
    ROOT,
    /** An attribute, by its name. */
    ATTRIBUTE,
    /** An attribute whose name is not known. */
    UNKNOWN_ATTRIBUTE,
    /** An item of an array, by its index. */
    ARRAY_INDEX,
    /** An item that is missing in this array, but not in the other one. */
    MISSING_ARRAY_ELEMENT,
    /** The value of a key of a map. */
    MAP_VALUE,
    /** An entry that is missing in this map, but not in the other one. */
    MISSING_MAP_ENTRY
  }

  private final Kind kind;
  private final @Nullable Object key;
  private final @Nullable ObjectPath parent;

  private ObjectPath(Kind kind, @Nullable Object key, @Nullable ObjectPath parent) {
    this.kind = kind;
    this.key = key;
    this.parent = parent;
  }

  /** The path to the root itself. */
  public static ObjectPath root() {
    return root(null);
  }

  /** The path to the root itself; the name replaces {@code <root>} in its text. */
  public static ObjectPath root(@Nullable String name) {
    return new ObjectPath(Kind.ROOT, name, null);
  }

  /** The path to an attribute; null: its name is not known. */
  public ObjectPath attr(@Nullable String name) {
    return new ObjectPath(name == null ? Kind.UNKNOWN_ATTRIBUTE : Kind.ATTRIBUTE, name, this);
  }

  /** The path to an item of an array. */
  public ObjectPath arrayIndex(int index) {
    return new ObjectPath(Kind.ARRAY_INDEX, index, this);
  }

  /** The path to an item that is missing in this array, but not in the other one. */
  public ObjectPath missingArrayElement(int index) {
    return new ObjectPath(Kind.MISSING_ARRAY_ELEMENT, index, this);
  }

  /** The path to the value of a key of a map. */
  public ObjectPath mapValue(@Nullable Object key) {
    return new ObjectPath(Kind.MAP_VALUE, key, this);
  }

  /** The path to an entry that is missing in this map, but not in the other one. */
  public ObjectPath missingMapEntry() {
    return new ObjectPath(Kind.MISSING_MAP_ENTRY, null, this);
  }

  /** The kind of the last step. */
  public Kind kind() {
    return kind;
  }

  /** The name, index or key of the last step; null if it has none. */
  public @Nullable Object key() {
    return key;
  }

  /** The path without the last step; null for a root. */
  public @Nullable ObjectPath parent() {
    return parent;
  }

  /** All paths from the root to this path, including both. */
  public List<ObjectPath> steps() {
    List<ObjectPath> found = new ArrayList<>();
    for (ObjectPath at = this; at != null; at = at.parent) found.add(at);
    Collections.reverse(found);
    return found;
  }

  /**
   * The path of the first {@code length} steps, including the root. Throws IndexOutOfBoundsException if it has fewer
   * steps.
   */
  public ObjectPath prefix(int length) {
    return steps().get(length - 1);
  }

  /** Whether the other path begins with the steps of this path or equals it. */
  public boolean isPrefixOf(ObjectPath other) {
    int length = steps().size();
    return length <= other.steps().size() && other.prefix(length).equals(this);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ObjectPath path && kind == path.kind && Objects.equals(key, path.key) && Objects.equals(parent, path.parent);
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, key, parent);
  }

  /** Text such as {@code <root>.body[3]["key"]}. */
  @Override
  public String toString() {
    String before = parent == null ? "" : parent.toString();
    return switch (kind) {
      case ROOT -> key == null ? "<root>" : (String) key;
      case ATTRIBUTE -> before + "." + key;
      case UNKNOWN_ATTRIBUTE -> before + ".<unknown attribute>";
      case ARRAY_INDEX -> before + "[" + key + "]";
      case MISSING_ARRAY_ELEMENT -> before + "[<missing element #" + key + ">]";
      case MAP_VALUE -> before + "[" + Out.<String>take(out -> Native.opd_value_to_string(key, out)) + "]";
      case MISSING_MAP_ENTRY -> before + "[<missing entry>]";
    };
  }
}
