package io.opdyno;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An immutable list of values of the library. */
public final class ValueList extends Handle {
  ValueList(long pointer) {
    super(pointer, Values.heldBytes(pointer));
  }

  /** Makes a list of values; {@link PackedFn} lists the possible ones. A null array means one item, null. */
  public static ValueList of(@Nullable Object... items) {
    return Out.take(out -> Native.opd_array_create(Calls.args(items), out));
  }

  /** The number of items. */
  public int size() {
    return Native.opd_array_count(this);
  }

  /** Returns an item as a new object. If the object is a handle, the caller has to close it. */
  public @Nullable Object get(int place) {
    checkIndex(place);
    return Out.<Object>take(out -> Native.opd_array_get(this, place, out));
  }

  /** Returns an item that is a tensor. ClassCastException if the item has another type. */
  public Tensor tensor(int place) {
    return Calls.asTensor(get(place));
  }

  /** All items, as get() returns them. */
  public List<@Nullable Object> toList() {
    List<Object> items = new ArrayList<>();
    for (int i = 0, size = size(); i < size; ++i) items.add(get(i));
    return items;
  }

  /** Refuses a negative index in the same way as an index that is too large, because C's indices are not negative. */
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

  /** Takes ownership of a list of texts and returns its items. */
  static List<String> texts(ValueList list) {
    return items(list).stream().map(String.class::cast).toList();
  }
}
