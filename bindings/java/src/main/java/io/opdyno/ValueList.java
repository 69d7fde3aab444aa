package io.opdyno;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A list of values. */
public final class ValueList extends Handle {
  ValueList(long pointer) {
    super(pointer, Values.heldBytes(pointer));
  }

  /** Makes a list of values; {@link PackedFn} lists the possible ones. An array that is null is one item: null. */
  public static ValueList of(@Nullable Object... items) {
    return Out.take(out -> Native.opd_array_create(Calls.args(items), out));
  }

  /** The number of items. */
  public int size() {
    return Native.opd_array_count(this);
  }

  /** Returns a new object for an item. If it is a handle, the caller has to close it. */
  public @Nullable Object get(int place) {
    checkIndex(place);
    return Out.<Object>take(out -> Native.opd_array_get(this, place, out));
  }

  /** Returns an item that is a tensor. ClassCastException if it is not. */
  public Tensor tensor(int place) {
    return Calls.asTensor(get(place));
  }

  /** All items, as get() returns them. */
  public List<@Nullable Object> toList() {
    List<Object> items = new ArrayList<>();
    for (int i = 0, size = size(); i < size; ++i) items.add(get(i));
    return items;
  }

  /** Indices of C are not negative; an index that is too large is refused in the same way. */
  static void checkIndex(int index) {
    if (index < 0) throw OpdynoException.of(Code.OUT_OF_RANGE, "IndexError", "index " + index + " is below 0", null);
  }

  /** Text such as "[1, 2.5]". */
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
