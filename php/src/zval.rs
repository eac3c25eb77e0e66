//! PHP values to and from the core's.

use std::cell::RefCell;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::IntoZval;
use ext_php_rs::types::{ArrayKey, ZendClassObject, ZendHashTable, ZendObject, ZendStr, Zval};
use rustc_hash::FxHashMap;
use sb::contract::args::{Given, Table, Unreadable};
use sb::contract::value::{Columns, FailureClass, HostFile, Key, Map, Records, Value};

use crate::classes::{SBChatbotEntity, SBChatbotIntent, SBError, SBValidationError};
use crate::engine::{memory_ceiling, memory_used, set_text};

/// Deeper than any structure that is meant, and far from the end of the stack: an array may hold itself.
const DEPTH: usize = 128;

/// What an argument must be to be read.
pub const PLAIN: &str = "a plain value or an array of them";

/// Reads an argument.
pub fn read(zval: &Zval) -> Result<Value, Unreadable> {
    read_nested(zval, DEPTH)
}

/// Reads an argument whose array stays where it is and is asked key by key.
pub fn read_in_place(zval: &Zval) -> Result<Given, Unreadable> {
    match zval.dereference().array() {
        Some(array) => Ok(Given::Table(Box::new(ArrayInPlace(array)))),
        None => read(zval).map(Given::Value),
    }
}

fn read_nested(zval: &Zval, depth: usize) -> Result<Value, Unreadable> {
    let zval = zval.dereference();
    if let Some(text) = zval.zend_str() {
        Ok(Value::Bytes(text.as_bytes().to_vec()))
    } else if let Some(number) = zval.long() {
        Ok(Value::Int(number))
    } else if let Some(truth) = zval.bool() {
        Ok(Value::Bool(truth))
    } else if zval.is_null() {
        Ok(Value::Null)
    } else if let Some(array) = zval.array() {
        read_array(array, depth.checked_sub(1).ok_or(Unreadable)?)
    } else if let Some(number) = zval.double() {
        Ok(Value::Float(number))
    } else {
        read_object(zval.object().ok_or(Unreadable)?)
    }
}

fn read_array(array: &ZendHashTable, depth: usize) -> Result<Value, Unreadable> {
    let is_list = entries(array)
        .zip(0..)
        .all(|((key, _), position)| key.long() == Some(position));
    if is_list {
        let items = entries(array).map(|(_, item)| read_nested(item, depth));
        return items.collect::<Result<_, _>>().map(Value::List);
    }
    let entries = entries(array).map(|(key, value)| Ok((read_key(&key), read_nested(value, depth)?)));
    entries.collect::<Result<Map, _>>().map(Value::Map)
}

/// The keys and values of an array in order. The iterator of the binding crate panics at a key that is not UTF-8.
fn entries(array: &ZendHashTable) -> impl Iterator<Item = (Zval, &Zval)> {
    let mut entries = array.iter();
    std::iter::from_fn(move || entries.next_zval())
}

fn read_key(key: &Zval) -> Key {
    match key.zend_str() {
        Some(text) => Key::from(text.as_bytes().to_vec()),
        None => Key::Int(key.long().unwrap_or_default()),
    }
}

fn read_object(object: &ZendObject) -> Result<Value, Unreadable> {
    let failure = if let Some(error) = ZendClassObject::<SBError>::from_zend_obj(object) {
        error.0.clone()
    } else if let Some(error) = ZendClassObject::<SBValidationError>::from_zend_obj(object) {
        error.0.clone()
    } else if let Some(intent) = ZendClassObject::<SBChatbotIntent>::from_zend_obj(object) {
        return Ok(Value::Map(intent.0.clone()));
    } else if let Some(entity) = ZendClassObject::<SBChatbotEntity>::from_zend_obj(object) {
        return Ok(Value::Map(entity.0.clone()));
    } else {
        return read_file(object).map(|file| Value::File(Box::new(file)));
    };
    Ok(Value::Error(Box::new(failure)))
}

/// Reads an object of PHP's own class for files. One of a class that extends it is none: its code would run.
fn read_file(object: &ZendObject) -> Result<HostFile, Unreadable> {
    if object.get_class_name().ok().as_deref() != Some("CURLFile") {
        return Err(Unreadable);
    }
    let property = |name| object.get_property::<String>(name).map_err(|_| Unreadable);
    Ok(HostFile {
        path: property("name")?,
        media_type: property("mime")?,
        name: property("postname")?,
    })
}

/// An argument's array, for the time of the call.
struct ArrayInPlace(*const ZendHashTable);

impl Table for ArrayInPlace {
    fn get(&self, key: &Key) -> Result<Option<Value>, Unreadable> {
        // SAFETY: arguments live until the call returns, and the core keeps no argument longer.
        let array = unsafe { &*self.0 };
        let found = match key {
            Key::Int(number) => array.get_index(*number),
            Key::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => array.get(ArrayKey::Str(text)),
                Err(_) => array.get(ArrayKey::ZendString(&ZendStr::new(text, false))),
            },
        };
        found.map(read).transpose()
    }
}

/// Writes a result for which nothing is allocated, and says whether it is one.
#[inline]
pub fn write_flat(value: &Value, zval: &mut Zval) -> bool {
    match value {
        Value::Null => zval.set_null(),
        Value::Bool(truth) => zval.set_bool(*truth),
        Value::Int(number) => zval.set_long(*number),
        Value::Float(number) => zval.set_double(*number),
        _ => return false,
    }
    true
}

/// Writes a result. Once the memory is exhausted the rest is left out: PHP ends the request when the function returns.
pub fn write(value: &Value, zval: &mut Zval) {
    write_below(memory_ceiling(), value, zval);
}

fn write_below(ceiling: usize, value: &Value, zval: &mut Zval) {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            write_flat(value, zval);
        }
        Value::File(_) => zval.set_null(),
        Value::Bytes(text) => set_text(zval, text),
        Value::List(items) => {
            let mut array = sized(items.len());
            for item in items.iter().take_while(|_| memory_used() <= ceiling) {
                let mut cell = Zval::new();
                write_below(ceiling, item, &mut cell);
                // The only failure is an array of 2^31 items.
                let _ = array.push(cell);
            }
            zval.set_hashtable(array);
        }
        Value::Map(map) => {
            let mut array = sized(map.len());
            for (key, value) in map.iter().take_while(|_| memory_used() <= ceiling) {
                let mut cell = Zval::new();
                write_below(ceiling, value, &mut cell);
                insert(&mut array, key, cell);
            }
            zval.set_hashtable(array);
        }
        Value::Record(record) => zval.set_hashtable(rows(record).next().unwrap_or_default()),
        Value::Records(records) if records.is_empty() => zval.set_hashtable(sized(0)),
        Value::Records(records) => {
            let mut array = sized(records.len());
            for row in rows(records).take_while(|_| memory_used() <= ceiling) {
                let _ = array.push(row);
            }
            zval.set_hashtable(array);
        }
        Value::Error(failure) => {
            let failure = failure.as_ref().clone();
            // Allocation failure ends the request before it could be reported here.
            let _ = match failure.class {
                FailureClass::Error => ZendClassObject::new(SBError(failure)).set_zval(zval, false),
                FailureClass::Validation => ZendClassObject::new(SBValidationError(failure)).set_zval(zval, false),
            };
        }
    }
}

fn sized(length: usize) -> ZBox<ZendHashTable> {
    ZendHashTable::with_capacity(u32::try_from(length).unwrap_or_default())
}

fn insert(array: &mut ZendHashTable, key: &Key, cell: Zval) {
    let _ = match key {
        Key::Int(number) => array.insert_at_index(*number, cell),
        Key::Text(std::borrow::Cow::Borrowed(text)) => array.insert(ArrayKey::ZendString(shared_key(text)), cell),
        Key::Text(text) => array.insert(ArrayKey::ZendString(&ZendStr::new(text, false)), cell),
    };
}

/// A column's name, ready to be a key.
enum ColumnKey {
    Shared(&'static ZendStr),
    Own(ZBox<ZendStr>),
    Number(i64),
}

/// Rows as arrays that share their keys, and a cell with the one above where both hold the same: messages of one
/// conversation repeat their authors.
fn rows(records: &Records) -> impl Iterator<Item = ZBox<ZendHashTable>> {
    let keys: Vec<ColumnKey> = match records.columns() {
        Columns::Static(names) => names
            .iter()
            .map(|name| ColumnKey::Shared(shared_key(name.as_bytes())))
            .collect(),
        Columns::Owned(names) => names.iter().map(own_key).collect(),
    };
    let mut above: Vec<Option<(&Value, Zval)>> = keys.iter().map(|_| None).collect();
    records.cells().chunks_exact(keys.len().max(1)).map(move |cells| {
        let mut row = sized(keys.len());
        for ((key, cell), above) in keys.iter().zip(cells).zip(&mut above) {
            let shared = match above {
                Some((value, zval)) if *value == cell => zval.shallow_clone(),
                _ => {
                    let mut zval = Zval::new();
                    write(cell, &mut zval);
                    let shared = zval.shallow_clone();
                    *above = Some((cell, zval));
                    shared
                }
            };
            let _ = match key {
                ColumnKey::Shared(key) => row.insert(ArrayKey::ZendString(key), shared),
                ColumnKey::Own(key) => row.insert(ArrayKey::ZendString(key), shared),
                ColumnKey::Number(number) => row.insert_at_index(*number, shared),
            };
        }
        row
    })
}

fn own_key(name: &Key) -> ColumnKey {
    match name {
        Key::Int(number) => ColumnKey::Number(*number),
        Key::Text(text) => ColumnKey::Own(ZendStr::new(text, false)),
    }
}

thread_local! {
    /// Keys that the core knows by name, made once: they keep their hash, and arrays share them.
    static KEYS: RefCell<FxHashMap<usize, &'static ZendStr>> = RefCell::default();
}

/// The key of a name of the core. It is told from others by where it lies and how long it is, which no two names share.
fn shared_key(name: &'static [u8]) -> &'static ZendStr {
    let place = (name.as_ptr() as usize).rotate_left(8) ^ name.len();
    // Nothing is borrowed any more when the key is used: running out of memory there would leave it so for ever.
    KEYS.with_borrow_mut(|keys| {
        *keys.entry(place).or_insert_with(|| {
            // SAFETY: made outside of any request, and never freed.
            unsafe { &*ZBox::into_raw(ZendStr::new(name, true)) }
        })
    })
}
