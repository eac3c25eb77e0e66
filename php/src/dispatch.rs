//! Registers every function of the catalog with PHP, and runs them. Never edited to add a function.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::AssertUnwindSafe;
use std::sync::LazyLock;

use ext_php_rs::args::Arg;
use ext_php_rs::builders::{FunctionBuilder, ModuleBuilder};
use ext_php_rs::exception::throw;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;
use ext_php_rs::zend::{BailoutGuard, ExecuteData, ce, run_handler};
use rustc_hash::FxHashMap;
use sb::contract::Arguments;
use sb::contract::args::{Given, Unreadable};
use sb::contract::error::{Exception, Exit};
use sb::contract::value::Value;
use sb::functions::{self, Function};
use sb::platform::context::Request;
use sb::platform::engine::Engine;

use crate::host::{self, Php};
use crate::zval;

static BY_NAME: LazyLock<FxHashMap<&'static [u8], &'static Function>> = LazyLock::new(|| {
    functions::all()
        .map(|function| (function.name.as_bytes(), function))
        .collect()
});

thread_local! {
    /// The connection and what else outlives requests. Ended by the module, never by the thread's own destructors: a
    /// process that exits past the module, as the one that preloads does, has no runtime to end it with any more.
    pub static ENGINE: ManuallyDrop<Engine> = ManuallyDrop::default();
    /// What is read once per request.
    pub static REQUEST: RefCell<Request> = RefCell::default();
}

/// Adds the catalog's functions to the module.
pub fn register(module: ModuleBuilder<'_>) -> ModuleBuilder<'_> {
    functions::all().fold(module, |module, function| {
        let builder =
            FunctionBuilder::new(function.name, handle)
                .docs(function.docs)
                .returns(DataType::Mixed, false, false);
        let builder = function.params.iter().fold(builder, |builder, param| {
            let arg = Arg::new(param.name, DataType::Mixed);
            builder.arg(match param.default {
                Some(default) => arg.default(default),
                None => arg,
            })
        });
        module.function(builder.required_args(function.required()))
    })
}

/// What PHP calls, whichever function it is.
extern "C" fn handle(frame: &mut ExecuteData, result: &mut Zval) {
    run_handler(AssertUnwindSafe(|| call(frame, result)));
    // PHP code may run here, and may not come back: nothing of Rust is held any more.
    if host::is_pending() {
        run_handler(host::flush);
    }
}

fn call(frame: &mut ExecuteData, result: &mut Zval) {
    // SAFETY: the engine sets the function and its name before it calls it.
    let name = unsafe { (*(*frame.func).common.function_name).as_bytes() };
    let Some(function) = BY_NAME.get(name) else {
        return;
    };
    let arguments = match arguments(function, frame) {
        Ok(arguments) => arguments,
        Err(name) => {
            let message = format!(
                "{}(): argument ${name} must be a plain value or an array of them",
                function.name
            );
            let _ = throw(ce::type_error(), &message);
            return;
        }
    };
    let outcome = ENGINE.with(|engine| REQUEST.with_borrow(|request| function.run(engine, &Php, request, arguments)));
    let exit = match outcome {
        Ok(value) => Exit::Value(value),
        Err(error) => function.exit(error),
    };
    let value = match exit {
        Exit::Value(value) => value,
        Exit::Object(failure) => Value::Error(Box::new(failure)),
        Exit::Exception(class, failure) => {
            let class = match class {
                Exception::Type => ce::type_error(),
                Exception::ArgumentCount => ce::argument_count_error(),
                Exception::Error => ce::error(),
            };
            let _ = throw(class, &format!("{}(): {}", failure.function, failure.message));
            return;
        }
    };
    if zval::is_flat(&value) {
        zval::write(&value, result);
    } else {
        // PHP ends the request when it runs out of memory: the guard then frees what the core made.
        zval::write(&BailoutGuard::new(value), result);
    }
}

/// The arguments as the core takes them; the name of the one that cannot be read otherwise. More than the contract
/// has are ignored.
fn arguments(function: &Function, frame: &ExecuteData) -> Result<Arguments, &'static str> {
    // SAFETY: the engine keeps the number of arguments here during the call of an internal function.
    let given = unsafe { frame.This.u2.num_args } as usize;
    let read = function.params.iter().take(given).enumerate().map(|(position, param)| {
        // SAFETY: the position is below the number of arguments, which live until the call returns.
        let Some(argument) = (unsafe { frame.zend_call_arg(position) }) else {
            return Ok(Given::Nothing);
        };
        let given = if param.in_place {
            zval::read_in_place(argument)
        } else {
            zval::read(argument).map(Given::Value)
        };
        given.map_err(|Unreadable| param.name)
    });
    read.collect::<Result<Vec<_>, _>>().map(Arguments::new)
}
