//! The HTTP API for `include/api.php`.

use ext_php_rs::prelude::*;
use ext_php_rs::types::Zval;
use ext_php_rs::zend::BailoutGuard;
use sb::contract::Result;
use sb::contract::value::Value;
use sb::doors::api::{self, Answer};

use crate::dispatch::{ENGINE, REQUEST};
use crate::host::Php;
use crate::zval;

#[allow(clippy::cast_possible_wrap, reason = "it is a mebibyte")]
const LIMIT: i64 = api::BODY_LIMIT as i64;

/// Answers requests of the HTTP API. What is asked is read from $_SERVER.
#[php_class]
#[php(name = "SBApi")]
pub struct SBApi;

#[php_impl]
#[php(change_method_case = "none")]
impl SBApi {
    /// The longest body of a request in bytes; of a longer one give at least one byte more.
    const BODY_LIMIT: i64 = LIMIT;

    /// Answers the present request, whose body is given: the status, the headers as lines, the body, and what is for the
    /// log, or null.
    pub fn answer(body: &Zval) -> Zval {
        let body = body.zend_str().map_or(&[][..], |text| text.as_bytes());
        let answer = answer(body).unwrap_or_else(|error| Answer {
            failure: Some(error.to_string()),
            ..Answer::empty(500)
        });
        let headers = answer
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}").into());
        let parts = Value::List(vec![
            Value::Int(answer.status.into()),
            Value::List(headers.collect()),
            answer.body.into(),
            answer.failure.map_or(Value::Null, Value::from),
        ]);
        let mut result = Zval::new();
        // PHP ends the request when it runs out of memory: the guard then frees what the core made.
        zval::write(&BailoutGuard::new(parts), &mut result);
        result
    }
}

fn answer(body: &[u8]) -> Result<Answer> {
    ENGINE.with(|engine| {
        REQUEST.with_borrow(|request| engine.run(async |process| Ok(api::answer(process, &Php, request, body).await)))
    })
}
