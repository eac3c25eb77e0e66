//! What an answer says itself, without the e-mail that it quotes.
//!
//! Mail programs quote in a few ways and in all languages: behind `>`, below a line that says who wrote when, below a copy
//! of the headers. Where somebody answers between the lines, the quoted ones stay: without them the answers say nothing.

use super::html::ORIGINAL;

/// Verbs of lines that say who wrote when.
const WROTE: &[&str] = &[
    "wrote",
    "schrieb",
    "écrit",
    "escribió",
    "ha scritto",
    "scrisse",
    "escreveu",
    "schreef",
    "skrev",
    "kirjoitti",
    "napisał",
    "pisze",
    "napsal",
    "napísal",
    "napsala",
    "írta",
    "a scris",
    "yazdı",
    "написал",
    "пишет",
    "писал",
    "писав",
    "пише",
    "написав",
    "έγραψε",
    "書きました",
    "のメール",
    "写道",
    "寫道",
    "작성",
    "כתב",
    "كتب",
    "viết",
    "menulis",
    "เขียน",
    "rašė",
    "rakstīja",
    "kirjutas",
    "napisao",
    "napisal",
];

/// What such lines begin with.
const OPENERS: &[&str] = &[
    "on ",
    "am ",
    "le ",
    "el ",
    "il ",
    "em ",
    "op ",
    "den ",
    "w dniu ",
    "dnia ",
    "dne ",
    "pe ",
    "în ",
    "στις ",
    "vào ",
    "pada ",
    "dana ",
    "a ",
    "at ",
    "在 ",
    "于 ",
    "בתאריך ",
    "في ",
];

/// Lines above the e-mail that follows.
const SEPARATORS: &[&str] = &[
    "original message",
    "original appointment",
    "reply message",
    "ursprüngliche nachricht",
    "originalnachricht",
    "message d'origine",
    "message d’origine",
    "message original",
    "mensaje original",
    "messaggio originale",
    "mensagem original",
    "oorspronkelijk bericht",
    "ursprungligt meddelande",
    "opprinnelig melding",
    "oprindelig meddelelse",
    "alkuperäinen viesti",
    "wiadomość oryginalna",
    "oryginalna wiadomość",
    "původní zpráva",
    "pôvodná správa",
    "eredeti üzenet",
    "mesaj original",
    "orijinal mesaj",
    "исходное сообщение",
    "пересланное сообщение",
    "αρχικό μήνυμα",
    "元のメッセージ",
    "原始邮件",
    "原始郵件",
    "원본 메시지",
];

/// The first header of a copy of headers.
const FROM: &[&str] = &[
    "from",
    "von",
    "de",
    "da",
    "van",
    "från",
    "fra",
    "lähettäjä",
    "od",
    "feladó",
    "de la",
    "kimden",
    "от",
    "від",
    "από",
    "差出人",
    "发件人",
    "寄件者",
    "보낸 사람",
    "מאת",
    "من",
    "từ",
    "dari",
    "nuo",
    "no",
    "saatja",
];

/// What a program puts below a text by itself.
const SENT_BY: &[&str] = &[
    "sent from my ",
    "sent from outlook",
    "sent from yahoo",
    "sent from mail for",
    "sent via ",
    "get outlook for ",
    "von meinem ",
    "gesendet von ",
    "gesendet mit ",
    "envoyé de mon ",
    "envoyé depuis ",
    "envoyé à partir de ",
    "enviado desde ",
    "enviado do meu ",
    "enviado a partir ",
    "inviato da ",
    "inviato dal ",
    "verstuurd vanaf ",
    "verzonden vanaf ",
    "skickat från ",
    "sendt fra ",
    "lähetetty ",
    "wysłane z ",
    "odesláno z ",
    "отправлено с ",
    "отправлено из ",
    "outlook für ",
    "télécharger outlook",
    "iphoneから送信",
    "从我的",
    "发自我的",
];

/// The most lines that one line of a program is folded into.
const FOLDS: usize = 3;

/// What a signature has at most, in lines.
const SIGNATURE_LIMIT: usize = 20;

/// What such a line has at most, in characters.
const LINE_LIMIT: usize = 300;

/// An answer without what it quotes, and without its signature. What would leave nothing is left as it is.
pub fn without_quotation(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let answer = signed_off(answer(&lines));
    if answer.iter().all(|line| line.trim().is_empty()) {
        return text.trim().to_owned();
    }
    answer.join("\n").trim().to_owned()
}

/// A text without the signature below it. What would leave nothing is left as it is.
pub fn without_signature(text: &str) -> String {
    let lines = signed_off(text.lines().collect());
    if lines.iter().all(|line| line.trim().is_empty()) {
        return text.trim().to_owned();
    }
    lines.join("\n").trim().to_owned()
}

/// What stands above a line that asks to answer above it; all of the text where nothing does.
pub fn above<'a>(text: &'a str, delimiter: &str) -> &'a str {
    let above = text.find(delimiter.trim()).and_then(|end| text.get(..end));
    let Some(above) = above.filter(|_| !delimiter.trim().is_empty()) else {
        return text;
    };
    // The marks before it belong to it.
    let above = above.trim_end_matches(['>', ' ', '*', '\u{a0}']);
    let lines: Vec<&str> = above.lines().collect();
    let end = without_attribution(&lines).len();
    let length: usize = above.split_inclusive('\n').take(end).map(str::len).sum();
    text.get(..length)
        .filter(|above| !above.trim().is_empty())
        .unwrap_or(text)
}

fn answer<'b>(lines: &[&'b str]) -> Vec<&'b str> {
    let lines = above_copy(lines);
    let mut lines = lines.to_vec();
    let blocks = quoted_blocks(&lines);
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
        return lines;
    };
    let is_blank = |lines: &[&str]| lines.iter().all(|line| line.trim().is_empty());
    let part = |range: std::ops::Range<usize>| lines.get(range).unwrap_or_default();
    let behind = signed_off(part(last.end..lines.len()).to_vec());
    let before = without_attribution(part(0..first.start));
    if is_blank(&behind) && !(blocks.len() > 1 && is_blank(before)) {
        // Below the answer.
        let end = without_attribution(part(0..last.start)).len();
        lines.truncate(end);
    } else if is_blank(before) && blocks.len() == 1 {
        // Above it.
        lines.drain(..first.end);
    }
    lines
}

/// The lines above a copy of an e-mail that has no marks of its own.
fn above_copy<'a, 'b>(lines: &'a [&'b str]) -> &'a [&'b str] {
    let is_own = |line: &&str| !line.trim().is_empty() && !is_quoted(line);
    // Above the answer nothing is cut off.
    let first = lines.iter().position(is_own).map_or(lines.len(), |first| first + 1);
    let begins = (first..lines.len()).find(|begin| {
        let rest = lines.get(*begin..).unwrap_or_default();
        is_separator(rest) || is_copy_of_headers(rest) || is_bare_attribution(rest)
    });
    begins.map_or(lines, |end| lines.get(..end).unwrap_or(lines))
}

fn is_quoted(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// The runs of quoted lines; empty ones between them belong to them.
fn quoted_blocks(lines: &[&str]) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::<std::ops::Range<usize>>::new();
    for (position, line) in lines.iter().enumerate() {
        if !is_quoted(line) {
            continue;
        }
        let between = |end: usize| lines.get(end..position).unwrap_or_default();
        match blocks.last_mut() {
            Some(block) if between(block.end).iter().all(|line| line.trim().is_empty()) => block.end = position + 1,
            _ => blocks.push(position..position + 1),
        }
    }
    blocks
}

/// Lines without the one at their end that says who wrote when.
fn without_attribution<'a, 'b>(lines: &'a [&'b str]) -> &'a [&'b str] {
    let end = lines
        .iter()
        .rposition(|line| !line.trim().is_empty())
        .map_or(0, |last| last + 1);
    let folded = |count: usize| {
        let begin = end.checked_sub(count)?;
        let own = lines.get(begin..end)?;
        let is_one = own.iter().all(|line| !line.trim().is_empty()) && is_attribution(&joined(own));
        is_one.then_some((begin, own))
    };
    let begins = |own: &[&str]| own.first().is_some_and(|line| is_opened(line));
    let whole = (1..=FOLDS).rev().filter_map(folded).find(|(_, own)| begins(own));
    let found = whole.or_else(|| (1..=FOLDS).find_map(folded));
    let end = found.map_or(end, |(begin, _)| begin);
    lines.get(..end).unwrap_or(lines)
}

/// Some lines as one, to be compared. What is longer than any that programs write is none.
fn joined(lines: &[&str]) -> String {
    if lines.iter().map(|line| line.len()).sum::<usize>() > 4 * LINE_LIMIT {
        return String::new();
    }
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let joined = trimmed.join(" ").to_lowercase();
    // Marks of bold letters and of direction.
    let is_mark = |letter: char| matches!(letter, '*' | '_' | '\u{202a}'..='\u{202e}' | '\u{200e}' | '\u{200f}');
    joined.replace(is_mark, "").trim().to_owned()
}

fn is_opened(line: &str) -> bool {
    let line = joined(&[line]);
    OPENERS.iter().any(|opener| line.starts_with(opener)) || line.starts_with(|letter: char| letter.is_ascii_digit())
}

/// Whether a line right above a quotation says who wrote when: it ends with a colon, and names a time or an address.
fn is_attribution(line: &str) -> bool {
    let ends = line.ends_with([':', '：']);
    let has_digit = line.contains(|letter: char| letter.is_ascii_digit());
    ends && line.chars().nth(LINE_LIMIT).is_none() && (has_digit || line.contains('@') || has_verb(line))
}

fn has_verb(line: &str) -> bool {
    WROTE.iter().any(|verb| line.contains(verb))
}

/// Whether these lines begin with one that says who wrote when, and what is quoted has no marks.
fn is_bare_attribution(lines: &[&str]) -> bool {
    let is_own = |line: &&str| !line.trim().is_empty() && !is_quoted(line);
    let ends = |line: &&str| line.trim_end().ends_with([':', '：']);
    let folds = lines.iter().take(FOLDS).take_while(|line| is_own(line)).position(ends);
    let Some((own, rest)) = folds.and_then(|last| lines.split_at_checked(last + 1)) else {
        return false;
    };
    let line = joined(own);
    let next = rest.iter().find(|line| !line.trim().is_empty());
    own.first().is_some_and(|line| is_opened(line))
        && is_attribution(&line)
        && has_verb(&line)
        && has_year_or_time(&line)
        && next.is_some_and(|line| !is_quoted(line))
}

fn has_year_or_time(line: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
    let words = line.split(|letter: char| !(letter.is_ascii_digit() || letter == ':' || letter == '.'));
    words.into_iter().any(|word| {
        let is_year = digits(word) == 4 && (word.starts_with("19") || word.starts_with("20"));
        is_year || (digits(word) >= 3 && word.trim_matches([':', '.']).contains([':', '.']))
    })
}

/// Whether these lines begin with `-----Original Message-----` or the like.
fn is_separator(lines: &[&str]) -> bool {
    let Some((line, rest)) = lines.split_first() else {
        return false;
    };
    let line = line.trim();
    let is_rule = line.len() >= 10 && line.chars().all(|letter| letter == '_');
    let is_framed = line.starts_with("--") && line.ends_with("--");
    if !is_rule && !is_framed {
        return false;
    }
    let below = rest.iter().position(|line| !line.trim().is_empty()).unwrap_or_default();
    let rest = rest.get(below..).unwrap_or_default();
    if is_rule {
        return is_copy_of_headers(rest);
    }
    let inner = line.trim_matches('-').trim().to_lowercase();
    let says_so = SEPARATORS.contains(&inner.as_str()) || (has_verb(&inner) && has_year_or_time(&inner));
    !inner.is_empty() && (line == ORIGINAL || says_so || is_copy_of_headers(rest))
}

/// Whether these lines begin with a copy of headers: `From: …`, and below it at least two more, one with a time.
fn is_copy_of_headers(lines: &[&str]) -> bool {
    let first = lines.first().and_then(|line| header(line));
    if first.is_none_or(|(name, _)| !FROM.contains(&name.as_str())) {
        return false;
    }
    let further = lines.iter().skip(1).take(7).map_while(|line| header(line));
    let further: Vec<(String, String)> = further.collect();
    further.len() >= 2 && further.iter().any(|(_, value)| has_year_or_time(value))
}

/// Name and value of a line that looks like a header.
fn header(line: &str) -> Option<(String, String)> {
    if !line.contains([':', '：']) {
        return None;
    }
    let line = joined(&[line]);
    let (name, value) = line.split_once([':', '：'])?;
    let name = name.trim().to_owned();
    let is_name = !name.is_empty() && name.chars().nth(25).is_none() && !name.contains(['@', '<', '/', '.']);
    is_name.then(|| (name, value.trim().to_owned()))
}

/// Lines without the signature below `-- `, and without what a program puts below by itself.
fn signed_off(mut lines: Vec<&str>) -> Vec<&str> {
    let mark = lines.iter().rposition(|line| matches!(*line, "-- " | "--"));
    if let Some(mark) = mark.filter(|mark| lines.len() - mark <= SIGNATURE_LIMIT) {
        lines.truncate(mark);
    }
    while let Some(last) = lines.last() {
        let last = last.trim().to_lowercase();
        let is_added = SENT_BY.iter().any(|begin| last.starts_with(begin)) && last.chars().nth(80).is_none();
        let is_rule = last.chars().all(|letter| matches!(letter, '-' | '_'));
        if !is_rule && !is_added {
            break;
        }
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_quote_is_taken_off() {
        for quoted in [
            "On Mon, 5 Jan 2026 at 10:00, Dora Lange <dora@prospect.example> wrote:\n\n> Hello\n>\n> Bye\n",
            "On Mon, Jan 5, 2026 at 10:00 AM Dora Lange <dora@prospect.example>\nwrote:\n> Hello",
            "On Mon, 5 Jan 2026 at\n10:00, Dora Lange <dora@prospect.example> wrote:\n> Hello",
            "On Monday, January 5, 2026 at 10:00:00 AM GMT+1, Dora <dora@prospect.example> wrote:\n\nHello\n\nBye",
            "Am 05.01.2026 um 10:00 schrieb Dora Lange <dora@prospect.example>:\n> Hallo",
            "Am 05.01.26 um 10:00 schrieb Dora:\n> Hallo",
            "Le lun. 5 janv. 2026 à 10:00, Dora Lange <dora@prospect.example> a\nécrit :\n\n> Bonjour",
            "El lun, 5 ene 2026 a las 10:00, Dora (<dora@prospect.example>) escribió:\n\n> Hola",
            "Il giorno lun 5 gen 2026 alle ore 10:00 Dora <dora@prospect.example> ha scritto:\n\n> Ciao",
            "Em seg., 5 de jan. de 2026 às 10:00, Dora <dora@prospect.example> escreveu:\n\n> Olá",
            "Op ma 5 jan 2026 om 10:00 schreef Dora <dora@prospect.example>:\n> Hallo",
            "pon., 5 sty 2026 o 10:00 Dora <dora@prospect.example> napisał(a):\n\n> Hej",
            "Den mån 5 jan. 2026 kl 10:00 skrev Dora <dora@prospect.example>:\n> Hej",
            "man. 5. jan. 2026 kl. 10:00 skrev Dora <dora@prospect.example>:\n> Hei",
            "ma 5. tammik. 2026 klo 10.00 Dora (dora@prospect.example) kirjoitti:\n> Hei",
            "po 5. 1. 2026 v 10:00 odesílatel Dora <dora@prospect.example> napsal:\n> Ahoj",
            "пн, 5 янв. 2026 г. в 10:00, Dora <dora@prospect.example>:\n> Привет",
            "5 января 2026 г., 10:00 +03:00 от Dora <dora@prospect.example> написал:\n> Привет",
            "2026年1月5日(月) 10:00 Dora <dora@prospect.example>:\n> こんにちは",
            "Dora <dora@prospect.example> 于2026年1月5日周一 10:00写道：\n> 你好",
            "2026년 1월 5일 (월) 오전 10:00, Dora <dora@prospect.example>님이 작성:\n> 안녕",
            "5 Oca 2026 Pzt 10:00 tarihinde Dora <dora@prospect.example> şunu yazdı:\n> Merhaba",
            "-----Original Message-----\nFrom: Dora\nSent: Monday, January 5, 2026 10:00\nTo: Support\nSubject: Hello\n\nHello",
            "-----Ursprüngliche Nachricht-----\nVon: Dora\nGesendet: Montag, 5. Januar 2026 10:00\n\nHallo",
            "________________________________\nFrom: Dora <dora@prospect.example>\nSent: Monday, January 5, 2026 10:00 AM\nTo: Support <s@support.example>\nSubject: Hello\n\nHello",
            "Von: Dora <dora@prospect.example>\nGesendet: Montag, 5. Januar 2026 10:00\nAn: Support\nBetreff: Hallo\n\nHallo",
            "*De :* Dora <dora@prospect.example>\n*Envoyé :* lundi 5 janvier 2026 10:00\n*À :* Support\n*Objet :* Bonjour\n\nBonjour",
            "差出人: Dora\n送信日時: 2026年1月5日 10:00\n宛先: Support\n件名: こんにちは\n\nこんにちは",
            "---- On Mon, 05 Jan 2026 10:00:00 +0100 Dora <dora@prospect.example> wrote ----\n\n> Hello",
            "> Hello\n> Bye",
        ] {
            let text = format!("My answer: yes.\n\nSecond line.\n\n{quoted}");
            assert_eq!(without_quotation(&text), "My answer: yes.\n\nSecond line.", "{quoted}");
            let text = format!("My answer: yes.\n\nSecond line.\n\nSent from my iPhone\n\n{quoted}");
            assert_eq!(without_quotation(&text), "My answer: yes.\n\nSecond line.", "{quoted}");
        }
    }

    #[test]
    fn an_answer_below_or_between_stays() {
        let below = "On Mon, 5 Jan 2026, Dora wrote:\n> Can you come?\n> At ten?\n\nYes, I can.\n-- \nSupport";
        assert_eq!(without_quotation(below), "Yes, I can.");
        let between = "Hi Dora,\n\nOn Mon, 5 Jan 2026, Dora wrote:\n> Can you come?\nYes.\n> At ten?\nNo, at nine.";
        assert_eq!(without_quotation(between), between);
        let at_the_top = "> Can you come?\nYes.\n> At ten?\nNo, at nine.\n> Thank you\n> Dora";
        assert_eq!(without_quotation(at_the_top), at_the_top);
        let only = "On Mon, 5 Jan 2026, Dora wrote:\n> Hello";
        assert_eq!(without_quotation(only), only);
    }

    #[test]
    fn what_people_write_themselves_stays() {
        for text in [
            "From: Berlin\nTo: Rome\nThat is my way.",
            "I wrote this on 5 May 2026:\nfirst, second, third",
            "The list:\n- a\n- b",
            "a -- b",
            "5 > 3",
            "--- Details ---\nThe door is blue.",
            "On Monday he wrote:\nnothing",
        ] {
            assert_eq!(without_quotation(text), text);
        }
    }

    #[test]
    fn a_signature_goes_and_a_text_of_dashes_stays() {
        assert_eq!(without_signature("Hello\n-- \nDora\nProspect d.o.o."), "Hello");
        assert_eq!(without_signature("Hello\n--\nDora"), "Hello");
        assert_eq!(without_signature("-- \nDora"), "-- \nDora");
        let long = format!("Hello\n--\n{}", "line\n".repeat(40));
        assert_eq!(without_signature(&long), long.trim());
    }

    #[test]
    fn what_stands_above_the_line_to_answer_above_is_the_answer() {
        let delimiter = "### Please type your reply above this line ###";
        for (text, answer) in [
            (
                format!("Yes\n\nOn Mon, 5 Jan 2026, Support <s@support.example> wrote:\n\n> {delimiter}\n> Hello"),
                "Yes",
            ),
            (format!("Yes\n> > {delimiter}\n> Hello"), "Yes"),
            (
                format!("> {delimiter}\n> Hello\nYes"),
                &format!("> {delimiter}\n> Hello\nYes"),
            ),
            ("Yes".to_owned(), "Yes"),
        ] {
            assert_eq!(above(&text, delimiter).trim(), answer, "{text}");
        }
        assert_eq!(above("Yes", ""), "Yes");
    }

    #[test]
    fn a_hostile_text_is_cut_in_time() {
        for line in [
            "\n",
            "> \n",
            "x\n",
            "______________\n",
            "--a--\n",
            "--a--\n\n",
            "on 5 may 2026\n",
            "from: a\n",
            "-- \n",
            "x:\n> \n",
        ] {
            for begin in ["", "x\n"] {
                let text = format!("{begin}{}", line.repeat(50_000));
                let started = std::time::Instant::now();
                without_quotation(&text);
                above(&text, "--");
                let taken = started.elapsed();
                assert!(taken < std::time::Duration::from_secs(10), "{taken:?} for {line:?}");
            }
        }
        without_quotation(&"x:".repeat(500_000));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_and_never_grows(text in "(>|-- |--|\n|On 5 May 2026 a wrote:|From: a|Sent: 2026|Subject: x|[a-z:]|.){0,60}") {
            let cut = without_quotation(&text);
            proptest::prop_assert!(cut.len() <= text.len());
            proptest::prop_assert!(above(&text, "--").len() <= text.len());
        }
    }
}
