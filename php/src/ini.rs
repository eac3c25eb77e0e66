//! The extension's INI entries. What they mean is decided by the core's configuration, of which each is a part.

use std::ffi::CStr;

use ext_php_rs::flags::IniEntryPermission;
use ext_php_rs::zend::{IniEntryDef, IniEntryDefs};

const CONNECT_TIMEOUT: &CStr = c"sb.connect_timeout";
const STATEMENT_TIMEOUT: &CStr = c"sb.statement_timeout";
const LOG: &CStr = c"sb.log";
const LOG_LEVEL: &CStr = c"sb.log_level";
const SLOW_STATEMENT: &CStr = c"sb.slow_statement";

pub static ENTRIES: IniEntryDefs<6> = IniEntryDefs::new([
    IniEntryDef::new(CONNECT_TIMEOUT, c"", IniEntryPermission::All),
    IniEntryDef::new(STATEMENT_TIMEOUT, c"", IniEntryPermission::All),
    // A file that is written is not the scripts' to choose.
    IniEntryDef::new(LOG, c"", IniEntryPermission::System),
    IniEntryDef::new(LOG_LEVEL, c"", IniEntryPermission::All),
    IniEntryDef::new(SLOW_STATEMENT, c"", IniEntryPermission::All),
    IniEntryDef::end(),
]);

/// The INI entry that stands for a constant of `config.php` where that is not defined.
pub fn entry_of(constant: &str) -> Option<&'static CStr> {
    match constant {
        "SB_CONNECT_TIMEOUT" => Some(CONNECT_TIMEOUT),
        "SB_STATEMENT_TIMEOUT" => Some(STATEMENT_TIMEOUT),
        "SB_LOG" => Some(LOG),
        "SB_LOG_LEVEL" => Some(LOG_LEVEL),
        "SB_SLOW_STATEMENT" => Some(SLOW_STATEMENT),
        _ => None,
    }
}
