//! Sessions on another machine: OPDYNO_TEST_SERVER is the address of a server whose key is "board", OPDYNO_TEST_TRACKER
//! that of a tracker that has another one.
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
    expect(RpcSession::connect("nowhere", &options), Code::InvalidArgument, "is no address");
    expect(RpcSession::request("127.0.0.1:1", &options), Code::Io, "127.0.0.1:1");
    expect(RpcSession::tracker_summary("127.0.0.1:1", &options), Code::Io, "127.0.0.1:1");
}
