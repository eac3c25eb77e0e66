//! The records of the contract by their names, as the result types of the catalog use them.
//!
//! For stubs and documentation: which columns fill a record is known to the platform, and a test holds both together.

/// A record.
pub struct Shape {
    /// Its name in result types: `Message`.
    pub name: &'static str,
    /// What it is, in a line.
    pub doc: &'static str,
    /// The record that it begins with.
    pub base: Option<&'static str>,
    /// Its fields, behind those of its base.
    pub fields: &'static [Field],
}

/// A field of a record.
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// Its type in PHPStan's notation.
    pub php_type: &'static str,
    /// What it holds, where the name does not say it.
    pub doc: &'static str,
}

const fn field(name: &'static str, php_type: &'static str, doc: &'static str) -> Field {
    Field { name, php_type, doc }
}

const USER_TYPES: &str = "'visitor'|'lead'|'user'|'agent'|'admin'|'bot'";
const UTC: &str = "YYYY-MM-DD HH:MM:SS, UTC";

/// Every record.
pub static SHAPES: [Shape; 12] = [
    Shape {
        name: "User",
        doc: "A user: visitor, lead, user, agent or admin.",
        base: None,
        fields: &[
            field("id", "string", ""),
            field("first_name", "string", ""),
            field("last_name", "string", ""),
            field("email", "string|null", ""),
            field("profile_image", "string|null", "URL"),
            field("user_type", USER_TYPES, ""),
            field("creation_time", "string", UTC),
            field("last_activity", "string|null", UTC),
            field("department", "string|null", "1 to 127"),
            field("token", "string", "secret: whoever has it and the id can log in"),
        ],
    },
    Shape {
        name: "FullUser",
        doc: "A user with everything that is known of it.",
        base: Some("User"),
        fields: &[
            field("password", "''", "never leaves the database"),
            field("details?", "list<Detail>", "when they were asked for"),
        ],
    },
    Shape {
        name: "LoginRecord",
        doc: "The active user, as the login data keeps it.",
        base: None,
        fields: &[
            field("id", "string", ""),
            field("profile_image", "string|null", "URL"),
            field("first_name", "string", ""),
            field("last_name", "string", ""),
            field("email", "string|null", ""),
            field("user_type", USER_TYPES, ""),
            field("token", "string", "secret: whoever has it and the id can log in"),
        ],
    },
    Shape {
        name: "Detail",
        doc: "An extra detail of a user.",
        base: None,
        fields: &[
            field(
                "slug",
                "string",
                "phone, city, language, country, birthday, company … or one of your own",
            ),
            field("name", "string", "for people: Phone"),
            field("value", "string", ""),
        ],
    },
    Shape {
        name: "ConversationDetails",
        doc: "A conversation and whose it is.",
        base: None,
        fields: &[
            field("id", "string", ""),
            field("user_id", "string", "the user it belongs to, as the next four fields"),
            field("first_name", "string", ""),
            field("last_name", "string", ""),
            field("profile_image", "string|null", "URL"),
            field("user_type", USER_TYPES, ""),
            field("title", "string", "empty for none"),
            field("conversation_time", "string", UTC),
            field(
                "conversation_status_code",
                "string",
                "0 live, 1 waiting for the user, 2 waiting for an agent, 3 archive, 4 trash",
            ),
            field("department", "string|null", "1 to 127"),
        ],
    },
    Shape {
        name: "Message",
        doc: "A message and who wrote it.",
        base: None,
        fields: &[
            field("id", "string", ""),
            field("user_id", "string", "the author, as the last four fields"),
            field("message", "string", "empty when it was deleted or has attachments only"),
            field("creation_time", "string", UTC),
            field("attachments", "list<array{string, string}>|''", "name and link of each"),
            field("status_code", "string", "0 sent, 2 read by the other side"),
            field(
                "payload",
                "array<array-key, mixed>|''",
                "its key event may be delete-message or open-chat",
            ),
            field("conversation_id", "string", ""),
            field("first_name", "string", ""),
            field("last_name", "string", ""),
            field("profile_image", "string|null", "URL"),
            field("user_type", USER_TYPES, ""),
        ],
    },
    Shape {
        name: "ConversationItem",
        doc: "A conversation in a list: its last message, and its state.",
        base: Some("Message"),
        fields: &[
            field(
                "conversation_status_code",
                "string",
                "0 live, 1 waiting for the user, 2 waiting for an agent, 3 archive, 4 trash",
            ),
            field(
                "message_user_type?",
                USER_TYPES,
                "of the author, in lists whose other user fields are those of the conversation's user",
            ),
        ],
    },
    Shape {
        name: "Note",
        doc: "An internal note of a conversation.",
        base: None,
        fields: &[
            field("id", "int", ""),
            field("user_id", "string", "the agent or admin who wrote it"),
            field("name", "string", "of the author"),
            field("message", "string", ""),
        ],
    },
    Shape {
        name: "Translations",
        doc: "A language: each of its maps has the text as key and the translation as value.",
        base: None,
        fields: &[
            field("name", "string", "of the language, in English"),
            field("front", "array<string, string>", "the chat"),
            field("admin", "array<string, string>", "the pages of agents and admins"),
            field("admin/js", "array<string, string>", "their scripts"),
            field("admin/settings", "array<string, string>", "the page of the settings"),
        ],
    },
    Shape {
        name: "Article",
        doc: "An article of the knowledge base.",
        base: None,
        fields: &[
            field("id", "string", ""),
            field("title", "string", ""),
            field("content", "string", "HTML, or in lists the beginning of its text"),
            field("link", "string", "URL"),
            field("categories", "list<string>", "ids of categories"),
            field(
                "language?",
                "string",
                "where every language is asked for; empty for an original",
            ),
            field("parent_id?", "string", "likewise, the id of its original"),
        ],
    },
    Shape {
        name: "Automation",
        doc: "An automation. A translation has no conditions.",
        base: None,
        fields: &[
            field("id", "string", ""),
            field("conditions?", "list<list<mixed>>", "name, operator and value of each"),
            field("name?", "string", ""),
            field("message?", "string", ""),
            field(
                "type?",
                "string",
                "the group, where automations of several are in one list",
            ),
            field("subject?", "string", "of an e-mail"),
            field("title?", "string", "of a popup or design"),
            field("profile_image?", "string", "of a popup"),
            field("color_1?", "string", "of a design, as the next five"),
            field("color_2?", "string", ""),
            field("color_3?", "string", ""),
            field("background?", "string", ""),
            field("brand?", "string", ""),
            field("icon?", "string", ""),
        ],
    },
    Shape {
        name: "ArticleCategory",
        doc: "A category of articles.",
        base: None,
        fields: &[field("id", "string", ""), field("title", "string", "")],
    },
];

/// The record of that name.
pub fn find(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

impl Shape {
    /// All its fields, in order.
    pub fn all_fields(&self) -> impl Iterator<Item = &'static Field> {
        let of_base = self.base.and_then(find).map_or(&[][..], |base| base.fields);
        of_base.iter().chain(self.fields)
    }

    /// It as an array shape, with the names of other records as they are.
    pub fn php_type(&self) -> String {
        let fields: Vec<String> = self
            .all_fields()
            .map(|field| {
                // PHPStan reads a key that is no word in quotes only.
                let quote = if field.name.contains('/') { "'" } else { "" };
                format!("{quote}{}{quote}: {}", field.name, field.php_type)
            })
            .collect();
        format!("array{{{}}}", fields.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stands_once_and_builds_on_one_that_stands_by_itself() {
        for (at, shape) in SHAPES.iter().enumerate() {
            assert!(SHAPES[..at].iter().all(|earlier| earlier.name != shape.name));
            if let Some(base) = shape.base {
                assert!(find(base).unwrap().base.is_none(), "{}", shape.name);
            }
        }
        assert_eq!(find("FullUser").unwrap().all_fields().count(), 12);
        assert_eq!(
            find("Detail").unwrap().php_type(),
            "array{slug: string, name: string, value: string}"
        );
    }
}
