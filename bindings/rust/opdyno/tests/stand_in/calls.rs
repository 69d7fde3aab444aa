//! The stand-in's C functions that call Rust code or take over objects that Rust code made.
use super::*;
use std::sync::{Arc, Mutex};

/// Data of the caller, which a deleter frees.
pub struct Owner(pub *mut c_void, pub opd_deleter);
unsafe impl Send for Owner {}
unsafe impl Sync for Owner {}
impl Drop for Owner {
    fn drop(&mut self) {
        unsafe { self.1.unwrap()(self.0) }
    }
}
pub struct Callback(opd_packed_fn, Owner);

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_function_create(
    callback: opd_packed_fn,
    data: *mut c_void,
    deleter: opd_deleter,
    out: *mut *mut opd_function,
) -> *mut opd_error {
    unsafe { out.write(make(OPD_FUNCTION as i32, Content::Function(Callback(callback, Owner(data, deleter))))) };
    null_mut()
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opd_function_call(
    function: *mut opd_function,
    args: *const opd_value,
    num_args: i32,
    out: *mut opd_value,
) -> *mut opd_error {
    match &unsafe { object(function) }.content {
        Content::Function(Callback(callback, data)) => unsafe { callback.unwrap()(data.0, args, num_args, out) },
        Content::Profiled { function, collectors } => unsafe {
            call_measured(function, collectors, args, num_args, out)
        },
        _ => panic!("no function"),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_collector_create(
    _: *const c_char,
    table: *const opd_collector_table,
    out: *mut *mut opd_collector,
) -> *mut opd_error {
    unsafe { out.write(make(OTHER, Content::Collector(*table))) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_function_profile(
    function: *mut opd_function,
    _: DLDevice,
    collectors: *const *mut opd_collector,
    num_collectors: i32,
    _: i32,
    out: *mut *mut opd_function,
) -> *mut opd_error {
    let keep = |handle: *mut c_void| unsafe { opd_value_of_object(opd_object_retain(handle)) };
    let collectors = unsafe { items(collectors, num_collectors as usize) };
    let collectors = collectors.iter().map(|each| keep(each.cast())).collect();
    let content = Content::Profiled { function: keep(function.cast()), collectors };
    unsafe { out.write(make(OPD_FUNCTION as i32, content)) };
    null_mut()
}
/// Runs a function between start and stop of the collectors. Returns its error, and the names and values of the metrics
/// in turn.
pub unsafe fn measured(
    collectors: &[*mut opd_collector],
    run: impl FnOnce() -> *mut opd_error,
) -> (*mut opd_error, Vec<opd_value>) {
    let (mut metrics, mut running) = (Vec::<opd_value>::new(), Vec::new());
    for collector in collectors {
        let Content::Collector(table) = &unsafe { object(*collector) }.content else { panic!("no collector") };
        let (device, mut state) = (DLDevice { device_type: kDLCPU, device_id: 0 }, null_mut());
        assert!(unsafe { table.init.unwrap()(table.user_data, &device, 1) }.is_null());
        let error = unsafe { table.start.unwrap()(table.user_data, device, &mut state) };
        if !error.is_null() {
            unsafe { opd_object_release(error.cast()) };
        } else if !state.is_null() {
            running.push((table, state));
        }
    }
    let error = run();
    for (table, state) in running.into_iter().rev() {
        let place = (&raw mut metrics).cast();
        let error = unsafe { table.stop.unwrap()(table.user_data, state, place) };
        unsafe { opd_object_release(error.cast()) };
    }
    (error, metrics)
}
/// Makes a measured call and returns the map of its metrics.
unsafe fn call_measured(
    function: &opd_value,
    collectors: &[opd_value],
    args: *const opd_value,
    num_args: i32,
    out: *mut opd_value,
) -> *mut opd_error {
    let collectors: Vec<_> = collectors.iter().map(|each| unsafe { each.u.pointer }.cast()).collect();
    let mut result = opd_value { r#type: OPD_NONE as i32, length: 0, u: opd_value_u { int64: 0 } };
    let run = || unsafe { opd_function_call(function.u.pointer.cast(), args, num_args, &mut result) };
    let (error, mut metrics) = unsafe { measured(&collectors, run) };
    unsafe { opd_value_release(&mut result) };
    if error.is_null() {
        let mut map = null_mut();
        unsafe { opd_map_create(metrics.as_ptr(), metrics.len() as i32 / 2, &mut map) };
        unsafe { out.write(opd_value_of_object(map.cast())) };
    }
    metrics.iter_mut().for_each(|part| unsafe { opd_value_release(part) });
    error
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_metrics_set(
    metrics: *mut opd_metrics,
    name: *const c_char,
    _: opd_metric_kind,
    value: *const opd_value,
) -> *mut opd_error {
    let metrics = unsafe { &mut *metrics.cast::<Vec<opd_value>>() };
    let (mut key, name) =
        (opd_value { r#type: 0, length: 0, u: opd_value_u { int64: 0 } }, unsafe { CStr::from_ptr(name) });
    unsafe { opd_string_create(name.as_ptr(), name.to_bytes().len(), &mut key) };
    metrics.extend([key, unsafe { retained(&*value) }]);
    null_mut()
}

/// Reads the options, then fails because there is no file.
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_module_load(
    path: *const c_char,
    options: *const opd_module_options,
    _: *mut *mut opd_module,
) -> *mut opd_error {
    let options = unsafe { &*options };
    let texts = [path, options.format, options.compiler, options.c_flags, options.cache_dir];
    let texts = texts.map(|text| if text.is_null() { c"" } else { unsafe { CStr::from_ptr(text) } });
    failed(OPD_NOT_FOUND, &format!("{texts:?} cannot be opened"))
}
/// Reads the options, then fails because no event is known.
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_collector_create_builtin(
    _: opd_collector_kind,
    options: *const opd_counter_options,
    _: *mut *mut opd_collector,
) -> *mut opd_error {
    let options = unsafe { &*options };
    let events = unsafe { items(options.events, options.num_events as usize) };
    let events: Vec<_> = events.iter().map(|event| unsafe { CStr::from_ptr(*event) }).collect();
    failed(OPD_NOT_FOUND, &format!("no event {events:?}"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_params_create(out: *mut *mut opd_params) -> *mut opd_error {
    unsafe { out.write(make(OTHER, Content::Params { _data: None })) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_params_save_bytes(_: *const opd_params, out: *mut *mut opd_buffer) -> *mut opd_error {
    unsafe { out.write(make(BUFFER, Content::Bytes(b"none".to_vec()))) };
    null_mut()
}
#[unsafe(no_mangle)]
extern "C" fn opd_params_count(_: *const opd_params) -> i32 {
    0
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_params_open_bytes(
    data: *mut c_void,
    size: usize,
    _: *const opd_params_options,
    user_data: *mut c_void,
    deleter: opd_deleter,
    out: *mut *mut opd_params,
) -> *mut opd_error {
    if unsafe { items(data.cast::<u8>(), size) } != b"none" {
        return failed(OPD_INVALID_ARGUMENT, "not of a known format");
    }
    unsafe { out.write(make(OTHER, Content::Params { _data: Some(Owner(user_data, deleter)) })) };
    null_mut()
}

type Log = (opd_log_fn, Owner);
/// The callback that gets the log.
static LOG: Mutex<Option<Arc<Log>>> = Mutex::new(None);

#[unsafe(no_mangle)]
extern "C" fn opd_log_set_callback(callback: opd_log_fn, user_data: *mut c_void, deleter: opd_deleter) {
    let log = callback.map(|_| Arc::new((callback, Owner(user_data, deleter))));
    let old = std::mem::replace(&mut *LOG.lock().unwrap(), log);
    drop(old); // without the lock, because the closure's drop may run any code
}
unsafe extern "C" fn print(_: *mut c_void, _: *const opd_value, _: i32, _: *mut opd_value) -> *mut opd_error {
    let log = LOG.lock().unwrap().clone();
    if let Some(log) = log {
        unsafe { log.0.unwrap()(log.1.0, OPD_LOG_INFO, c"printed".as_ptr()) };
    }
    null_mut()
}
unsafe extern "C" fn nothing(_: *mut c_void) {}
/// The stand-in has one global function, which writes to the log.
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_function_get_global(name: *const c_char, out: *mut *mut opd_function) -> *mut opd_error {
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"relax.run.print");
    unsafe { opd_function_create(Some(print), null_mut(), Some(nothing), out) }
}
