//! The closed sets of the contract: status codes and user types.

use super::value::Value;

/// The state of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ConversationStatus {
    /// Live.
    Live = 0,
    /// Waiting for the user's answer.
    WaitingForUser = 1,
    /// Waiting for an agent's answer.
    WaitingForAgent = 2,
    /// Archived.
    Archive = 3,
    /// In the trash.
    Trash = 4,
}

impl ConversationStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Live,
        Self::WaitingForUser,
        Self::WaitingForAgent,
        Self::Archive,
        Self::Trash,
    ];

    /// The code in the database.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl TryFrom<i64> for ConversationStatus {
    type Error = ();

    fn try_from(code: i64) -> Result<Self, ()> {
        let mut all = Self::ALL.into_iter();
        all.find(|status| i64::from(status.code()) == code).ok_or(())
    }
}

/// The type of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserType {
    /// Someone on the page, unknown.
    Visitor,
    /// Someone who left an e-mail or a phone number.
    Lead,
    /// Someone who registered.
    User,
    /// Someone who answers.
    Agent,
    /// An agent who may change everything.
    Admin,
    /// The automatic answerer.
    Bot,
}

impl UserType {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Visitor,
        Self::Lead,
        Self::User,
        Self::Agent,
        Self::Admin,
        Self::Bot,
    ];

    /// The text in the database.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Visitor => "visitor",
            Self::Lead => "lead",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Admin => "admin",
            Self::Bot => "bot",
        }
    }

    /// Whether it is someone who answers for the company: agent or admin.
    pub const fn is_staff(self) -> bool {
        matches!(self, Self::Agent | Self::Admin)
    }

    /// Whether it is someone who asks: visitor, lead or user.
    pub const fn is_customer(self) -> bool {
        matches!(self, Self::Visitor | Self::Lead | Self::User)
    }
}

impl std::str::FromStr for UserType {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut all = Self::ALL.into_iter();
        all.find(|user_type| user_type.text() == text).ok_or(())
    }
}

/// A column by which a list of users can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum UserColumn {
    FirstName,
    LastName,
    Email,
    ProfileImage,
    UserType,
    CreationTime,
    LastActivity,
    Department,
}

impl UserColumn {
    /// The column's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstName => "first_name",
            Self::LastName => "last_name",
            Self::Email => "email",
            Self::ProfileImage => "profile_image",
            Self::UserType => "user_type",
            Self::CreationTime => "creation_time",
            Self::LastActivity => "last_activity",
            Self::Department => "department",
        }
    }
}

impl std::str::FromStr for UserColumn {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [
            Self::FirstName,
            Self::LastName,
            Self::Email,
            Self::ProfileImage,
            Self::UserType,
            Self::CreationTime,
            Self::LastActivity,
            Self::Department,
        ]
        .into_iter()
        .find(|column| column.name() == text)
        .ok_or(())
    }
}

impl From<UserType> for Value {
    fn from(user_type: UserType) -> Self {
        Self::from(user_type.text())
    }
}
