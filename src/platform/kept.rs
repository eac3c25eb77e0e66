//! What outside services gave for a while, such as access tokens: kept by the process until it ends.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use secrecy::SecretString;

/// Texts by their names, each for its time.
#[derive(Default)]
pub struct Kept(RefCell<HashMap<String, (SecretString, Instant)>>);

impl Kept {
    /// The text of a name while its time lasts.
    pub fn get(&self, name: &str) -> Option<SecretString> {
        let texts = self.0.borrow();
        let (text, end) = texts.get(name)?;
        (Instant::now() < *end).then(|| text.clone())
    }

    /// Keeps a text for a while, in place of the one that had its name. What has ended goes.
    pub fn keep(&self, name: String, text: SecretString, time: Duration) {
        let mut texts = self.0.borrow_mut();
        let now = Instant::now();
        texts.retain(|_, (_, end)| now < *end);
        if let Some(end) = now.checked_add(time) {
            texts.insert(name, (text, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_text_is_there_for_its_time() {
        let kept = Kept::default();
        let get = |name| kept.get(name).map(|text| text.expose_secret().to_owned());
        kept.keep("a".into(), "1".into(), Duration::from_mins(1));
        kept.keep("b".into(), "2".into(), Duration::ZERO);
        assert_eq!((get("a"), get("b"), get("c")), (Some("1".into()), None, None));
        kept.keep("a".into(), "3".into(), Duration::from_mins(1));
        assert_eq!(get("a"), Some("3".into()));
        assert_eq!(kept.0.borrow().len(), 1);
    }
}
