//! Tests of the machine's functions: memory, threads, peaks, files, the log.
use common::{Directory, expect};
use opdyno::*;
use std::sync::{Arc, Mutex};

mod common;

const MEBI: u64 = 1 << 20;

#[test]
fn memory_in_use_is_counted() -> Result<()> {
    let before = Device::CPU.memory_stats()?;
    let tensor = Tensor::zeros([64 * MEBI], DType::UINT8, Device::CPU)?;
    let during = Device::CPU.memory_stats()?;
    assert!(during.live_bytes >= 64 * MEBI && during.peak_bytes >= during.live_bytes);
    assert!(during.alloc_count > before.alloc_count && during.reserved_bytes >= 64 * MEBI);
    drop(tensor);
    let after = Device::CPU.memory_stats()?;
    assert!(after.live_bytes < 64 * MEBI && after.peak_bytes >= 64 * MEBI, "{after:?}");
    Device::CPU.reset_peak()?;
    assert!(Device::CPU.memory_stats()?.peak_bytes < 64 * MEBI);
    Device::CPU.trim()?;
    let stats = Device::CPU.memory_stats()?;
    assert!(stats.pool_hit_count <= stats.alloc_count && stats.idle_bytes <= stats.reserved_bytes);
    Device::CPU.sync()?;
    let unknown = Device { device_type: 77, device_id: 0 };
    assert!(unknown.memory_stats().is_err() && unknown.trim().is_err() && unknown.sync().is_err());
    Ok(())
}

#[test]
fn a_device_has_properties() -> Result<()> {
    assert!(Device::CPU.attr::<bool>(DeviceAttr::Exist)? && Device::CPU.exists());
    let [beyond, unknown] = [(1, 64), (77, 0)].map(|(device_type, device_id)| Device { device_type, device_id });
    assert!(!beyond.exists() && !unknown.exists());
    assert_eq!(Device::CPU.attr::<Option<i64>>(DeviceAttr::WarpSize)?, None);
    let all = [
        DeviceAttr::MaxThreadsPerBlock,
        DeviceAttr::MaxSharedMemoryPerBlock,
        DeviceAttr::ComputeVersion,
        DeviceAttr::DeviceName,
        DeviceAttr::MaxClockRate,
        DeviceAttr::MultiProcessorCount,
        DeviceAttr::MaxThreadDimensions,
        DeviceAttr::ApiVersion,
        DeviceAttr::DriverVersion,
        DeviceAttr::L2CacheSizeBytes,
        DeviceAttr::TotalGlobalMemory,
        DeviceAttr::AvailableGlobalMemory,
        DeviceAttr::TextureSpatialLimit,
    ];
    for attr in all {
        Device::CPU.attr::<Option<Value>>(attr)?; // an attribute that the device does not report is no error
    }
    expect(Device::CPU.attr::<String>(DeviceAttr::Exist), Code::InvalidArgument, "expected a string");
    Ok(())
}

#[test]
fn the_number_of_threads_is_set() -> Result<()> {
    let default = threads_count();
    assert!(default >= 1);
    set_threads_count(1)?;
    assert_eq!(threads_count(), 1);
    set_threads_count(0)?;
    assert_eq!(threads_count(), default);
    assert!(set_threads_count(usize::MAX).is_err());
    Ok(())
}

#[test]
fn the_peaks_are_measured() -> Result<()> {
    let peak = MachinePeak::measure()?;
    assert!(peak.num_threads >= 1 && peak.gflops > 0.0 && peak.bandwidth_gbps > 0.0 && peak.spread >= 0.0, "{peak:?}");
    Ok(())
}

#[test]
fn the_library_says_what_it_is() -> Result<()> {
    assert!(version().split('.').all(|part| part.parse::<u32>().is_ok()), "{}", version());
    assert!(build_info()?.contains(&format!("\"{}\"", version())));
    assert!(!itt_is_available());
    Ok(())
}

#[test]
fn files_are_replaced_as_a_whole() -> Result<()> {
    let directory = Directory::new();
    let path = directory.join("größe");
    write_file(&path, b"first")?;
    write_file(&path, &[])?;
    write_file(&path, b"second")?;
    assert_eq!(std::fs::read(&path).expect("a file"), b"second");
    expect(write_file(directory.join("none/x"), b""), Code::NotFound, "none/x");
    expect(write_file("", b""), Code::InvalidArgument, "path");
    expect(write_file("a\0b", b""), Code::InvalidArgument, "NUL");
    Ok(())
}

/// Runs a program that prints the text.
fn print(text: &str) -> Result<()> {
    Function::global("relax.run.print")?.call(args!["{}", text])
}

/// The log is tested by one test, because there is one log for all threads.
#[test]
fn what_programs_print_goes_to_the_log() -> Result<()> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    set_log(Some(move |level, text: &str| log.lock().expect("no panic").push((level, text.to_owned()))));
    print("größer")?;
    let logged = seen.lock().expect("no panic").clone();
    assert!(logged.iter().any(|(level, text)| *level == LogLevel::Info && text.contains("größer")), "{logged:?}");

    // A panic in a log has no effect. The closure is dropped when another log is set.
    set_log(Some(|_, _: &str| panic!("nobody logs that")));
    assert_eq!(Arc::strong_count(&seen), 1);
    print("x")?;

    // A log may set another log while it runs. Its captures stay valid until it returns.
    let counted = Arc::new(());
    let held = counted.clone();
    set_log(Some(move |_, _: &str| {
        set_log(None::<fn(LogLevel, &str)>);
        assert_eq!(Arc::strong_count(&held), 2, "its captures are still there");
        print("from the log").expect("it may print itself");
    }));
    print("x")?;
    print("x")?;
    set_log(None::<fn(LogLevel, &str)>);
    assert_eq!(Arc::strong_count(&counted), 1, "it is dropped behind that");
    Ok(())
}

#[test]
fn streams_are_of_devices_that_have_them() -> Result<()> {
    let error = Stream::new(Device::CPU).unwrap_err();
    assert!(error.message().contains("cpu:0 has no streams"), "{error}");
    let Ok(stream) = Stream::new("opencl:0".parse()?) else { return Ok(()) };
    assert_eq!(stream.device(), "opencl:0".parse()?);
    assert_eq!(stream.scope(|| stream.sync().map(|()| 5))??, 5);
    stream.sync()
}
