//! Where people find a conversation.

use super::attachments::is_link;

/// The address of a conversation with its parameters: staff answer where they work, at the address of the installation;
/// customers go back to the page with the chat, if it is known.
pub(super) fn conversation_link(installation: &str, is_staff: bool, page: Option<&str>, parameters: &str) -> String {
    let installation = installation.trim_end_matches('/');
    if is_staff {
        return format!("{installation}/admin.php{parameters}");
    }
    let page = page.filter(|page| is_link(page)).unwrap_or(installation);
    let page = page.split('#').next().unwrap_or_default();
    match parameters.strip_prefix('?') {
        Some(behind) if page.contains('?') => format!("{page}&{behind}"),
        _ => format!("{page}{parameters}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customers_go_back_to_their_page() {
        let link =
            |is_staff, page| conversation_link("https://support.example/chat/", is_staff, page, "?conversation=7");
        let page = "https://shop.example/cart#items";
        for (is_staff, page, expected) in [
            (
                true,
                Some(page),
                "https://support.example/chat/admin.php?conversation=7",
            ),
            (false, Some(page), "https://shop.example/cart?conversation=7"),
            (
                false,
                Some("https://a.example/?b=1"),
                "https://a.example/?b=1&conversation=7",
            ),
            (
                false,
                Some("javascript:alert(1)"),
                "https://support.example/chat?conversation=7",
            ),
            (false, None, "https://support.example/chat?conversation=7"),
        ] {
            assert_eq!(link(is_staff, page), expected);
        }
    }
}
