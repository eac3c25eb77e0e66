//! PHP values to and from the core's.

use std::cell::RefCell;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::IntoZval;
use ext_php_rs::types::{ArrayKey, ZendClassObject, ZendHashTable, ZendObject, ZendStr, Zval};
use rustc_hash::FxHashMap;
use sb::contract::args::{Given, Table, Unreadable};
use sb::contract::value::{Columns, FailureClass, HostFile, Key, Map, Records, Value};

use crate::classes::{SBChatbotEntity, SBChatbotIntent, SBError, SBValidationError};
use crate::engine::{memory_ceiling, memory_used, set_text, set_values};

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
                // The only failure is an array of 2^31 items.
                let _ = array.push(written(ceiling, item));
            }
            zval.set_hashtable(array);
        }
        Value::Map(map) => {
            let mut array = sized(map.len());
            for (key, value) in map.iter().take_while(|_| memory_used() <= ceiling) {
                insert(&mut array, key, written(ceiling, value));
            }
            zval.set_hashtable(array);
        }
        Value::Record(record) => {
            let cells = record.cells().iter().map(|cell| written(ceiling, cell));
            zval.set_hashtable(filled(record.columns(), cells));
        }
        Value::Records(records) if records.is_empty() => zval.set_hashtable(sized(0)),
        Value::Records(records) => {
            let mut array = sized(records.len());
            for row in rows(ceiling, records).take_while(|_| memory_used() <= ceiling) {
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

fn written(ceiling: usize, value: &Value) -> Zval {
    let mut zval = Zval::new();
    write_below(ceiling, value, &mut zval);
    zval
}

/// An array with a value under each column's name.
fn filled(columns: &Columns, values: impl Iterator<Item = Zval>) -> ZBox<ZendHashTable> {
    let mut array = sized(columns.len());
    match columns {
        Columns::Static(names) => {
            for (name, value) in names.iter().zip(values) {
                let _ = array.insert(ArrayKey::ZendString(shared_key(name.as_bytes())), value);
            }
        }
        Columns::Owned(names) => names
            .iter()
            .zip(values)
            .for_each(|(name, value)| insert(&mut array, name, value)),
    }
    array
}

/// Rows as arrays that share their keys, and a cell with the one above where both hold the same: messages of one
/// conversation repeat their authors.
fn rows(ceiling: usize, records: &Records) -> impl Iterator<Item = ZBox<ZendHashTable>> {
    let columns = records.columns();
    // What each row is a copy of: under every name, which column's cell belongs there. Of two columns of one name it is
    // the last.
    let numbers = (0..).map(|number| {
        let mut zval = Zval::new();
        zval.set_long(number);
        zval
    });
    let pattern = filled(columns, numbers);
    let places: Vec<usize> = pattern
        .values()
        .filter_map(|number| usize::try_from(number.long()?).ok())
        .collect();
    let mut above: Vec<Above> = places.iter().map(|_| Above::default()).collect();
    records.cells().chunks_exact(columns.len().max(1)).map(move |cells| {
        let mut row = pattern.clone();
        let cells = places.iter().filter_map(|place| cells.get(*place));
        set_values(
            &mut row,
            cells.zip(&mut above).map(|(cell, above)| above.share(ceiling, cell)),
        );
        row
    })
}

/// The cell above, while the cells of its column are still compared with it.
#[derive(Default)]
struct Above<'a> {
    cell: Option<(&'a Value, Zval)>,
    differences: u8,
}

impl<'a> Above<'a> {
    /// After so many cells in a row that differ from the one above, a column is one of which each is another.
    const PATIENCE: u8 = 4;

    fn share(&mut self, ceiling: usize, cell: &'a Value) -> Zval {
        // Those for which nothing is allocated need no sharing.
        let is_small = !matches!(cell, Value::Bytes(text) if text.len() > 1);
        if is_small || self.differences == Self::PATIENCE {
            return written(ceiling, cell);
        }
        if let Some((above, zval)) = &self.cell
            && *above == cell
        {
            self.differences = 0;
            return zval.shallow_clone();
        }
        self.differences += 1;
        let zval = written(ceiling, cell);
        self.cell = Some((cell, zval.shallow_clone()));
        zval
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
