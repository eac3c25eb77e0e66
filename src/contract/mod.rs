//! What a call is made of: values, arguments, ids, states and errors.
//!
//! The lowest floor. It knows nothing of databases, of functions, or of who calls.

pub mod args;
pub mod error;
pub mod ids;
pub mod json;
pub mod language;
mod map;
pub mod shapes;
pub mod status;
pub mod value;

pub use args::{Argument, Arguments};
pub use error::{Code, Error, Result};
pub use value::{Key, Map, Records, Value};
