//! The channels of the push service, and who hears what on them.

use crate::contract::ids::{ConversationId, UserId};

/// Where agents and admins are, who hear of everything.
pub(super) const AGENTS: &str = "presence-agents";

/// Where everyone else is.
pub(super) const USERS: &str = "presence-users";

const USER: &str = "private-user-";
const CONVERSATION: &str = "private-conversation-";

/// A channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// Of what happens in the conversations of a user.
    User(UserId),
    /// Of what happens in a conversation.
    Conversation(ConversationId),
    /// [`AGENTS`].
    Agents,
    /// [`USERS`].
    Users,
}

impl Channel {
    /// Reads a name as [`Channel::name`] writes it.
    pub(super) fn read(name: &str) -> Option<Self> {
        let id = |beginning: &str| name.strip_prefix(beginning)?.parse::<u32>().ok();
        let channel = match name {
            AGENTS => Some(Self::Agents),
            USERS => Some(Self::Users),
            _ => id(USER)
                .map(|id| Self::User(id.into()))
                .or_else(|| id(CONVERSATION).map(|id| Self::Conversation(id.into()))),
        };
        // A number may be written in several ways, and each would be a channel of its own.
        channel.filter(|channel| channel.name() == name)
    }

    /// Its name.
    pub(super) fn name(self) -> String {
        match self {
            Self::User(id) => format!("{USER}{}", id.number()),
            Self::Conversation(id) => format!("{CONVERSATION}{}", id.number()),
            Self::Agents => AGENTS.to_owned(),
            Self::Users => USERS.to_owned(),
        }
    }

    /// Whether those who are on it are seen.
    pub(super) const fn has_members(self) -> bool {
        matches!(self, Self::Agents | Self::Users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_has_one_name() {
        for (name, channel) in [
            ("private-user-3", Channel::User(3.into())),
            ("private-conversation-12", Channel::Conversation(12.into())),
            ("presence-agents", Channel::Agents),
            ("presence-users", Channel::Users),
        ] {
            assert_eq!(Channel::read(name), Some(channel));
            assert_eq!(channel.name(), name);
        }
        for name in [
            "",
            "private-user-",
            "private-user-03",
            "private-user-+3",
            "private-user--3",
            "private-user-3 ",
            "private-user-3:x",
            "private-user-99999999999",
            "private-conversation-1,2",
            "presence-agents ",
            "Presence-agents",
            "user-3",
            "' OR 1=1",
        ] {
            assert_eq!(Channel::read(name), None, "{name}");
        }
    }
}
