//! The few things of the Zend engine that the binding crate does not offer.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::ManuallyDrop;

use ext_php_rs::ffi::{zend_hash_get_current_data_ex, zend_hash_move_forward_ex};
use ext_php_rs::types::{ZendHashTable, ZendStr, Zval};
use ext_php_rs::zend::{ExecutorGlobals, ProcessGlobals, SapiGlobals};

unsafe extern "C" {
    fn zend_get_constant_str(name: *const c_char, length: usize) -> *mut Zval;
    fn zend_hash_func(text: *const c_char, length: usize) -> u64;
    fn zend_hash_update_ind(table: *mut ZendHashTable, key: *mut ZendStr, value: *mut Zval) -> *mut Zval;
    fn zend_ini_string_ex(name: *const c_char, length: usize, original: c_int, exists: *mut bool) -> *const c_char;
    fn zend_is_auto_global(name: *mut ZendStr) -> bool;
    fn zend_memory_usage(real: bool) -> usize;
    fn php_output_write(text: *const c_char, length: usize) -> usize;
    fn sapi_add_header_ex(header: *mut c_char, length: usize, duplicate: bool, replace: bool) -> c_int;
    static zend_one_char_string: [*mut ZendStr; 256];
    static zend_empty_string: *mut ZendStr;
}

/// What the engine keeps of a name beside it, to find it by.
pub fn hash(name: &str) -> u64 {
    // SAFETY: the name is only read, for its length.
    unsafe { zend_hash_func(name.as_ptr().cast(), name.len()) }
}

/// The value of a constant that PHP code defined.
pub fn constant(name: &str) -> Option<&Zval> {
    // SAFETY: the name is only read, for its length; the constant lives until the end of the request.
    unsafe { zend_get_constant_str(name.as_ptr().cast(), name.len()).as_ref() }
}

/// The value of an INI entry.
pub fn ini(name: &CStr) -> Option<String> {
    let mut exists = false;
    // SAFETY: both pointers are valid for the call; the text is copied before anything can change it.
    unsafe {
        let text = zend_ini_string_ex(name.as_ptr(), name.count_bytes(), 0, &raw mut exists);
        (exists && !text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// A variable of the global scope, superglobals included.
pub fn global(name: &str) -> Option<&'static Zval> {
    // SAFETY: the table of global variables lives as long as the request, and so does what is read from it before
    // control returns to PHP code.
    let find = || unsafe { &*symbols() }.get(name);
    let value = find().or_else(|| {
        // With auto_globals_jit PHP fills a superglobal only when it is asked for.
        let mut key = name.starts_with('_').then(|| ZendStr::new(name, false))?;
        // SAFETY: the name outlives the call.
        unsafe { zend_is_auto_global(key.as_mut_ptr()) };
        find()
    })?;
    Some(value.indirect().unwrap_or(value).dereference())
}

/// Assigns a global variable, through a reference if it is one. The old value's destructor may run PHP code.
pub fn set_global(name: &str, mut value: Zval) {
    // SAFETY: as above; nothing else of this crate holds the table.
    let table = unsafe { &mut *symbols() };
    if let Some(slot) = table.get_mut(name) {
        let slot: *mut Zval = slot;
        // SAFETY: the slot, or what it points to, is a live variable.
        let slot = unsafe { (*slot).indirect_mut().unwrap_or(&mut *slot) };
        std::mem::swap(slot.dereference_mut(), &mut value);
        return;
    }
    let mut key = ZendStr::new(name, false);
    // SAFETY: the table takes the value over, and a reference of its own to the key.
    unsafe { zend_hash_update_ind(symbols(), key.as_mut_ptr(), &raw mut value) };
    std::mem::forget(value);
}

fn symbols() -> *mut ZendHashTable {
    (&raw const ExecutorGlobals::get().symbol_table).cast_mut().cast()
}

/// Adds a header to the answer, unless the headers are on their way already.
pub fn add_header(header: &str) {
    // A byte or a truth value, depending on PHP's version.
    #[allow(clippy::unnecessary_cast)]
    let sent = SapiGlobals::get().headers_sent as u8 != 0;
    if !sent && let Ok(text) = CString::new(header) {
        // SAFETY: with `duplicate` the text is copied, and not written to.
        unsafe { sapi_add_header_ex(text.as_ptr().cast_mut(), header.len(), true, false) };
    }
}

/// Prints a text as `echo` does, through output buffers, whose filters are PHP code.
pub fn print(text: &Zval) {
    if let Some(text) = text.zend_str() {
        let text = text.as_bytes();
        // SAFETY: the text lives in `text`, of which nobody else knows.
        unsafe { php_output_write(text.as_ptr().cast(), text.len()) };
    }
}

/// The bytes of memory that the request has.
pub fn memory_used() -> usize {
    // SAFETY: only reads a counter.
    unsafe { zend_memory_usage(true) }
}

/// Past how many bytes it is pointless to go on making a result. Since 8.2.35 PHP reports an exhausted `memory_limit`
/// only when the function returns, and kills the process when it goes on to twice the limit; older versions end the
/// request at once. A shutdown function may run above the limit.
pub fn memory_ceiling() -> usize {
    // A negative limit is none.
    let limit = usize::try_from(ProcessGlobals::get().memory_limit).unwrap_or(usize::MAX);
    if memory_used() > limit { usize::MAX } else { limit }
}

/// Replaces the values of an array, which are numbers, in their order; its keys stay.
pub fn set_values(array: &mut ZendHashTable, values: impl Iterator<Item = Zval>) {
    let mut position = 0;
    for value in values {
        // SAFETY: the array is alive and nobody else's; what it gives is one of its values, or null behind the last.
        unsafe {
            let Some(slot) = zend_hash_get_current_data_ex(array, &raw mut position).as_mut() else {
                return;
            };
            // Beside its value a slot holds which other one follows it under the same hash: that stays.
            let value = ManuallyDrop::new(value);
            slot.value = value.value;
            slot.u1 = value.u1;
            zend_hash_move_forward_ex(array, &raw mut position);
        }
    }
}

/// A text as PHP has it: shared for none or one byte.
pub fn set_text(zval: &mut Zval, text: &[u8]) {
    let shared = match text {
        // SAFETY: the engine's own shared text, made at its start.
        [] => unsafe { zend_empty_string },
        // SAFETY: likewise, one for each byte.
        [byte] => unsafe {
            *(&raw const zend_one_char_string)
                .cast::<*mut ZendStr>()
                .add(usize::from(*byte))
        },
        _ => {
            zval.set_zend_string(ZendStr::new(text, false));
            return;
        }
    };
    zval.value.str_ = shared.cast();
    // Shared texts are not counted: the type alone, without the flag for counting.
    zval.u1.type_info = ext_php_rs::ffi::IS_STRING;
}
