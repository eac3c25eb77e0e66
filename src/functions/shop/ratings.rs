//! Ratings.

use crate::contract::Value;
use crate::contract::args::Items;
use crate::contract::error::Result;

/// The average of the numbers, a whole one as such.
pub(super) fn average(Items(ratings): Items) -> Result<Value> {
    let numbers: Vec<f64> = ratings.iter().filter_map(number).collect();
    #[allow(clippy::cast_precision_loss)]
    let average = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    #[allow(clippy::cast_possible_truncation)]
    Ok(if average.fract() == 0.0 && average.abs() < 9e15 {
        Value::Int(average as i64)
    } else {
        Value::Float(average)
    })
}

fn number(rating: &Value) -> Option<f64> {
    let number = match rating {
        #[allow(clippy::cast_precision_loss)]
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Bytes(_) => rating.as_str()?.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
