package io.opdyno;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A list of values. */
public final class ValueList extends Handle {
  ValueList(long pointer) {
    super(pointer, Values.heldBytes(pointer));
  }

  /** Of any values: {@link PackedFn} lists them. An array that is null is one item: null. */
  public static ValueList of(@Nullable Object... items) {
    return Out.take(out -> Native.opd_array_create(Calls.args(items), out));
  }

  /** The number of items. */
  public int size() {
    return Native.opd_array_count(this);
  }

  /** A new object for an item: a handle is the caller's to close. */
  public @Nullable Object get(int place) {
    checkIndex(place);
    return Out.<Object>take(out -> Native.opd_array_get(this, place, out));
  }

  /** An item that is a tensor; a ClassCastException if it is none. */
  public Tensor tensor(int place) {
    return Calls.asTensor(get(place));
  }

  /** All items, as get() returns them. */
  public List<@Nullable Object> toList() {
    List<Object> items = new ArrayList<>();
    for (int i = 0, size = size(); i < size; ++i) items.add(get(i));
    return items;
  }

  /** C's indices are not below 0; those too large are refused likewise. */
  static void checkIndex(int index) {
    if (index < 0) throw OpdynoException.of(Code.OUT_OF_RANGE, "IndexError", "index " + index + " is below 0", null);
  }

  /** As "[1, 2.5]". */
  @Override
  public String toString() {
    return Out.take(out -> Native.opd_value_to_string(this, out));
  }

  static List<Object> items(ValueList list) {
    try (list) {
      return list.toList();
    }
  }

  /** Takes a list of texts over. */
  static List<String> texts(ValueList list) {
    return items(list).stream().map(String.class::cast).toList();
  }
}
