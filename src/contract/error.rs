//! The one error type, and the one table of how each error leaves through each door.

use std::fmt;

use super::value::{Failure, FailureClass, Value};

/// The result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which a function can fail.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A code of the contract, which callers compare with: `duplicate-email`.
    Code(Code),
    /// There is no such thing; the contract answers `false`.
    NotFound,
    /// Refused, with a code of its own and a sentence for people.
    Refused {
        /// A stable code such as `security-error`.
        code: &'static str,
        /// Why, and what to do about it.
        message: String,
    },
    /// An argument of a kind that the function cannot use.
    Argument {
        /// The argument's name in the contract.
        name: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A required argument is missing.
    Missing {
        /// The argument's name in the contract.
        name: &'static str,
    },
    /// The database refused, or could not be reached.
    Database(DatabaseError),
    /// An outside service refused, or could not be reached.
    Provider(Box<ProviderError>),
    /// The library itself failed. Never expected; reported, never swallowed.
    Internal(String),
}

/// Codes that the contract returns as plain texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Code {
    ChatbotNotActive,
    ConversationNotFound,
    DuplicateEmail,
    EmptyMessage,
    InvalidAttachment,
    InvalidRating,
    InvalidStatusCode,
    InvalidUserType,
    MessageNotFound,
    TeamchatNotActive,
    UserNotFound,
}

impl Code {
    /// All codes: `sb_is_validation_error` knows them by their texts.
    pub const ALL: &[Self] = &[
        Self::ChatbotNotActive,
        Self::ConversationNotFound,
        Self::DuplicateEmail,
        Self::EmptyMessage,
        Self::InvalidAttachment,
        Self::InvalidRating,
        Self::InvalidStatusCode,
        Self::InvalidUserType,
        Self::MessageNotFound,
        Self::TeamchatNotActive,
        Self::UserNotFound,
    ];

    /// The text of the contract.
    pub const fn text(self) -> &'static str {
        match self {
            Self::ChatbotNotActive => "chatbot-not-active",
            Self::ConversationNotFound => "conversation-not-found",
            Self::DuplicateEmail => "duplicate-email",
            Self::EmptyMessage => "empty-message",
            Self::InvalidAttachment => "invalid-attachment",
            Self::InvalidRating => "invalid-rating",
            Self::InvalidStatusCode => "invalid-status-code",
            Self::InvalidUserType => "invalid-user-type",
            Self::MessageNotFound => "message-not-found",
            Self::TeamchatNotActive => "teamchat-not-active",
            Self::UserNotFound => "user-not-found",
        }
    }

    const fn http_status(self) -> u16 {
        match self {
            Self::ConversationNotFound | Self::MessageNotFound => 404,
            _ => 422,
        }
    }
}

/// What the database, or the way to it, answered.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseError {
    /// The server's error number; 2002, 2006 and 2013 as MySQL's own client numbers a failed connection.
    pub number: u16,
    /// The server's text. Never holds a password or a statement of ours.
    pub message: String,
    /// What is known of the statement.
    pub outcome: Outcome,
}

/// What the server says of a value that its column does not take: none, out of range, cut, of another kind, too long, or
/// with a letter that the column cannot hold, of which MariaDB says 1366 and MySQL also 3854 and 3988.
const OF_VALUES: [u16; 8] = [1048, 1264, 1265, 1292, 1366, 1406, 3854, 3988];

impl DatabaseError {
    /// Whether the server refused what was to be stored, and may take something else.
    pub fn refuses_a_value(&self) -> bool {
        self.outcome == Outcome::NotDone && OF_VALUES.contains(&self.number)
    }
}

/// What an outside service, or the way to it, answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderError {
    /// The service, by kind: `teamchat`.
    pub service: &'static str,
    /// For people: its text, or what failed on the way. Never holds a credential, nor of an address more than host and
    /// port.
    pub message: String,
    /// What is known of the request.
    pub outcome: Outcome,
    /// Its own error response, when it gave one: some functions return that as it is.
    pub response: Option<Value>,
}

/// What is known of a statement, or of a request to a service, that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It never reached a server: it may be sent again.
    NotSent,
    /// The server refused it: nothing of it is stored.
    NotDone,
    /// It may have been carried out: look before repeating.
    Unknown,
}

/// How an error leaves.
#[derive(Debug, Clone, PartialEq)]
pub enum Exit {
    /// As a plain value.
    Value(Value),
    /// As an error object.
    Object(Failure),
    /// As an exception: PHP's `TypeError`, `ArgumentCountError` or `Error`.
    Exception(Exception, Failure),
}

/// The class of an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    /// An argument of the wrong kind.
    Type,
    /// Too few arguments.
    ArgumentCount,
    /// A fault of the library.
    Error,
}

/// What a function gives when the database failed, or an outside service could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseErrorForm {
    /// An error object, so that it is never mistaken for "nothing found".
    Object,
    /// The text of the failure, as the contract says of user and conversation writes, and of messages to outside
    /// services ("SQL or cURL error message").
    Text,
}

/// What a function gives when an outside service failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderErrorForm {
    /// An error object; for a service that could not be reached as [`DatabaseErrorForm`] says.
    Object,
    /// The service's own error response as it came; the text of the failure when it gave none.
    AsItIs,
}

impl Error {
    /// The refusal for lack of rights.
    pub fn security(message: impl Into<String>) -> Self {
        Self::Refused {
            code: "security-error",
            message: message.into(),
        }
    }

    /// The refusal of a text that its column cannot hold whole.
    pub fn too_long(field: &str, limit: &str) -> Self {
        Self::Refused {
            code: "too-long",
            message: format!("{field} is longer than {limit}"),
        }
    }

    /// The refusal of what is no language code.
    pub fn invalid_language(code: &str) -> Self {
        Self::Refused {
            code: "invalid-language",
            message: format!("{code:?} is no language code such as de or pt-BR"),
        }
    }

    /// The refusal when the installation is not configured.
    pub fn configuration(message: impl Into<String>) -> Self {
        Self::Refused {
            code: "configuration",
            message: message.into(),
        }
    }

    /// The server's number, when the database failed.
    pub fn database_number(&self) -> Option<u16> {
        match self {
            Self::Database(error) => Some(error.number),
            _ => None,
        }
    }

    /// The same of a part of something, behind so many parts that were taken: what was done in part is not repeated.
    #[must_use]
    pub fn behind(self, parts: usize) -> Self {
        if parts > 0 {
            self.with_outcome(Outcome::Unknown)
        } else {
            self
        }
    }

    /// The same where something else is known of the request to an outside service.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        if let Self::Provider(error) = &mut self {
            error.outcome = outcome;
        }
        self
    }

    /// Whether it is unknown if a write was carried out.
    pub fn outcome_is_unknown(&self) -> bool {
        matches!(
            self,
            Self::Database(DatabaseError {
                outcome: Outcome::Unknown,
                ..
            })
        )
    }

    /// The stable code: what the HTTP API and `SBError::code()` show.
    pub fn code(&self) -> String {
        match self {
            Self::Code(code) => code.text().to_owned(),
            Self::NotFound => "not-found".to_owned(),
            Self::Refused { code, .. } => (*code).to_owned(),
            Self::Argument { .. } | Self::Missing { .. } => "argument-error".to_owned(),
            Self::Database(error) => format!("db-error-{}", error.number),
            Self::Provider(error) => format!("{}-error", error.service),
            Self::Internal(_) => "internal-error".to_owned(),
        }
    }

    /// The table: how this error leaves `function`.
    pub fn exit(self, function: &str, database: DatabaseErrorForm, provider: ProviderErrorForm) -> Exit {
        let failure = |error: &Self| Failure {
            class: FailureClass::Error,
            code: error.code(),
            function: function.to_owned(),
            message: error.to_string(),
        };
        match &self {
            Self::Code(code) => Exit::Value(Value::from(code.text())),
            Self::NotFound => Exit::Value(Value::Bool(false)),
            Self::Database(error) if database == DatabaseErrorForm::Text => {
                Exit::Value(Value::from(error.message.as_str()))
            }
            Self::Provider(error) => match (&error.response, database, provider) {
                (Some(response), _, ProviderErrorForm::AsItIs) => Exit::Value(response.clone()),
                (None, DatabaseErrorForm::Text, _) | (None, _, ProviderErrorForm::AsItIs) => {
                    Exit::Value(Value::from(error.message.as_str()))
                }
                _ => Exit::Object(failure(&self)),
            },
            Self::Refused { .. } | Self::Database(_) => Exit::Object(failure(&self)),
            Self::Argument { .. } => Exit::Exception(Exception::Type, failure(&self)),
            Self::Missing { .. } => Exit::Exception(Exception::ArgumentCount, failure(&self)),
            Self::Internal(_) => Exit::Exception(Exception::Error, failure(&self)),
        }
    }

    /// The table's other half: the status of an HTTP answer.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Code(code) => code.http_status(),
            Self::NotFound => 404,
            Self::Refused {
                code: "security-error", ..
            } => 403,
            Self::Refused {
                code: "configuration" | "upgrade-needed" | "file-error",
                ..
            }
            | Self::Internal(_) => 500,
            Self::Refused { .. } | Self::Argument { .. } | Self::Missing { .. } => 422,
            Self::Database(_) => 503,
            Self::Provider(_) => 502,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => f.write_str(code.text()),
            Self::NotFound => f.write_str("not found"),
            Self::Refused { message, .. } | Self::Internal(message) => f.write_str(message),
            Self::Argument { name, expected } => write!(f, "argument ${name} must be {expected}"),
            Self::Missing { name } => write!(f, "argument ${name} is missing"),
            Self::Database(error) => f.write_str(&error.message),
            Self::Provider(error) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<Code> for Error {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_by_server() -> Error {
        Error::Database(DatabaseError {
            number: 1146,
            message: "no table".into(),
            outcome: Outcome::NotDone,
        })
    }

    #[test]
    fn a_database_error_leaves_as_the_function_says() {
        assert_eq!(
            refused_by_server().exit("sb_send_message", DatabaseErrorForm::Text, ProviderErrorForm::AsItIs),
            Exit::Value("no table".into())
        );
        let exit = refused_by_server().exit("sb_get_user", DatabaseErrorForm::Object, ProviderErrorForm::AsItIs);
        let Exit::Object(failure) = exit else {
            panic!("not an object")
        };
        assert_eq!(
            (failure.code.as_str(), failure.function.as_str()),
            ("db-error-1146", "sb_get_user")
        );
    }

    #[test]
    fn an_outside_service_that_cannot_be_reached_leaves_as_the_function_says() {
        let error = |response| {
            Error::Provider(Box::new(ProviderError {
                service: "teamchat",
                message: "no answer".into(),
                outcome: Outcome::Unknown,
                response,
            }))
        };
        let unreachable = error(None);
        assert_eq!(
            (unreachable.code().as_str(), unreachable.http_status()),
            ("teamchat-error", 502)
        );
        assert_eq!(
            unreachable.exit(
                "sb_send_teamchat_message",
                DatabaseErrorForm::Text,
                ProviderErrorForm::Object
            ),
            Exit::Value("no answer".into())
        );
        for (response, value) in [(None, "no answer".into()), (Some(7.into()), Value::Int(7))] {
            let exit = error(response).exit("sb_send_sms", DatabaseErrorForm::Object, ProviderErrorForm::AsItIs);
            assert_eq!(exit, Exit::Value(value));
        }
        for (error, form) in [
            (error(None), DatabaseErrorForm::Object),
            (error(Some(Value::Bool(false))), DatabaseErrorForm::Text),
        ] {
            let Exit::Object(failure) = error.exit("sb_teamchat_users", form, ProviderErrorForm::Object) else {
                panic!("not an object")
            };
            assert_eq!(
                (failure.code.as_str(), failure.message.as_str()),
                ("teamchat-error", "no answer")
            );
        }
    }

    #[test]
    fn codes_are_values_and_wrong_arguments_are_exceptions() {
        let exit = |error: Error| error.exit("sb_x", DatabaseErrorForm::Object, ProviderErrorForm::Object);
        assert_eq!(exit(Code::DuplicateEmail.into()), Exit::Value("duplicate-email".into()));
        assert_eq!(exit(Error::NotFound), Exit::Value(false.into()));
        assert!(matches!(
            exit(Error::Argument {
                name: "a",
                expected: "b"
            }),
            Exit::Exception(Exception::Type, _)
        ));
        assert!(matches!(
            exit(Error::Missing { name: "a" }),
            Exit::Exception(Exception::ArgumentCount, _)
        ));
        assert!(matches!(
            exit(Error::Internal("x".into())),
            Exit::Exception(Exception::Error, _)
        ));
    }
}
