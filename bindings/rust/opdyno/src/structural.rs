//! Structural equality of values, and paths to the place where two values differ.
use crate::arg::{Arg, as_raw};
use crate::object::check;
use crate::{Array, Code, Map, Result, Tensor, Value};
use core::ffi::c_void;
use core::fmt;

/// A step of an [`ObjectPath`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PathStep {
    /// The root itself, with the text that replaces `<root>`.
    Root(Option<String>),
    /// An attribute.
    Attribute(String),
    /// An attribute whose name is not known.
    UnknownAttribute,
    /// An item of an array.
    ArrayIndex(usize),
    /// An item that is missing in this array, but not in the other one.
    MissingArrayElement(usize),
    /// The value of a key of a map.
    MapValue(Value),
    /// An entry that is missing in this map, but not in the other one.
    MissingMapEntry,
}

impl PartialEq for PathStep {
    /// Keys are compared structurally.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Root(a), Self::Root(b)) => a == b,
            (Self::Attribute(a), Self::Attribute(b)) => a == b,
            (Self::ArrayIndex(a), Self::ArrayIndex(b))
            | (Self::MissingArrayElement(a), Self::MissingArrayElement(b)) => a == b,
            (Self::MapValue(a), Self::MapValue(b)) => structural_equal(a, b).unwrap_or(false),
            (Self::UnknownAttribute, Self::UnknownAttribute) | (Self::MissingMapEntry, Self::MissingMapEntry) => true,
            _ => false,
        }
    }
}

impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => f.write_str(name.as_deref().unwrap_or("<root>")),
            Self::Attribute(name) => write!(f, ".{name}"),
            Self::UnknownAttribute => f.write_str(".<unknown attribute>"),
            Self::ArrayIndex(index) => write!(f, "[{index}]"),
            Self::MissingArrayElement(index) => write!(f, "[<missing element #{index}>]"),
            Self::MapValue(key) => write!(f, "[{key}]"),
            Self::MissingMapEntry => f.write_str("[<missing entry>]"),
        }
    }
}

/// A path from a root object to a part of it: `ObjectPath::root().attr("shape").array_index(0)`, written `<root>.shape[0]`.
/// Source: TVM's ObjectPath.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectPath(Vec<PathStep>);

impl ObjectPath {
    /// The path to the root itself.
    pub fn root() -> Self {
        Self(vec![PathStep::Root(None)])
    }
    /// The path to the root itself; the name replaces `<root>` in its text.
    pub fn named_root(name: &str) -> Self {
        Self(vec![PathStep::Root(Some(name.to_owned()))])
    }
    /// The path with one more step.
    pub fn step(mut self, step: PathStep) -> Self {
        self.0.push(step);
        self
    }
    /// The path to an attribute.
    pub fn attr(self, name: &str) -> Self {
        self.step(PathStep::Attribute(name.to_owned()))
    }
    /// The path to an item of an array.
    pub fn array_index(self, index: usize) -> Self {
        self.step(PathStep::ArrayIndex(index))
    }
    /// The path to an item that is missing in this array, but not in the other one.
    pub fn missing_array_element(self, index: usize) -> Self {
        self.step(PathStep::MissingArrayElement(index))
    }
    /// The path to the value of a key of a map.
    pub fn map_value(self, key: impl Into<Value>) -> Self {
        self.step(PathStep::MapValue(key.into()))
    }
    /// The path to an entry that is missing in this map, but not in the other one.
    pub fn missing_map_entry(self) -> Self {
        self.step(PathStep::MissingMapEntry)
    }
    /// The steps, beginning with the root.
    pub fn steps(&self) -> &[PathStep] {
        &self.0
    }
    /// The path without its last step; `None` for a root.
    pub fn parent(&self) -> Option<Self> {
        self.prefix(self.0.len() - 1)
    }
    /// The path of the first `length` steps, including the root; `None` if the path has fewer steps.
    pub fn prefix(&self, length: usize) -> Option<Self> {
        self.0.get(..length).filter(|steps| !steps.is_empty()).map(|steps| Self(steps.to_vec()))
    }
    /// Whether the other path begins with the steps of this path or equals it.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| step.fmt(f))
    }
}

/// The place where two objects differ, as a path in each object. Source: TVM's ObjectPathPair.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectPathPair {
    /// The path in the first object.
    pub lhs_path: ObjectPath,
    /// The path in the second object.
    pub rhs_path: ObjectPath,
}

impl fmt::Display for ObjectPathPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {}", self.lhs_path, self.rhs_path)
    }
}

/// Whether two values have the same structure and content. Arrays are compared by items; maps by keys, in any order;
/// tensors by dtype, shape and the bits of their elements, on any device; text, bytes, none, shapes, dtypes and devices
/// by content. Numbers are equal if their kinds and values are equal: 1, 1.0 and true differ, but NaN equals NaN. Any
/// other object is equal only to itself. Source: TVM's structural_equal.
pub fn structural_equal(lhs: &Value, rhs: &Value) -> Result<bool> {
    Ok(first_structural_mismatch(lhs, rhs)?.is_none())
}

/// The first place where two values differ, in the order of the items; `None` if they are structurally equal. If one
/// value has an item or a key that the other lacks, the path in the other value ends in a missing element or entry.
pub fn first_structural_mismatch(lhs: &Value, rhs: &Value) -> Result<Option<ObjectPathPair>> {
    let mut at = Place(vec![PathStep::Root(None)], vec![PathStep::Root(None)]);
    Ok(at.has_mismatch(lhs, rhs)?.then(|| ObjectPathPair { lhs_path: ObjectPath(at.0), rhs_path: ObjectPath(at.1) }))
}

/// The paths to the items that are being compared, in both values. After a mismatch they stay at the place of the
/// mismatch.
struct Place(Vec<PathStep>, Vec<PathStep>);

impl Place {
    fn at(&mut self, left: PathStep, right: PathStep) {
        self.0.push(left);
        self.1.push(right);
    }
    fn back(&mut self) {
        self.0.pop();
        self.1.pop();
    }
    fn has_mismatch(&mut self, lhs: &Value, rhs: &Value) -> Result<bool> {
        Ok(match (lhs, rhs) {
            (Value::Array(a), Value::Array(b)) => return self.of_arrays(a, b),
            (Value::Map(a), Value::Map(b)) => return self.of_maps(a, b),
            (Value::Tensor(a), Value::Tensor(b)) => return self.of_tensors(a, b),
            (Value::Shape(a), Value::Shape(b)) => self.of_shapes(a, b),
            (Value::None, Value::None) => false,
            (Value::Int(a), Value::Int(b)) => a != b,
            (Value::Bool(a), Value::Bool(b)) => a != b,
            (Value::Float(a), Value::Float(b)) => a != b && !(a.is_nan() && b.is_nan()),
            (Value::Pointer(a), Value::Pointer(b)) => a != b,
            (Value::DType(a), Value::DType(b)) => a != b,
            (Value::Device(a), Value::Device(b)) => a != b,
            (Value::Text(a), Value::Text(b)) => a != b,
            (Value::Bytes(a), Value::Bytes(b)) => a != b,
            (Value::Function(_), Value::Function(_))
            | (Value::Module(_), Value::Module(_))
            | (Value::Error(_), Value::Error(_))
            | (Value::Object(_), Value::Object(_)) => address(lhs)? != address(rhs)?,
            _ => true,
        })
    }
    fn of_arrays(&mut self, lhs: &Array, rhs: &Array) -> Result<bool> {
        for index in 0..lhs.len().min(rhs.len()) {
            self.at(PathStep::ArrayIndex(index), PathStep::ArrayIndex(index));
            if self.has_mismatch(&lhs.get(index)?, &rhs.get(index)?)? {
                return Ok(true);
            }
            self.back();
        }
        Ok(self.of_sizes(lhs.len(), rhs.len()))
    }
    fn of_shapes(&mut self, lhs: &[i64], rhs: &[i64]) -> bool {
        if let Some(index) = lhs.iter().zip(rhs).position(|(a, b)| a != b) {
            self.at(PathStep::ArrayIndex(index), PathStep::ArrayIndex(index));
            return true;
        }
        self.of_sizes(lhs.len(), rhs.len())
    }
    /// Compares the lengths of two containers, after their common items turned out equal.
    fn of_sizes(&mut self, lhs: usize, rhs: usize) -> bool {
        if lhs > rhs {
            self.at(PathStep::ArrayIndex(rhs), PathStep::MissingArrayElement(rhs));
        } else if rhs > lhs {
            self.at(PathStep::MissingArrayElement(lhs), PathStep::ArrayIndex(lhs));
        }
        lhs != rhs
    }
    fn of_maps(&mut self, lhs: &Map, rhs: &Map) -> Result<bool> {
        for entry in lhs.iter() {
            let (key, value) = entry?;
            let Some(other) = value_of(rhs, &key)? else {
                self.at(PathStep::MapValue(key), PathStep::MissingMapEntry);
                return Ok(true);
            };
            self.at(PathStep::MapValue(key.clone()), PathStep::MapValue(key));
            if self.has_mismatch(&value, &other)? {
                return Ok(true);
            }
            self.back();
        }
        for entry in rhs.iter() {
            let (key, _) = entry?;
            if value_of(lhs, &key)?.is_none() {
                self.at(PathStep::MissingMapEntry, PathStep::MapValue(key));
                return Ok(true);
            }
        }
        Ok(false)
    }
    fn of_tensors(&mut self, lhs: &Tensor, rhs: &Tensor) -> Result<bool> {
        let attribute = |name: &str| PathStep::Attribute(name.to_owned());
        if lhs.dtype() != rhs.dtype() {
            self.at(attribute("dtype"), attribute("dtype"));
            return Ok(true);
        }
        self.at(attribute("shape"), attribute("shape"));
        if self.of_shapes(lhs.shape(), rhs.shape()) {
            return Ok(true);
        }
        self.back();
        Ok(lhs.as_ptr() != rhs.as_ptr() && bytes_of(lhs)? != bytes_of(rhs)?)
    }
}

fn address(value: &Value) -> Result<*mut c_void> {
    let arg = [Arg::from(value)];
    Ok(unsafe { as_raw(&arg)?[0].u.pointer })
}

fn value_of(map: &Map, key: &Value) -> Result<Option<Value>> {
    match map.get(key) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == Code::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn bytes_of(tensor: &Tensor) -> Result<Vec<u8>> {
    let mut bytes = vec![0; tensor.size_in_bytes() as usize];
    check!(opd_tensor_copy_to_bytes(tensor.as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()))?;
    Ok(bytes)
}
