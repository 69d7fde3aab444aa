package io.opdyno;

import java.util.ArrayList;
import java.util.List;

/** A list of values. */
public final class ValueList extends Handle {
  ValueList(long pointer) {
    super(pointer, Values.heldBytes(pointer));
  }

  /** Of any values: see PackedFunction for what they become. */
  public static ValueList of(Object... items) {
    return Out.take(out -> Native.opd_array_create(items, out));
  }

  /** The number of items. */
  public int size() {
    return Math.toIntExact(Native.opd_array_count(this));
  }

  /** A new object for an item: a handle is the caller's to close. */
  public Object get(int place) {
    return Out.<Object>take(out -> Native.opd_array_get(this, place, out));
  }

  /** An item that is a tensor; a ClassCastException if it is none. */
  public Tensor tensor(int place) {
    return Calls.asTensor(get(place));
  }

  /** All items, as get() gives them. */
  public List<Object> toList() {
    List<Object> items = new ArrayList<>();
    for (int i = 0, size = size(); i < size; ++i) items.add(get(i));
    return items;
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
