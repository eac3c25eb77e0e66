//! The PHP extension `sb`: converts values, forwards to the core, converts back.
//!
//! No rule of the product lives here: what a function does is decided in the core.

#![allow(missing_docs, reason = "what PHP sees is documented in the catalog")]

mod api;
mod classes;
mod dispatch;
mod engine;
mod host;
mod ini;
mod module;
mod zval;

use ext_php_rs::prelude::*;

/// Rows are thousands of short texts. Its thread-local state is looked up dynamically (feature `local_dynamic_tls`), as
/// a library that is loaded late must do.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module as PHP loads it.
#[php_module]
pub fn get_module(module: ModuleBuilder) -> ModuleBuilder {
    let module = module
        .name("sb")
        .version(sb::VERSION)
        .startup_function(module::startup)
        .shutdown_function(module::shutdown)
        .request_shutdown_function(module::request_shutdown)
        .info_function(module::info)
        .class::<classes::SBError>()
        .class::<classes::SBValidationError>()
        .class::<classes::SBChatbotIntent>()
        .class::<classes::SBChatbotEntity>()
        .class::<api::SBApi>();
    dispatch::register(module)
}
