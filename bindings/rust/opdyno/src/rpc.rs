//! RPC sessions on other machines.
use crate::object::{check, create, handle};
use crate::options::Kept;
use crate::text::{bytes, text, with_text};
use crate::{Device, Function, Module, Result, RpcConnectOptions, ffi};

handle! {
    /// A session on another machine, which runs `opdyno serve` or TVM's RPC server.
    ///
    /// Its objects are used like local ones: devices, tensors, modules, VMs, functions, evaluators. An error of the
    /// server is returned with the server's address after the message. All objects from a session keep it open. A
    /// session makes one request at a time.
    /// ```no_run
    /// # fn main() -> opdyno::Result<()> {
    /// use opdyno::{RpcConnectOptions, RpcSession, Tensor, VirtualMachine, VmOptions, args};
    /// let session = RpcSession::connect("board:9090", &RpcConnectOptions::new().key("pi4"))?;
    /// session.upload("model.so", &std::fs::read("model.so").expect("the file can be read"))?;
    /// let device = session.device(opdyno::Device::CPU)?;
    /// let module = session.load_module("model.so")?;
    /// let vm = VirtualMachine::with(&module, &VmOptions::new().devices(&[device]))?;
    /// let x = Tensor::from_slice(&[0.5_f32; 784], [1, 784])?.to_device(device)?;
    /// let y: Tensor = vm.call("main", args![&x])?;
    /// # Ok(()) }
    /// ```
    RpcSession, opd_rpc_session
}

impl RpcSession {
    /// Begins a session with a server at `HOST:PORT` or `[::1]:PORT`.
    pub fn connect(address: &str, options: &RpcConnectOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        with_text(address, |address| create!(RpcSession, opd_rpc_connect(address, &options)))
    }
    /// Asks a tracker for a server with the options' key, waits until a server is free, and begins a session with it.
    pub fn request(tracker: &str, options: &RpcConnectOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        with_text(tracker, |tracker| create!(RpcSession, opd_rpc_request(tracker, &options)))
    }
    /// The servers and queues of a tracker as JSON: an object with `server_info` and `queue_info`.
    pub fn tracker_summary(tracker: &str, options: &RpcConnectOptions<'_>) -> Result<String> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        with_text(tracker, |tracker| text!(opd_rpc_tracker_summary(tracker, &options)))
    }
    /// The local name of the server's device `there`. The device need not exist.
    pub fn device(&self, there: Device) -> Result<Device> {
        let mut here = ffi::DLDevice::from(there);
        check!(opd_rpc_session_device(self.as_ptr(), there.into(), &mut here))?;
        Ok(here.into())
    }
    /// A global function of the server.
    pub fn function(&self, name: &str) -> Result<Function> {
        with_text(name, |name| create!(Function, opd_rpc_session_get_function(self.as_ptr(), name)))
    }
    /// Writes a file of the session, such as a library or parameters.
    pub fn upload(&self, name: &str, content: &[u8]) -> Result<()> {
        with_text(name, |name| {
            check!(opd_rpc_session_upload(self.as_ptr(), name, content.as_ptr().cast(), content.len()))
        })
    }
    /// The content of a file of the session.
    pub fn download(&self, name: &str) -> Result<Vec<u8>> {
        with_text(name, |name| bytes!(opd_rpc_session_download(self.as_ptr(), name)))
    }
    /// Loads a file of the session on the server. The module's kind is "rpc".
    pub fn load_module(&self, name: &str) -> Result<Module> {
        with_text(name, |name| create!(Module, opd_rpc_session_load_module(self.as_ptr(), name)))
    }
    /// Describes the session as JSON: address, key, index, server, and absence, which is the reason why the session has
    /// ended.
    pub fn describe(&self) -> Result<String> {
        text!(opd_rpc_session_describe(self.as_ptr()))
    }
    /// Ends the session for all its objects. A request for which another thread waits ends, too.
    pub fn close(&self) {
        unsafe { ffi::opd_rpc_session_close(self.as_ptr()) }
    }
}
