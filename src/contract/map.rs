//! A map in the order of its insertion.

use std::ops::{Deref, DerefMut};

use indexmap::IndexMap;

use super::value::{Key, Value};

/// A map in the order of its insertion. Kept beside the value that holds it: most values are texts, and a list of them
/// takes a third of the memory so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map(Box<IndexMap<Key, Value>>);

impl Map {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty one with room for so many entries.
    pub fn with_capacity(entries: usize) -> Self {
        Self(Box::new(IndexMap::with_capacity(entries)))
    }

    /// The values alone.
    pub fn into_values(self) -> indexmap::map::IntoValues<Key, Value> {
        self.0.into_values()
    }
}

impl Deref for Map {
    type Target = IndexMap<Key, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Map {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl FromIterator<(Key, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Key, Value)>>(entries: I) -> Self {
        Self(Box::new(entries.into_iter().collect()))
    }
}

impl Extend<(Key, Value)> for Map {
    fn extend<I: IntoIterator<Item = (Key, Value)>>(&mut self, entries: I) {
        self.0.extend(entries);
    }
}

impl<const N: usize> From<[(Key, Value); N]> for Map {
    fn from(entries: [(Key, Value); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl IntoIterator for Map {
    type Item = (Key, Value);
    type IntoIter = indexmap::map::IntoIter<Key, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Key, &'a Value);
    type IntoIter = indexmap::map::Iter<'a, Key, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
