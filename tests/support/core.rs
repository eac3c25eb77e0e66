//! The Rust core as a process of its own has it: an engine, a host and a request.

use sb::contract::{Arguments, Result, Value};
use sb::functions::{self, Function};
use sb::platform::Context;
use sb::platform::context::Request;
use sb::platform::engine::Engine;
use sb::platform::host::{Host, PlainHost};

use super::bench::Installation;

/// One user of the library, with a connection of its own.
pub struct Core {
    engine: Engine,
    host: PlainHost,
    request: Request,
}

impl Core {
    pub fn open(installation: Installation) -> Self {
        let host = PlainHost::new(installation.constants);
        if let Some(login) = installation.login {
            host.set_global("SB_LOGIN", login);
        }
        if installation.force_admin {
            host.set_global("SB_FORCE_ADMIN", Value::Bool(true));
        }
        Self {
            engine: Engine::default(),
            host,
            request: Request::default(),
        }
    }

    pub fn run(&self, function: &Function, arguments: Arguments) -> Result<Value> {
        function.run(&self.engine, &self.host, &self.request, arguments)
    }

    /// Calls a function with its arguments by position.
    pub fn call(&self, name: &str, arguments: impl IntoIterator<Item = Value>) -> Result<Value> {
        let function = functions::find(name).unwrap();
        self.run(function, Arguments::of_values(arguments))
    }

    /// Ends the request: what follows its writes is delivered.
    pub fn end(&self) {
        self.engine.end_request();
        functions::deliver_recorded(&self.engine, &self.host, &self.request);
    }

    /// Delivers what is due in the outbox, as a worker does, and gives how much that was.
    pub fn deliver_due(&self) -> Result<usize> {
        self.engine
            .run(async |process| functions::deliver_due(&Context::new(&self.host, process, &self.request)).await)
    }

    /// Begins a new request with an active user.
    pub fn begin(&mut self, login: Value) {
        self.engine.end_request();
        self.request = Request::default();
        self.host.set_global("SB_LOGIN", login);
    }
}
