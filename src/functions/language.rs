//! Section "Language and translations".

use std::rc::Rc;

use crate::contract::args::Given;
use crate::contract::error::{Error, Result};
use crate::contract::ids::UserId;
use crate::contract::language::Language;
use crate::contract::status::UserType;
use crate::contract::{Argument, Key, Map, Value, json};
use crate::platform::Context;
use crate::platform::context::Request;
use crate::platform::crypto;
use crate::platform::host::Host;
use crate::platform::languages::{Area, Dictionary, Languages};
use crate::{functions, params};

functions! {
    /// Translates a text to the language of the active user.
    ///
    /// Agents and admins get the translations of the admin area, when the setting admin-auto-translations is on, and
    /// everyone else those of the chat, when front-auto-translations is.
    ///
    /// @param $string the text
    /// @return the text itself when it is not translated, or nothing can be read
    async fn sb_(string: String) -> "string" => [known_translation] translate;

    /// Translates a text as sb_ does, and prints it.
    ///
    /// @param $string the text
    async fn sb_e(string: String) -> "null" => [known_print] print;

    /// Returns all translations: what include/languages holds.
    ///
    /// @return map of language code to its name and its four maps of text to translation
    async fn sb_get_translations() -> "array<string, Translations>|SBError" => get_translations;

    /// Returns the translations of one language.
    ///
    /// @param $language its code; not given: the language of the active user
    /// @return false when the language has no file
    async fn sb_get_translation(language: Option<String> = false) -> "Translations|false|SBError" => get_translation;

    /// Saves translations: the files of the languages and areas that are given are replaced, others stay.
    ///
    /// All translations as they were before are written to the folder uploads first, at each call.
    ///
    /// @param $translations map of language code to translations, as from sb_get_translations
    /// @errors SBError security-error, invalid-language, file-error; nothing is saved then
    async fn sb_save_translations(translations: Map) -> "true|SBError" => save_translations, protected;

    /// Returns the language of a user.
    ///
    /// @param $user_id the user; not given: the active user
    /// @return the code of the detail language, else of browser_language, else of the browser of this request, else en
    async fn sb_get_user_language(user_id: Option<UserId> = false) -> "string|SBError" => get_user_language;

    /// Returns the language of the admin area.
    ///
    /// @param $user_id the agent or admin; not given: the active user
    /// @return the code as of sb_get_user_language; en without the setting admin-auto-translations
    async fn sb_get_admin_language(user_id: Option<UserId> = false) -> "string|SBError" => get_admin_language;
}

const LANGUAGE_DETAILS: &str = "
    SELECT value
    FROM sb_users_data
    WHERE user_id = ? AND slug IN ('language', 'browser_language')
    ORDER BY slug = 'language' DESC";

fn known_translation(host: &dyn Host, request: &Request, arguments: &[Given]) -> Option<Value> {
    let [Given::Value(Value::Bytes(text)), ..] = arguments else {
        return None;
    };
    let dictionaries = request.known_dictionaries(host)?;
    // A text that is not UTF-8 is mended on the longer way.
    std::str::from_utf8(text).ok()?;
    Some(found(&dictionaries, text).unwrap_or(text).to_vec().into())
}

fn known_print(host: &dyn Host, request: &Request, arguments: &[Given]) -> Option<Value> {
    let translated = known_translation(host, request, arguments)?;
    host.print(translated.as_str()?.to_owned());
    Some(Value::Null)
}

fn found<'a>(dictionaries: &'a [Rc<Dictionary>], text: &[u8]) -> Option<&'a [u8]> {
    let translations = dictionaries.iter().find_map(|dictionary| dictionary.get(text));
    translations.map(Vec::as_slice)
}

async fn translate(cx: &Context<'_>, string: String) -> Result<String> {
    // Of a page whose labels cannot be translated the labels are still wanted.
    let dictionaries = dictionaries(cx).await.unwrap_or_else(|_| Rc::default());
    let translation = found(&dictionaries, string.as_bytes()).and_then(|text| std::str::from_utf8(text).ok());
    Ok(translation.map_or_else(|| string.clone(), str::to_owned))
}

async fn print(cx: &Context<'_>, string: String) -> Result<Value> {
    let text = translate(cx, string).await?;
    cx.host().print(text);
    Ok(Value::Null)
}

/// The dictionaries for the active user, the nearest first.
async fn dictionaries(cx: &Context<'_>) -> Result<Rc<[Rc<Dictionary>]>> {
    // Before what is known: a login cookie may make someone active.
    let user = cx.active_user().await?;
    if let Some(known) = cx.known_dictionaries() {
        return Ok(known);
    }
    let is_staff = user
        .as_ref()
        .and_then(|user| user.user_type)
        .is_some_and(UserType::is_staff);
    let (setting, areas): (_, &[Area]) = if is_staff {
        ("admin-auto-translations", &[Area::Admin, Area::Front])
    } else {
        ("front-auto-translations", &[Area::Front])
    };
    let mut found = Vec::new();
    if cx.settings().await?.is_on(setting)
        && let Some(languages) = cx.languages()?
    {
        let language = match user {
            Some(user) => stored_language(cx, user.id).await?,
            None => None,
        };
        let language = language
            .or_else(|| cx.browser_language())
            .unwrap_or_else(Language::default);
        for language in language.with_primary() {
            for area in areas {
                found.extend(languages.dictionary(*area, &language)?);
            }
        }
    }
    let found = Rc::from(found);
    cx.choose_dictionaries(Rc::clone(&found));
    Ok(found)
}

/// The language that is known of a user.
pub(super) async fn stored_language(cx: &Context<'_>, user: UserId) -> Result<Option<Language>> {
    let details: Vec<(String,)> = cx.database()?.rows(LANGUAGE_DETAILS, params![user]).await?;
    Ok(details.iter().find_map(|(code,)| Language::read(code)))
}

/// The language of a user, or of the active one, else of the browser.
pub(super) async fn language_of(cx: &Context<'_>, user: Option<UserId>) -> Result<Language> {
    let user = match user {
        Some(user) => Some(user),
        None => cx.active_user().await?.map(|user| user.id),
    };
    let stored = match user {
        Some(user) => stored_language(cx, user).await?,
        None => None,
    };
    Ok(stored
        .or_else(|| cx.browser_language())
        .unwrap_or_else(Language::default))
}

async fn get_user_language(cx: &Context<'_>, user_id: Option<UserId>) -> Result<String> {
    let language = language_of(cx, user_id).await?;
    Ok(language.primary().code().to_owned())
}

async fn get_admin_language(cx: &Context<'_>, user_id: Option<UserId>) -> Result<String> {
    if cx.settings().await?.is_on("admin-auto-translations") {
        get_user_language(cx, user_id).await
    } else {
        Ok(Language::DEFAULT.to_owned())
    }
}

async fn get_translations(cx: &Context<'_>) -> Result<Map> {
    all(&installed(cx)?)
}

async fn get_translation(cx: &Context<'_>, language: Option<String>) -> Result<Option<Value>> {
    let languages = installed(cx)?;
    if let Some(code) = language {
        return Language::exact(&code).map_or(Ok(None), |language| one(&languages, &language));
    }
    let nearest = language_of(cx, None).await?.with_primary();
    let mut found = nearest
        .iter()
        .filter_map(|language| one(&languages, language).transpose());
    found.next().transpose()
}

async fn save_translations(cx: &Context<'_>, translations: Map) -> Result<bool> {
    let languages = installed(cx)?;
    let mut files = Vec::new();
    for (code, areas) in translations {
        let code = code.to_text();
        let language = Language::exact(&code).ok_or_else(|| Error::invalid_language(&code))?;
        let mut areas = Map::from_value(areas).ok_or(MISSHAPEN)?;
        for area in Area::ALL {
            if let Some(texts) = areas.swap_remove(&Key::from(area.name())) {
                files.push((area, language.clone(), readable(texts)?));
            }
        }
    }
    let before = json::encode(&all(&languages)?.into());
    let number = crypto::token()?;
    let backup = format!(
        "translations-{}-{}.json",
        cx.now().format("%Y-%m-%d-%H%M%S"),
        number.get(..8).unwrap_or_default()
    );
    cx.uploads()?.store(&backup, before.as_bytes())?;
    languages.replace(&files)?;
    cx.forget_dictionaries();
    Ok(true)
}

const MISSHAPEN: Error = Error::Argument {
    name: "translations",
    expected: "a map of language code to maps of text to translation",
};

/// A map of texts as files hold them.
fn readable(texts: Value) -> Result<Map> {
    let texts = Map::from_value(texts).ok_or(MISSHAPEN)?;
    texts
        .into_iter()
        .map(|(text, translation)| Ok((text, String::from_value(translation).ok_or(MISSHAPEN)?.into())))
        .collect()
}

fn installed<'a>(cx: &'a Context<'_>) -> Result<Languages<'a>> {
    cx.languages()?.ok_or_else(|| {
        Error::configuration("SB_PATH is not configured: without it nobody knows where the translations are")
    })
}

fn all(languages: &Languages<'_>) -> Result<Map> {
    let codes = languages.all()?;
    let all = codes.iter().map(|language| {
        let translations = one(languages, language)?.unwrap_or_default();
        Ok((Key::from(language.code().to_owned()), translations))
    });
    all.collect()
}

/// The translations of a language; `None` when it has no file.
fn one(languages: &Languages<'_>, language: &Language) -> Result<Option<Value>> {
    let mut translations = Map::from_iter([(Key::from("name"), name_of(language).into())]);
    let mut is_there = false;
    for area in Area::ALL {
        let texts = languages.read(area, language)?;
        is_there |= texts.is_some();
        translations.insert(area.name().into(), texts.unwrap_or_default().into());
    }
    Ok(is_there.then(|| translations.into()))
}

/// What a language is called: `Portuguese (BR)`. One that has no name is called by its code.
fn name_of(language: &Language) -> String {
    let primary = language.primary();
    let code = primary.code();
    let known = isolang::Language::from_639_1(code).or_else(|| isolang::Language::from_639_3(code));
    let Some(known) = known else {
        return language.code().to_owned();
    };
    // Some are told from their older forms: Modern Greek (1453-).
    let name = known.to_name().split(" (").next().unwrap_or_default();
    match language.code().get(code.len() + 1..) {
        Some(region) => format!("{name} ({region})"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_names() {
        for (code, name) in [
            ("de", "German"),
            ("el", "Modern Greek"),
            ("pt-BR", "Portuguese (BR)"),
            ("zh_Hant", "Chinese (Hant)"),
            ("fil", "Filipino"),
            ("qx", "qx"),
        ] {
            assert_eq!(name_of(&Language::exact(code).unwrap()), name);
        }
    }
}
