//! Tests of sessions on another machine. OPDYNO_TEST_SERVER is the address of a server whose key is "board".
//! OPDYNO_TEST_TRACKER is the address of a tracker that has another server. OPDYNO_TEST_TVM_SERVER is the address of a
//! TVM server, or "" if there is none.
use common::expect;
use opdyno::*;

mod common;

fn connect() -> Option<RpcSession> {
    let address = std::env::var("OPDYNO_TEST_SERVER").ok()?;
    Some(RpcSession::connect(&address, &RpcConnectOptions::new().key("board")).expect("the server is there"))
}

fn model() -> Vec<u8> {
    std::fs::read(std::env::var("OPDYNO_TEST_ARTIFACT").expect("the tests' program sets it")).expect("it can be read")
}

#[test]
fn a_vm_runs_there() -> Result<()> {
    let Some(session) = connect() else { return Ok(()) };
    let device = session.device(Device::CPU)?;
    assert!(device.attr::<bool>(DeviceAttr::Exist)?);
    assert!(!session.device(Device { device_type: 8, device_id: 0 })?.attr::<bool>(DeviceAttr::Exist)?);
    session.upload("model.so", &model())?;
    assert_eq!(session.download("model.so")?, model());
    let module = session.load_module("model.so")?;
    assert_eq!(module.kind(), "rpc");
    let vm = VirtualMachine::with(&module, &VmOptions::new().devices(&[device]))?;
    let here = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], [4])?;
    let x = here.to_device(device)?;
    assert!(x.as_slice::<f32>().is_err(), "the elements are not here");
    let y: Tensor = vm.call("main", args![&x])?;
    assert_eq!(y.device(), device);
    assert_eq!(y.to_device(Device::CPU)?.as_slice::<f32>()?, [101.0, 102.0, 103.0, 104.0]);
    let options = EvaluatorOptions::new().device(device).number(3).repeat(2);
    assert_eq!(Evaluator::new(&vm.function("main")?, &options)?.call((&x,))?.seconds().len(), 2);
    let time = Collector::builtin(CollectorKind::Time, &CounterOptions::new())?;
    let (report, _) = vm.profile("main", (&x,), &ProfileOptions::new().collectors(&[&time]))?;
    assert!(report.to_string().contains("Wall time"), "{report}");
    let unknown = CounterOptions::new().events(&["no-such-event"]).elsewhere(true);
    let perf = Collector::builtin(CollectorKind::Perf, &unknown)?;
    expect(vm.profile("main", (&x,), &ProfileOptions::new().collectors(&[&perf])), Code::CallFailed, "no-such-event");
    expect(vm.call::<Value>("nobody", ()), Code::NotFound, "nobody");
    Ok(())
}

#[test]
fn a_session_ends() -> Result<()> {
    let Some(session) = connect() else { return Ok(()) };
    assert!(session.describe()?.contains("\"key\":\"board\""));
    let list = session.function("tvm.rpc.server.listdir")?;
    assert_eq!(list.call::<String>((".",))?, "");
    session.close();
    expect(list.call::<String>((".",)), Code::Io, "it was closed");
    expect(session.function("nobody"), Code::Io, "it was closed");
    assert!(session.describe()?.contains("it was closed"));
    Ok(())
}

#[test]
fn a_tracker_gives_a_server() -> Result<()> {
    let Ok(tracker) = std::env::var("OPDYNO_TEST_TRACKER") else { return Ok(()) };
    let options = RpcConnectOptions::new().key("board");
    let session = RpcSession::request(&tracker, &options)?;
    assert!(session.describe()?.contains("\"key\":\"board\""));
    assert_eq!(session.function("tvm.rpc.server.listdir")?.call::<String>((".",))?, "");
    assert!(RpcSession::tracker_summary(&tracker, &options)?.contains("\"key\":\"server:board\""));
    Ok(())
}

#[test]
fn there_must_be_a_server() {
    let options = RpcConnectOptions::new();
    expect(RpcSession::connect("nowhere", &options), Code::InvalidArgument, "is not an address");
    expect(RpcSession::request("127.0.0.1:1", &options), Code::Io, "127.0.0.1:1");
    expect(RpcSession::tracker_summary("127.0.0.1:1", &options), Code::Io, "127.0.0.1:1");
}

#[test]
fn a_server_of_tvms_knows_nothing_of_opdyno() -> Result<()> {
    let address = std::env::var("OPDYNO_TEST_TVM_SERVER").unwrap_or_default();
    if address.is_empty() {
        return Ok(()); // the program that starts the tests says why
    }
    expect(RpcSession::connect(&address, &RpcConnectOptions::new()), Code::FailedPrecondition, "has another key");
    let session = RpcSession::connect(&address, &RpcConnectOptions::new().key("board"))?;
    assert!(session.describe()?.contains("\"server\":\"tvm\""), "{}", session.describe()?);
    let device = session.device(Device::CPU)?;
    assert!(device.attr::<bool>(DeviceAttr::Exist)?);

    session.upload("file", b"content")?;
    assert_eq!(session.download("file")?, b"content");
    let artifacts =
        std::path::PathBuf::from(std::env::var("OPDYNO_TEST_ARTIFACT").expect("the tests' program sets it"));
    for name in ["kernels.so", "tuples.so"] {
        session.upload(name, &std::fs::read(artifacts.with_file_name(name)).expect("it can be read"))?;
    }
    let kernels = session.load_module("kernels.so")?;
    let numbers: Vec<f32> = (0_u8..16).map(f32::from).collect();
    let x = Tensor::from_slice(&numbers, [16])?.to_device(device)?;
    let mut sum = Tensor::from_slice(&[0_f32; 16], [16])?.to_device(device)?;
    let add = kernels.function("vector_add")?;
    add.call::<()>(args![&x, &x, &mut sum])?;
    let doubled: Vec<f32> = numbers.iter().map(|each| each * 2.0).collect();
    assert_eq!(sum.to_device(Device::CPU)?.as_slice::<f32>()?, doubled);
    expect(add.call::<()>((&x, &x)), Code::CallFailed, "Expected 3 arguments");
    expect(kernels.function("nobody"), Code::NotFound, "nobody");

    session.upload("model.so", &model())?;
    let vm = VirtualMachine::with(&session.load_module("model.so")?, &VmOptions::new().devices(&[device]))?;
    let here = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], [4])?;
    let x = here.to_device(device)?;
    let y: Tensor = vm.call("main", args![&x])?;
    assert_eq!(y.device(), device);
    assert_eq!(y.to_device(Device::CPU)?.as_slice::<f32>()?, [101.0, 102.0, 103.0, 104.0]);
    vm.set_input("main", args![&here], &CallOptions::new())?;
    vm.invoke_stateful("main", &CallOptions::new())?;
    let y: Tensor = vm.outputs("main", &[])?;
    assert_eq!(y.to_device(Device::CPU)?.as_slice::<f32>()?, [101.0, 102.0, 103.0, 104.0]);
    expect(vm.call::<Value>("nobody", ()), Code::NotFound, "nobody");
    assert!(vm.call::<Value>("main", ()).is_err(), "it takes an argument");
    let options = EvaluatorOptions::new().device(device).number(3).repeat(2);
    let times = Evaluator::new(&vm.function("main")?, &options)?.call((&x,))?;
    assert_eq!(times.seconds().len(), 2);
    assert!(times.seconds().iter().all(|&each| each > 0.0 && each < 1.0), "{:?}", times.seconds());

    let vm = VirtualMachine::with(&session.load_module("tuples.so")?, &VmOptions::new().devices(&[device]))?;
    let count = vm.list_params("nested")?.len();
    let inputs: Vec<Arg<'_>> = (0..count).map(|_| Arg::from(&x)).collect();
    let nested: Array = vm.call("nested", inputs)?;
    assert!(nested.len() > 1);

    expect(session.function("nobody"), Code::NotFound, "no global function");
    assert!(session.describe()?.contains("\"absence\":\"\""), "after all errors the session goes on");
    Ok(())
}
