//! Section "Settings, articles, automations and utilities": automations, which act on their own when their conditions
//! hold.

mod absent;
mod conditions;
mod fields;
mod period;
mod running;
mod stored;

pub(crate) use absent::automations_run_for_absent;
pub(crate) use running::automations_run_all;

use crate::contract::Map;
use crate::functions;

functions! {
    /// Returns all automations and their translations.
    async fn sb_automations_get() -> "array{array<string, list<Automation>>, array<string, array<string, list<Automation>>>}|SBError"
        => stored::automations_get;

    /// Saves automations. Either all of it is stored or nothing.
    ///
    /// @param $automations map of group (emails, sms, messages, popups, design) to the list of its automations, which takes
    ///     the place of all there are in that group; one without an id gets one; groups that are not given stay
    /// @param $translations map of language code to map of group to list of automations with the ids of their originals;
    ///     languages that are not given stay
    /// @errors SBError security-error, invalid-language
    async fn sb_automations_save(automations: Option<Map>, translations: Map = []) -> "true|SBError"
        => stored::automations_save, protected;

    /// Judges the conditions of an automation for the active user, now.
    ///
    /// repeat_id names what happens once: the automation's id, behind it the period when it comes again.
    ///
    /// @param $automation the automation
    /// @return the conditions that do not hold yet, and those that only the browser can judge: browsing_time,
    ///     scroll_position, referring, and the pages when the user has no current_url; false when one of them can never
    ///     hold for this user
    async fn sb_automations_validate(automation: Map) -> "array{conditions: list<list<mixed>>, repeat_id: string}|false|SBError"
        => running::automations_validate;

    /// Runs the automations of the active user whose conditions hold: sends their e-mails, text messages and chat
    /// messages, in the user's language where they are translated.
    ///
    /// Each runs once for each user, or once in each period when it comes again, on however many servers. E-mails and text
    /// messages go through the outbox. In titles, subjects and messages {user_name}, {user_email}, {first_name},
    /// {last_name} and the user's details, {city}, are filled in; a field that nobody knows stays as it is. E-mails and
    /// text messages that are due at a time (datetime, birthdate) reach users who are away too: see sb_cron_jobs.
    ///
    /// @return the automations with conditions that do not hold yet or that only the browser can judge, which are then
    ///     their only conditions, and all popups and designs that can be shown, each with its group as type
    async fn sb_automations_run_all() -> "list<Automation>|SBError" => running::automations_run_all;

    /// Runs an automation for the active user.
    ///
    /// @param $automation the automation; its type is its group, and is looked up by the id when it is missing
    /// @param $validate true to judge its conditions before, except those that only the browser can judge
    /// @return false when it has run already, when its conditions do not hold, when nobody is active, or when the user has
    ///     no e-mail address or phone number for it
    /// @errors empty-message; SBError too-long
    async fn sb_automations_run(automation: Map, validate: bool = false) -> "bool|'empty-message'|SBError"
        => running::automations_run;
}

/// What an automation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// It sends an e-mail.
    Emails,
    /// It sends a text message.
    Sms,
    /// It writes a message in the chat.
    Messages,
    /// It opens the popup of the chat.
    Popups,
    /// It changes how the chat looks.
    Design,
}

impl Group {
    /// All groups, in the order of the contract.
    const ALL: [Self; 5] = [Self::Emails, Self::Sms, Self::Messages, Self::Popups, Self::Design];

    const fn name(self) -> &'static str {
        match self {
            Self::Emails => "emails",
            Self::Sms => "sms",
            Self::Messages => "messages",
            Self::Popups => "popups",
            Self::Design => "design",
        }
    }

    /// The row of its automations.
    fn row(self) -> String {
        format!("{}{}", stored::ROWS, self.name())
    }
}
