//! Arrays and maps: immutable containers of values.
use crate::arg::{Arg, as_raw};
use crate::object::{check, create, handle};
use crate::value::{NONE, Value};
use crate::{Result, ffi};

/// Converts an index for the C API. An index that does not fit becomes one that is beyond the end of every container.
pub(crate) fn place(index: usize) -> i32 {
    index.try_into().unwrap_or(i32::MAX)
}

handle! {
    /// An immutable sequence of values. The tuples of a VM program are arrays.
    Array, opd_array
}

impl Array {
    /// Makes an array that keeps the items.
    pub fn new(items: &[Arg<'_>]) -> Result<Self> {
        let raw = as_raw(items)?;
        create!(Array, opd_array_create(raw.as_ptr(), crate::object::num_of(raw.len())))
    }
    /// The number of items.
    pub fn len(&self) -> usize {
        unsafe { ffi::opd_array_count(self.as_ptr()) as usize }
    }
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The item at an index; an error if the index is beyond the last item.
    pub fn get(&self, index: usize) -> Result<Value> {
        let mut item = NONE;
        check!(opd_array_get(self.as_ptr(), place(index), &mut item))?;
        Ok(unsafe { Value::from_raw(item) })
    }
    /// The items in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Value>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
    /// The items, which must all be text.
    pub(crate) fn into_texts(self) -> Result<Vec<String>> {
        self.iter().map(|item| item?.to()).collect()
    }
}

handle! {
    /// An immutable map in insertion order. Keys that are numbers or strings compare by content, objects by identity.
    Map, opd_map
}

impl Map {
    /// Makes a map of keys and values. A repeated key keeps its first place and its last value.
    pub fn new<'a, K: Into<Arg<'a>>, V: Into<Arg<'a>>>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Self> {
        let pairs: Vec<Arg<'a>> = pairs.into_iter().flat_map(|(key, value)| [key.into(), value.into()]).collect();
        let raw = as_raw(&pairs)?;
        create!(Map, opd_map_create(raw.as_ptr(), crate::object::num_of(raw.len() / 2)))
    }
    /// The number of entries.
    pub fn len(&self) -> usize {
        unsafe { ffi::opd_map_count(self.as_ptr()) as usize }
    }
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The value of a key; an error of code `NotFound` if there is none.
    pub fn get<'a>(&self, key: impl Into<Arg<'a>>) -> Result<Value> {
        let (key, mut value) = ([key.into()], NONE);
        check!(opd_map_get(self.as_ptr(), as_raw(&key)?.as_ptr(), &mut value))?;
        Ok(unsafe { Value::from_raw(value) })
    }
    /// The entry at an index in insertion order; an error if the index is beyond the last entry.
    pub fn entry(&self, index: usize) -> Result<(Value, Value)> {
        let (mut key, mut value) = (NONE, NONE);
        check!(opd_map_entry(self.as_ptr(), place(index), &mut key, &mut value))?;
        Ok(unsafe { (Value::from_raw(key), Value::from_raw(value)) })
    }
    /// The entries in insertion order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<(Value, Value)>> + '_ {
        (0..self.len()).map(|index| self.entry(index))
    }
}
