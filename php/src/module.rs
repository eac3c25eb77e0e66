//! The life of the module: process start, end of each request, process end.

use ext_php_rs::zend::{IniEntryDef, ModuleEntry};
use ext_php_rs::{info_table_end, info_table_row, info_table_start};
use sb::functions;
use sb::platform::counters;

use crate::dispatch::{ENGINE, REQUEST};
use crate::host::Php;
use crate::{host, ini};

unsafe extern "C" {
    fn display_ini_entries(module: *mut ModuleEntry);
    fn zend_unregister_ini_entries(module_number: i32);
}

const SUCCESS: i32 = 0;

/// Process start. PHP forks its workers after this: nothing may be opened or started here.
pub extern "C" fn startup(_type: i32, module_number: i32) -> i32 {
    // A panic becomes a PHP Error; the default hook would also write to stderr, into the web server's log.
    std::panic::set_hook(Box::new(|_| {}));
    IniEntryDef::register(ini::ENTRIES.as_slice(), module_number);
    SUCCESS
}

/// Process end.
pub extern "C" fn shutdown(_type: i32, module_number: i32) -> i32 {
    guarded(|| ENGINE.with(|engine| engine.shut_down()));
    // SAFETY: the entries were registered under this number.
    unsafe { zend_unregister_ini_entries(module_number) };
    SUCCESS
}

/// End of a request: nothing of it may be seen by the next.
pub extern "C" fn request_shutdown(_type: i32, _module_number: i32) -> i32 {
    guarded(|| {
        host::forget();
        let request = REQUEST.take();
        ENGINE.with(|engine| {
            engine.end_request();
            functions::deliver_recorded(engine, &Php, &request);
        });
    });
    SUCCESS
}

/// The module's part of phpinfo() and `php --ri sb`.
pub extern "C" fn info(module: *mut ModuleEntry) {
    guarded(|| {
        info_table_start!();
        info_table_row!("sb", "enabled");
        info_table_row!("Version", sb::VERSION);
        info_table_row!("Functions", functions::all().count().to_string());
        info_table_row!("Database driver", sb::platform::db::DRIVER);
        info_table_row!("Cryptography", sb::platform::crypto::LIBRARY.as_str());
        for counter in counters::all() {
            info_table_row!(counter.about, counter.count().to_string());
        }
        info_table_end!();
    });
    // SAFETY: PHP passes its own entry of this module.
    unsafe { display_ini_entries(module) };
}

/// The engine calls these hooks without a guard of its own.
fn guarded(work: impl FnOnce()) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
}
