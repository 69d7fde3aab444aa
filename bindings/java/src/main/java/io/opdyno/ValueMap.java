package io.opdyno;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An immutable map from values to values, in insertion order. */
public final class ValueMap extends Handle {
  ValueMap(long pointer) {
    super(pointer, Values.heldBytes(pointer));
  }

  /** The number of entries. */
  public int size() {
    return Native.opd_map_count(this);
  }

  /** Returns the value of a key as a new object. If the object is a handle, the caller has to close it. */
  public @Nullable Object get(@Nullable Object key) {
    return Out.<Object>take(out -> Native.opd_map_get(this, key, out));
  }

  /** Text such as "{"a": 1}". */
  @Override
  public String toString() {
    return Out.take(out -> Native.opd_value_to_string(this, out));
  }

  /** All entries. */
  public Map<@Nullable Object, @Nullable Object> toMap() {
    Map<Object, Object> entries = new LinkedHashMap<>();
    for (int i = 0, size = size(); i < size; ++i) {
      Out<Object> key = new Out<>(), value = new Out<>();
      Native.opd_map_entry(this, i, key, value);
      entries.put(key.get(), value.get());
    }
    return entries;
  }
}
