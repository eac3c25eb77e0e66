//! The classes of the contract.

use ext_php_rs::prelude::*;
use sb::contract::value::{Failure, FailureClass};

/// An error: what failed, and why.
#[php_class]
#[php(name = "SBError")]
pub struct SBError(pub Failure);

/// A refusal of what a caller gave.
#[php_class]
#[php(name = "SBValidationError")]
pub struct SBValidationError(pub Failure);

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
