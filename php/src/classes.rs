//! The classes of the contract.

use ext_php_rs::prelude::*;
use ext_php_rs::types::Zval;
use ext_php_rs::zend::ce;
use sb::contract::args::Unreadable;
use sb::contract::value::{Failure, FailureClass, Key, Map, Value};

use crate::zval;

/// An error: what failed, and why.
#[php_class]
#[php(name = "SBError")]
pub struct SBError(pub Failure);

/// A refusal of what a caller gave.
#[php_class]
#[php(name = "SBValidationError")]
pub struct SBValidationError(pub Failure);

/// An intent of the chatbot. Functions see it as the map of its arguments.
#[php_class]
#[php(name = "SBChatbotIntent")]
pub struct SBChatbotIntent(pub Map);

/// The values of an entity of the chatbot. Functions see it as the map of its arguments.
#[php_class]
#[php(name = "SBChatbotEntity")]
pub struct SBChatbotEntity(pub Map);

#[php_impl]
#[php(change_method_case = "none")]
impl SBError {
    /// Makes an error.
    #[php(defaults(function = String::new(), message = String::new()))]
    pub fn __construct(code: String, function: String, message: String) -> Self {
        Self(Failure {
            class: FailureClass::Error,
            code,
            function,
            message,
        })
    }

    /// A stable code such as security-error.
    pub fn code(&self) -> String {
        self.0.code.clone()
    }

    /// The function that failed.
    pub fn function_name(&self) -> String {
        self.0.function.clone()
    }

    /// A sentence for people.
    pub fn message(&self) -> String {
        self.0.message.clone()
    }

    /// Function, code and message in a line.
    #[php(name = "__toString")]
    pub fn to_line(&self) -> String {
        format!("{}: {} ({})", self.0.function, self.0.message, self.0.code)
    }
}

#[php_impl]
#[php(change_method_case = "none")]
impl SBValidationError {
    /// Makes an error.
    pub fn __construct(code: String) -> Self {
        Self(Failure {
            class: FailureClass::Validation,
            code,
            function: String::new(),
            message: String::new(),
        })
    }

    /// A stable code such as duplicate-email.
    pub fn code(&self) -> String {
        self.0.code.clone()
    }
}

#[php_impl]
#[php(change_method_case = "none")]
impl SBChatbotIntent {
    /// Makes an intent.
    #[php(optional = language)]
    pub fn __construct(
        training_phrases: &Zval,
        responses: &Zval,
        language: Option<&Zval>,
        name: Option<&Zval>,
    ) -> PhpResult<Self> {
        let arguments = [
            ("training_phrases", Some(training_phrases)),
            ("responses", Some(responses)),
            ("language", language),
            ("name", name),
        ];
        map_of("SBChatbotIntent", arguments).map(Self)
    }
}

#[php_impl]
#[php(change_method_case = "none")]
impl SBChatbotEntity {
    /// Makes the values of an entity.
    #[php(optional = name)]
    pub fn __construct(values: &Zval, name: Option<&Zval>) -> PhpResult<Self> {
        map_of("SBChatbotEntity", [("values", Some(values)), ("name", name)]).map(Self)
    }
}

/// The arguments by their names; what is not given is null.
fn map_of<const N: usize>(class: &str, arguments: [(&'static str, Option<&Zval>); N]) -> PhpResult<Map> {
    let entries = arguments.into_iter().map(|(name, argument)| {
        let value = argument.map_or(Ok(Value::Null), zval::read);
        let value = value.map_err(|Unreadable| {
            let message = format!("{class}::__construct(): argument ${name} must be {}", zval::PLAIN);
            PhpException::new(message, 0, ce::type_error())
        });
        Ok((Key::from(name), value?))
    });
    entries.collect()
}
