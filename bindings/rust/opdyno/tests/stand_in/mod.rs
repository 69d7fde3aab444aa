//! A stand-in for the library in Rust, because Miri cannot run C. It has the C functions that tests/memory.rs calls,
//! with their rules of ownership. They compute only what these tests need. The tests also pass with the library.
mod calls;
mod programs;
mod tensors;

use opdyno::ffi::*;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

/// Kinds of objects that have no number in the header.
pub const BUFFER: i32 = 90;
pub const OTHER: i32 = 91;

/// The object behind every handle. It begins like tvm-ffi's errors, because the crate sets their `cause`.
#[repr(C)]
pub struct Object {
    references: AtomicU64, // the high half counts weak references
    kind: i32,
    deleter: *mut c_void,
    texts: [usize; 6],
    update_backtrace: *mut c_void,
    cause: *mut opd_error,
    pub content: Content,
}
const WEAK: u64 = 1 << 32;

pub enum Content {
    Bytes(Vec<u8>),
    Shape(Vec<i64>),
    Items(Vec<opd_value>), // a map has keys and values in turn
    Error { code: opd_code, kind: CString, message: CString },
    Tensor(Box<tensors::Tensor>),
    Function(calls::Callback),
    Profiled { function: opd_value, collectors: Vec<opd_value> },
    Collector(opd_collector_table),
    Params { _data: Option<calls::Owner> },
}

pub fn make<T>(kind: i32, content: Content) -> *mut T {
    let (deleter, update_backtrace, cause) = (null_mut(), null_mut(), null_mut());
    let references = AtomicU64::new(WEAK + 1);
    Box::into_raw(Box::new(Object { references, kind, deleter, texts: [0; 6], update_backtrace, cause, content }))
        .cast()
}
pub unsafe fn object<'a, T>(handle: *const T) -> &'a Object {
    unsafe { &*handle.cast() }
}
pub fn failed(code: opd_code, message: &str) -> *mut opd_error {
    let message = CString::new(message).unwrap();
    make(OPD_ERROR as i32, Content::Error { code, kind: c"ValueError".into(), message })
}
pub unsafe fn items<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, count) } }
}
pub unsafe fn retained(value: &opd_value) -> opd_value {
    if value.r#type >= OPD_OBJECT as i32 {
        unsafe { opd_object_retain(value.u.pointer) };
    }
    *value
}
impl Drop for Object {
    fn drop(&mut self) {
        unsafe { opd_object_release(self.cause.cast()) };
        match &mut self.content {
            Content::Items(items) => items.iter_mut().for_each(|item| unsafe { opd_value_release(item) }),
            Content::Profiled { function, collectors } => {
                std::iter::once(function).chain(collectors).for_each(|part| unsafe { opd_value_release(part) });
            }
            Content::Collector(table) => unsafe { table.deleter.unwrap()(table.user_data) },
            _ => {}
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_object_retain(handle: *const c_void) -> *mut c_void {
    if !handle.is_null() {
        unsafe { object(handle) }.references.fetch_add(1, Ordering::Relaxed);
    }
    handle.cast_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_object_release(handle: *mut c_void) {
    if !handle.is_null() && unsafe { object(handle) }.references.fetch_sub(1, Ordering::AcqRel) == WEAK + 1 {
        drop(unsafe { Box::from_raw(handle.cast::<Object>()) });
    }
}
pub fn references(object: &Object) -> u64 {
    object.references.load(Ordering::Acquire) - WEAK
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_object_type(handle: *const c_void) -> i32 {
    unsafe { object(handle) }.kind
}
#[unsafe(no_mangle)]
extern "C" fn opd_type_key(kind: i32) -> *const c_char {
    match kind as opd_type {
        OPD_INT => c"int",
        OPD_SMALL_STRING | OPD_STRING => c"ffi.String",
        OPD_TENSOR => c"ffi.Tensor",
        _ => c"another",
    }
    .as_ptr()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn opd_value_of_object(handle: *const c_void) -> opd_value {
    let u = opd_value_u { pointer: handle.cast_mut() };
    opd_value { r#type: unsafe { object(handle) }.kind, length: 0, u }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_value_retain(value: *const opd_value, out: *mut opd_value) -> *mut opd_error {
    unsafe { out.write(retained(&*value)) };
    null_mut()
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opd_value_release(value: *mut opd_value) {
    let none = opd_value { r#type: OPD_NONE as i32, length: 0, u: opd_value_u { int64: 0 } };
    let old = unsafe { value.replace(none) };
    if old.r#type >= OPD_OBJECT as i32 {
        unsafe { opd_object_release(old.u.pointer) };
    }
}
/// The stand-in writes only dtypes.
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_value_to_string(value: *const opd_value, out: *mut *mut opd_buffer) -> *mut opd_error {
    let dtype = unsafe { (*value).u.dtype };
    let name = ["int", "uint", "float"][dtype.code as usize];
    unsafe { out.write(make(BUFFER, Content::Bytes(format!("{name}{}", dtype.bits).into_bytes()))) };
    null_mut()
}

unsafe fn error_of<'a>(error: *const opd_error) -> (opd_code, &'a CStr, &'a CStr) {
    match &unsafe { object(error) }.content {
        Content::Error { code, kind, message } => (*code, kind, message),
        _ => panic!("no error"),
    }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_error_create(code: opd_code, kind: *const c_char, message: *const c_char) -> *mut opd_error {
    let kind = if kind.is_null() { c"ValueError" } else { unsafe { CStr::from_ptr(kind) } };
    let message = unsafe { CStr::from_ptr(message) };
    make(OPD_ERROR as i32, Content::Error { code, kind: kind.into(), message: message.into() })
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_error_code(error: *const opd_error) -> opd_code {
    unsafe { error_of(error) }.0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_error_kind(error: *const opd_error) -> *const c_char {
    unsafe { error_of(error) }.1.as_ptr()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_error_cause(error: *const opd_error) -> *const opd_error {
    unsafe { object(error) }.cause
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_error_message(error: *const opd_error) -> *const c_char {
    unsafe { error_of(error) }.2.as_ptr()
}

unsafe fn bytes_value(kind: opd_type, data: *const u8, size: usize, out: *mut opd_value) -> *mut opd_error {
    let made: *mut c_void = make(kind as i32, Content::Bytes(unsafe { items(data, size) }.to_vec()));
    unsafe { out.write(opd_value_of_object(made)) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_string_create(data: *const c_char, size: usize, out: *mut opd_value) -> *mut opd_error {
    unsafe { bytes_value(OPD_STRING, data.cast(), size, out) }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_bytes_create(data: *const c_void, size: usize, out: *mut opd_value) -> *mut opd_error {
    unsafe { bytes_value(OPD_BYTES, data.cast(), size, out) }
}
pub unsafe fn bytes_of<'a, T>(handle: *const T) -> &'a [u8] {
    match &unsafe { object(handle) }.content {
        Content::Bytes(bytes) => bytes,
        _ => panic!("no bytes"),
    }
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_string_get(
    value: *const opd_value,
    out_data: *mut *const c_char,
    out_size: *mut usize,
) -> *mut opd_error {
    let value = unsafe { &*value };
    let bytes = match value.r#type as opd_type {
        OPD_SMALL_STRING | OPD_SMALL_BYTES => {
            let bytes = unsafe { &value.u.bytes };
            unsafe { items(bytes.as_ptr().cast(), value.length as usize) }
        }
        _ => unsafe { bytes_of(value.u.pointer) },
    };
    unsafe { out_data.write(bytes.as_ptr().cast()) };
    unsafe { out_size.write(bytes.len()) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_buffer_data(buffer: *const opd_buffer) -> *const c_char {
    unsafe { bytes_of(buffer) }.as_ptr().cast()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_buffer_size(buffer: *const opd_buffer) -> usize {
    unsafe { bytes_of(buffer) }.len()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_shape_create(dims: *const i64, ndim: i32, out: *mut *mut opd_shape) -> *mut opd_error {
    unsafe { out.write(make(OPD_SHAPE as i32, Content::Shape(items(dims, ndim as usize).to_vec()))) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_shape_dims(shape: *const opd_shape, out_ndim: *mut i32) -> *const i64 {
    let Content::Shape(dims) = &unsafe { object(shape) }.content else { return null() };
    unsafe { out_ndim.write(dims.len() as i32) };
    dims.as_ptr()
}

unsafe fn items_of<'a, T>(handle: *const T) -> &'a [opd_value] {
    match &unsafe { object(handle) }.content {
        Content::Items(items) => items,
        _ => panic!("no container"),
    }
}
pub unsafe fn container(kind: opd_type, from: &[opd_value]) -> *mut c_void {
    make(kind as i32, Content::Items(from.iter().map(|item| unsafe { retained(item) }).collect()))
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_array_create(from: *const opd_value, count: i32, out: *mut *mut opd_array) -> *mut opd_error {
    unsafe { out.write(container(OPD_ARRAY, items(from, count as usize)).cast()) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_array_count(array: *const opd_array) -> i32 {
    unsafe { items_of(array) }.len() as i32
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_array_get(array: *const opd_array, index: i32, out: *mut opd_value) -> *mut opd_error {
    let Some(item) = unsafe { items_of(array) }.get(index as usize) else {
        return failed(OPD_OUT_OF_RANGE, "no such item");
    };
    unsafe { out.write(retained(item)) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_map_create(pairs: *const opd_value, count: i32, out: *mut *mut opd_map) -> *mut opd_error {
    unsafe { out.write(container(OPD_MAP, items(pairs, 2 * count as usize)).cast()) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_map_count(map: *const opd_map) -> i32 {
    unsafe { items_of(map) }.len() as i32 / 2
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_map_entry(
    map: *const opd_map,
    index: i32,
    out_key: *mut opd_value,
    out_value: *mut opd_value,
) -> *mut opd_error {
    let pair = &unsafe { items_of(map) }[2 * index as usize..];
    unsafe { out_key.write(retained(&pair[0])) };
    unsafe { out_value.write(retained(&pair[1])) };
    null_mut()
}
