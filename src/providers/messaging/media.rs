//! Files of messages: what they are, and what is in them where a platform wants that rather than a link.

use infer::MatcherType;

use super::File;
use crate::platform::Context;
use crate::platform::http::web::{Method, Request};

/// What a file is, as far as platforms tell files apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Image,
    Video,
    Audio,
    Other,
}

/// An image with what is in it.
pub(super) struct Image {
    pub(super) name: String,
    pub(super) content: Vec<u8>,
    pub(super) media_type: &'static str,
}

impl Kind {
    pub(super) fn of(link: &str) -> Self {
        match extension(link).as_deref() {
            Some("jpg" | "jpeg" | "png" | "gif" | "webp") => Self::Image,
            Some("mp4" | "3gp" | "mov" | "webm") => Self::Video,
            Some("mp3" | "ogg" | "aac" | "amr" | "m4a" | "wav") => Self::Audio,
            _ => Self::Other,
        }
    }

    pub(super) const fn text(self, other: &'static str) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Other => other,
        }
    }
}

/// The extension of a file's name in a link, in lower case.
pub(super) fn extension(link: &str) -> Option<String> {
    let path = link.split(['?', '#']).next().unwrap_or_default();
    let (_, path) = path.split_once("://").unwrap_or(("", path));
    let (_, name) = path.rsplit_once('/')?;
    let (_, extension) = name.rsplit_once('.')?;
    Some(extension.to_ascii_lowercase())
}

impl File {
    /// What is in it when it is an image of these types and no larger than `limit`: out of the uploads, or from where it
    /// lies in the public internet.
    pub(super) async fn image(&self, cx: &Context<'_>, types: &[&str], limit: usize) -> Option<Image> {
        if Kind::of(&self.link) != Kind::Image {
            return None;
        }
        let content = self.content(cx, limit).await?;
        let kind = infer::get(&content).filter(|kind| kind.matcher_type() == MatcherType::Image)?;
        let media_type = kind.mime_type();
        (content.len() <= limit && types.contains(&media_type)).then(|| Image {
            name: format!("image.{}", kind.extension()),
            content,
            media_type,
        })
    }

    async fn content(&self, cx: &Context<'_>, limit: usize) -> Option<Vec<u8>> {
        if let Ok(uploads) = cx.uploads()
            && let Some(path) = uploads.path_of(&self.link)
        {
            let (folder, name) = uploads.locate(&path).ok()?;
            return folder.read(name, u64::try_from(limit).ok()?).ok()?;
        }
        let request = Request::new(Method::GET, &self.link).ok()?;
        let page = cx.fetch(request).await.ok()?;
        (200..300).contains(&page.status).then_some(page.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_says() {
        for (link, kind) in [
            ("https://a.example/b.PNG?c=d.mp4", Kind::Image),
            ("https://a.example/b.mp4#t", Kind::Video),
            ("https://a.example/b.ogg", Kind::Audio),
            ("https://a.example/b.pdf", Kind::Other),
            ("https://a.example/b", Kind::Other),
            ("https://a.png", Kind::Other),
        ] {
            assert_eq!(Kind::of(link), kind, "{link}");
        }
    }
}
