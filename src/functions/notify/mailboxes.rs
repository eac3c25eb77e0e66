//! The mailboxes that answers come to: the setting `email-piping` in both of its forms.

use crate::contract::args::{Argument, Department};
use crate::contract::{Key, Map, Value};
use crate::platform::settings::Settings;
use crate::providers::mailbox::Account;

/// A mailbox of the settings that is switched on.
#[derive(Debug, Clone)]
pub(crate) struct Mailbox {
    pub(crate) account: Account,
    /// The department that new conversations go to.
    pub(crate) department: Option<u8>,
    /// What e-mails that can be answered begin with.
    pub(crate) delimiter: Option<String>,
    /// Whether e-mails of strangers are taken in.
    pub(crate) takes_all: bool,
    /// Whether it is fetched with what is done by itself.
    pub(crate) is_for_cron: bool,
}

impl Mailbox {
    /// Who logs in: mostly its address.
    pub(crate) fn user(&self) -> &str {
        &self.account.user
    }
}

/// What e-mails begin with when the setting is a mere checkbox.
pub(crate) const DELIMITER: &str = "### Please type your reply above this line ###";

/// The mailboxes that are switched on: a multi-input describes one, a repeater several.
pub(crate) fn mailboxes(settings: &Settings) -> Vec<Mailbox> {
    let described = match settings.value("email-piping") {
        Some(Value::List(items)) => items,
        Some(map @ Value::Map(_)) => vec![map],
        // Children that stand on their own.
        _ => {
            let children = [
                "active",
                "host",
                "user",
                "password",
                "port",
                "delimiter",
                "all",
                "disable-cron",
                "department",
            ];
            let children = children.iter().filter_map(|child| {
                let id = format!("email-piping-{child}");
                let value = settings.value(&id)?;
                Some((Key::from(id), value))
            });
            vec![Value::Map(children.collect())]
        }
    };
    described
        .into_iter()
        .filter_map(Map::from_value)
        .filter_map(|map| read(&map))
        .collect()
}

fn read(map: &Map) -> Option<Mailbox> {
    let value = |child: &str| map.get(&Key::from(format!("email-piping-{child}"))).cloned();
    let text = |child| {
        let text = value(child).and_then(String::from_value)?.trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    };
    let is_on = |child| value(child).and_then(bool::from_value).unwrap_or(false);
    if !is_on("active") {
        return None;
    }
    // Without these nobody can read what comes.
    let account = Account {
        host: text("host")?,
        port: value("port")
            .and_then(Option::<i64>::from_value)
            .flatten()
            .and_then(|port| u16::try_from(port).ok()),
        user: text("user")?,
        password: text("password")?.into(),
    };
    Some(Mailbox {
        account,
        department: value("department").and_then(department),
        delimiter: is_on("delimiter").then(|| match text("delimiter").as_deref() {
            None | Some("1" | "true" | "on") => DELIMITER.to_owned(),
            Some(text) => text.to_owned(),
        }),
        takes_all: is_on("all"),
        is_for_cron: !is_on("disable-cron"),
    })
}

/// A department; what is none is no reason to leave e-mails unread.
fn department(value: Value) -> Option<u8> {
    Department::from_value(value)?.fitting().ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::settings::Cache;

    fn read(text: &str) -> Vec<Mailbox> {
        mailboxes(&Cache::default().parse(text.as_bytes().to_vec()))
    }

    #[test]
    fn a_multi_input_is_one_mailbox_and_a_repeater_several() {
        let one = r#"{"email-piping":[{"email-piping-active":[true,"checkbox"],"email-piping-host":["mail.example","text"],
            "email-piping-user":["support@mail.example","text"],"email-piping-password":["secret","password"],
            "email-piping-port":["110","number"],"email-piping-delimiter":[true,"checkbox"],"email-piping-all":[false,"checkbox"],
            "email-piping-disable-cron":[true,"checkbox"],"email-piping-department":["2","select"]},"multi-input"]}"#;
        let [mailbox] = &read(one)[..] else { panic!("not one") };
        assert_eq!(
            (mailbox.user(), mailbox.account.port, mailbox.department),
            ("support@mail.example", Some(110), Some(2))
        );
        assert!(!mailbox.takes_all && !mailbox.is_for_cron);
        assert_eq!(mailbox.delimiter.as_deref(), Some(DELIMITER));
        let several = r#"{"email-piping":[[
            {"email-piping-active":true,"email-piping-host":"a","email-piping-user":"b","email-piping-password":"c",
                "email-piping-port":"143","email-piping-all":"true","email-piping-department":"","email-piping-sync":"x"},
            {"email-piping-active":"","email-piping-host":"a","email-piping-user":"b","email-piping-password":"c"},
            {"email-piping-active":"1","email-piping-host":"d","email-piping-user":"e","email-piping-password":"f",
                "email-piping-delimiter":"-- reply above --"}
        ],"repeater"]}"#;
        let [first, second] = &read(several)[..] else {
            panic!("not two")
        };
        assert!(first.department.is_none() && first.delimiter.is_none());
        assert!(first.takes_all && first.is_for_cron);
        assert_eq!((second.user(), second.account.port), ("e", None));
        assert_eq!(second.delimiter.as_deref(), Some("-- reply above --"));
    }

    #[test]
    fn what_is_switched_off_or_not_complete_is_none() {
        for text in [
            "{}",
            r#"{"email-piping":[false,"checkbox"]}"#,
            r#"{"email-piping":[[],"repeater"]}"#,
            r#"{"email-piping":["x","text"]}"#,
            r#"{"email-piping":[{"email-piping-active":[true,"checkbox"],"email-piping-host":["","text"]},"multi-input"]}"#,
            r#"{"email-piping":[[{"email-piping-active":true,"email-piping-host":"a","email-piping-user":"b"}],"repeater"]}"#,
        ] {
            assert_eq!(read(text).len(), 0, "{text}");
        }
    }
}
