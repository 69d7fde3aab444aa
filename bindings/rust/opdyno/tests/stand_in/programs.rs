//! The stand-in's programs. Each has one function, which returns its argument.
use super::*;

/// Makes an object that keeps another object.
unsafe fn keeper<T>(kind: i32, of: *mut c_void) -> *mut T {
    unsafe { container(kind as opd_type, &[opd_value_of_object(of)]) }.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn opd_executable_assemble(
    text: *const c_char,
    size: usize,
    out: *mut *mut opd_executable,
) -> *mut opd_error {
    unsafe { out.write(make(OTHER, Content::Bytes(items(text.cast::<u8>(), size).to_vec()))) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_executable_to_module(
    executable: *mut opd_executable,
    out: *mut *mut opd_module,
) -> *mut opd_error {
    unsafe { out.write(keeper(OPD_MODULE as i32, executable.cast())) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_vm_create(
    module: *mut opd_module,
    options: *const opd_vm_options,
    out: *mut *mut opd_vm,
) -> *mut opd_error {
    let options = unsafe { &*options };
    let devices = unsafe { items(options.devices, options.num_devices as usize) };
    assert!(devices.iter().all(|device| device.device_type == kDLCPU));
    unsafe { out.write(keeper(OTHER, module.cast())) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_vm_call(
    _: *mut opd_vm,
    name: *const c_char,
    args: *const opd_value,
    num_args: i32,
    options: *const opd_call_options,
    out: *mut opd_value,
) -> *mut opd_error {
    assert_eq!((unsafe { CStr::from_ptr(name) }, num_args), (c"main", 1));
    if let Some(options) = unsafe { options.as_ref() } {
        for output in unsafe { items(options.outputs, options.num_outputs as usize) } {
            let from = unsafe { tensors::opd_tensor_view((*args).u.pointer.cast()) };
            unsafe { tensors::opd_tensor_copy(from, *output) };
        }
        if !options.names.is_null() {
            let names = unsafe { items(options.names, num_args as usize) };
            assert!(names.iter().all(|name| name.is_null() || unsafe { CStr::from_ptr(*name) } == c"x"));
        }
    }
    unsafe { out.write(retained(&*args)) };
    null_mut()
}
#[unsafe(no_mangle)]
unsafe extern "C" fn opd_vm_profile(
    vm: *mut opd_vm,
    name: *const c_char,
    args: *const opd_value,
    num_args: i32,
    call_options: *const opd_call_options,
    options: *const opd_profile_options,
    out_report: *mut *mut opd_report,
    out_trace: *mut *mut opd_trace,
) -> *mut opd_error {
    let collectors = unsafe { items((*options).collectors, (*options).num_collectors as usize) };
    let mut result = opd_value { r#type: OPD_NONE as i32, length: 0, u: opd_value_u { int64: 0 } };
    let run = || unsafe { opd_vm_call(vm, name, args, num_args, call_options, &mut result) };
    let (error, metrics) = unsafe { calls::measured(collectors, run) };
    unsafe { opd_value_release(&mut result) };
    unsafe { out_report.write(make(OTHER, Content::Items(metrics))) };
    unsafe { out_trace.write(make(OTHER, Content::Items(Vec::new()))) };
    error
}
