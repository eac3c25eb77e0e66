//! The form of a contract: one `functions!` block per section is the single source of names, arguments, defaults,
//! documentation and result types. Registration with PHP, call by name, stubs and the reference follow from it.

use std::future::Future;
use std::pin::Pin;

use crate::contract::args::Given;
use crate::contract::error::{DatabaseErrorForm, Error, Exit, ProviderErrorForm, Result};
use crate::contract::{Arguments, Key, Map, Value};
use crate::platform::context::Request;
use crate::platform::engine::Engine;
use crate::platform::host::Host;
use crate::platform::{Context, counters, log};

/// One public function.
pub struct Function {
    /// Its exact name: `sb_get_user`.
    pub name: &'static str,
    /// Its documentation, line by line: what it does, its arguments, its errors.
    pub docs: &'static [&'static str],
    /// Its arguments in call order.
    pub params: &'static [Param],
    /// The type of its result in PHPStan's notation.
    pub returns: &'static str,
    /// Whether it is refused without authority.
    pub protected: bool,
    /// What it gives when the database fails.
    pub database_errors: DatabaseErrorForm,
    /// What may answer at once.
    pub known: Option<Known>,
    /// What it gives when an outside service fails.
    pub provider_errors: ProviderErrorForm,
    /// What runs it.
    pub body: Body,
}

/// Answers from what the request has read before; `None` when it cannot, or when an argument is not of the plainest form.
/// A thousand calls of such a function are made for one page, and beginning to wait costs more than the answer.
pub type Known = fn(&dyn Host, &Request, &[Given]) -> Option<Value>;

/// One argument of a public function.
pub struct Param {
    /// Its exact name.
    pub name: &'static str,
    /// Its type in PHPDoc.
    pub php_type: &'static str,
    /// The PHP literal of its default; without one it is required.
    pub default: Option<&'static str>,
    /// Whether a map passed here is read in place.
    pub in_place: bool,
}

/// The pending result of a function.
pub type Call<'a> = Pin<Box<dyn Future<Output = Result<Value>> + 'a>>;

/// How a function runs.
pub enum Body {
    /// It may wait: for the database, for a service.
    Async(for<'a> fn(&'a Context<'a>, Arguments) -> Call<'a>),
    /// It only computes.
    Pure(fn(Arguments) -> Result<Value>),
}

impl Function {
    /// Runs the function.
    pub async fn call(&self, cx: &Context<'_>, arguments: Arguments) -> Result<Value> {
        if self.protected && !cx.has_authority().await? {
            return Err(Error::security(format!(
                "{} needs an active agent or admin, or SB_FORCE_ADMIN",
                self.name
            )));
        }
        match self.body {
            Body::Async(body) => body(cx, arguments).await,
            Body::Pure(body) => body(arguments),
        }
    }

    /// Runs the function to its end, for a door that is not asynchronous. One that only computes needs no engine.
    pub fn run(&self, engine: &Engine, host: &dyn Host, request: &Request, arguments: Arguments) -> Result<Value> {
        if let Some(known) = self.known
            && let Some(value) = known(host, request, arguments.given())
        {
            return Ok(value);
        }
        match self.body {
            Body::Pure(body) => body(arguments),
            Body::Async(_) => {
                counters::CALLS.add();
                let outcome =
                    engine.run(async |process| self.call(&Context::new(host, process, request), arguments).await);
                outcome.inspect_err(|error| log::note(host, self.name, error))
            }
        }
    }

    /// How an error of this function leaves.
    pub fn exit(&self, error: Error) -> Exit {
        error.exit(self.name, self.database_errors, self.provider_errors)
    }

    /// How many of the arguments must be given.
    pub fn required(&self) -> usize {
        self.params.iter().take_while(|param| param.default.is_none()).count()
    }

    /// Puts arguments given by name into their order.
    pub fn named(&self, mut given: Map) -> Result<Arguments> {
        let values = self
            .params
            .iter()
            .map(|param| given.shift_remove(&Key::from(param.name)));
        let values = values.map(|value| value.map_or(Given::Nothing, Given::Value)).collect();
        match given.keys().next() {
            None => Ok(Arguments::new(values)),
            Some(key) => Err(Error::Refused {
                code: "argument-error",
                message: format!("{} has no argument ${}", self.name, key.to_text()),
            }),
        }
    }
}

/// The name of an argument that is a word of Rust (`r#return`) as the contract has it.
pub const fn plain(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// Declares the public functions of a section.
///
/// ```text
/// functions! {
///     /// What it does, in one line.
///     ///
///     /// @param $user_id the user
///     /// @errors user-not-found
///     async fn sb_get_user(user_id: UserId, extra: bool = false) -> "array{id: string}|false" => get_user;
///     /// …
///     pure fn sb_isset(array: Keyed, key: Key, default: Value = false) -> "mixed" => isset;
///     /// …
///     async fn sb_delete_user(user_id: UserId) -> "true" => delete_user, protected;
///     /// …
///     async fn sb_new_conversation(user_id: UserId) -> "string" => new_conversation, database_errors_as_text;
///     /// …
///     async fn sb_get_setting(setting: String) -> "mixed" => [known_setting] get_setting;
///     /// …
///     async fn sb_chatbot_get_agent() -> "array<string, mixed>|string" => get_agent, provider_errors_as_they_are;
/// }
/// ```
///
/// An `async fn` is called with the context and its arguments, a `pure fn` with its arguments only. What stands in
/// brackets is asked first ([`Known`]). Where the types of
/// the entry and of the function disagree, it does not compile.
#[macro_export]
macro_rules! functions {
    ($(
        $(#[doc = $doc:literal])*
        $kind:ident fn $name:ident($($arg:ident: $type:ty $(= $default:expr)?),* $(,)?) -> $returns:literal => $([$known:path])? $body:path $(, $flag:ident)*;
    )*) => {
        /// The public functions of this section.
        pub static FUNCTIONS: &[$crate::functions::catalog::Function] = &[$($crate::functions::catalog::Function {
            name: stringify!($name),
            docs: &[$($doc),*],
            params: &[$($crate::functions::catalog::Param {
                name: $crate::functions::catalog::plain(stringify!($arg)),
                php_type: <$type as $crate::contract::Argument>::TYPE,
                default: $crate::functions!(@text $($default)?),
                in_place: <$type as $crate::contract::Argument>::IN_PLACE,
            }),*],
            returns: $returns,
            protected: $crate::functions!(@protected $($flag)*),
            database_errors: $crate::functions!(@errors $($flag)*),
            known: $crate::functions!(@known $($known)?),
            provider_errors: $crate::functions!(@provider $($flag)*),
            body: $crate::functions!(@$kind $body; $($arg: $type $(= $default)?),*),
        }),*];
        $($crate::functions!(@check $kind $($flag)*);)*
    };
    (@check pure $($flag:ident)+) => { compile_error!("a function that only computes asks for no authority and no database"); };
    (@check $kind:ident $($flag:ident)*) => {};
    (@async $body:path; $($arg:ident: $type:ty $(= $default:expr)?),*) => {
        $crate::functions::catalog::Body::Async(|cx, mut arguments| Box::pin(async move {
            let _ = &mut arguments;
            Ok($body(cx, $($crate::functions!(@take arguments $arg: $type $(= $default)?)),*).await?.into())
        }))
    };
    (@pure $body:path; $($arg:ident: $type:ty $(= $default:expr)?),*) => {
        $crate::functions::catalog::Body::Pure(|mut arguments| {
            let _ = &mut arguments;
            Ok($body($($crate::functions!(@take arguments $arg: $type $(= $default)?)),*)?.into())
        })
    };
    (@take $arguments:ident $arg:ident: $type:ty $(= $default:expr)?) => {
        $arguments.take::<$type>($crate::functions::catalog::plain(stringify!($arg)), $crate::functions!(@value $($default)?))?
    };
    (@text) => { None };
    (@text $default:expr) => { Some(stringify!($default)) };
    (@value) => { None };
    (@value $default:expr) => { Some(|| $crate::contract::Value::from($default)) };
    (@known) => { None };
    (@known $known:path) => { Some($known) };
    (@protected) => { false };
    (@protected protected $($flag:ident)*) => { true };
    (@protected $other:ident $($flag:ident)*) => { $crate::functions!(@protected $($flag)*) };
    (@errors) => { $crate::contract::error::DatabaseErrorForm::Object };
    (@errors database_errors_as_text $($flag:ident)*) => { $crate::contract::error::DatabaseErrorForm::Text };
    (@errors $other:ident $($flag:ident)*) => { $crate::functions!(@errors $($flag)*) };
    (@provider) => { $crate::contract::error::ProviderErrorForm::Object };
    (@provider provider_errors_as_they_are $($flag:ident)*) => { $crate::contract::error::ProviderErrorForm::AsItIs };
    (@provider $other:ident $($flag:ident)*) => { $crate::functions!(@provider $($flag)*) };
}
