//! Registers every function of the catalog with PHP, and runs them. Never edited to add a function.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
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
use sb::contract::error::{Error, Exception, Exit, Result};
use sb::contract::value::Value;
use sb::functions::{self, Body, Function};
use sb::platform::context::Request;
use sb::platform::engine::Engine;

use crate::host::{self, Php};
use crate::{engine, zval};

/// The functions by the hash that the engine keeps with their names.
static BY_HASH: LazyLock<FxHashMap<u64, &'static Function>> = LazyLock::new(|| {
    functions::all()
        .map(|function| (engine::hash(function.name), function))
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
    // SAFETY: the engine sets the function before it calls it, whose name it has looked up by its hash.
    let hash = unsafe { (*(*frame.func).common.function_name).h };
    let Some(function) = BY_HASH.get(&hash) else {
        return;
    };
    match function.body {
        Body::Pure(body) => {
            // What only computes calls nothing of PHP's that could jump away: the engine's guard would double its time.
            let exit = catch_unwind(AssertUnwindSafe(|| exit(function, frame, body)));
            match exit {
                Ok(Exit::Value(value)) if zval::write_flat(&value, result) => {}
                exit => run_handler(AssertUnwindSafe(|| {
                    leave(exit.unwrap_or_else(|panic| resume_unwind(panic)), result);
                })),
            }
        }
        Body::Async(_) => {
            run_handler(AssertUnwindSafe(|| {
                let run = |arguments| {
                    ENGINE.with(|engine| REQUEST.with_borrow(|request| function.run(engine, &Php, request, arguments)))
                };
                leave(exit(function, frame, run), result);
            }));
            // PHP code may run here, and may not come back: nothing of Rust is held any more.
            if host::is_pending() {
                run_handler(host::flush);
            }
        }
    }
}

/// Runs a function to its end.
fn exit(function: &Function, frame: &ExecuteData, run: impl FnOnce(Arguments) -> Result<Value>) -> Exit {
    match arguments(function, frame).and_then(run) {
        Ok(value) => Exit::Value(value),
        Err(error) => function.exit(error),
    }
}

/// Hands over what a function gives.
fn leave(exit: Exit, result: &mut Zval) {
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
    if !zval::write_flat(&value, result) {
        // PHP ends the request when it runs out of memory: the guard then frees what the core made.
        zval::write(&BailoutGuard::new(value), result);
    }
}

/// The arguments as the core takes them. More than the contract has are ignored.
fn arguments(function: &Function, frame: &ExecuteData) -> Result<Arguments> {
    // SAFETY: the engine keeps the number of arguments here during the call of an internal function.
    let given = unsafe { frame.This.u2.num_args } as usize;
    let mut arguments = Vec::with_capacity(given.min(function.params.len()));
    for (position, param) in function.params.iter().take(given).enumerate() {
        // SAFETY: the position is below the number of arguments, which live until the call returns.
        let read = match unsafe { frame.zend_call_arg(position) } {
            None => Ok(Given::Nothing),
            Some(argument) if param.in_place => zval::read_in_place(argument),
            Some(argument) => zval::read(argument).map(Given::Value),
        };
        arguments.push(read.map_err(|Unreadable| Error::Argument {
            name: param.name,
            expected: zval::PLAIN,
        })?);
    }
    Ok(Arguments::new(arguments))
}
