//! The documentation of the catalog, read into its parts.

use sb::contract::shapes;
use sb::functions::{Function, SECTIONS};

use super::types;

/// A section and its functions.
pub struct Section {
    pub title: &'static str,
    pub functions: Vec<Documented>,
}

/// A function and what is said of it.
pub struct Documented {
    pub function: &'static Function,
    /// What it does: the first paragraph in a line, then those that go into it.
    pub paragraphs: Vec<String>,
    /// What is said of each argument, in their order.
    pub arguments: Vec<String>,
    /// What is said of the result.
    pub result: Option<String>,
    /// The type that an argument is of when the result is true, and the argument.
    pub asserted: Option<String>,
    /// The codes that it fails with.
    pub errors: Option<String>,
}

/// Every function; refused when something is said of nothing, or nothing of something.
pub fn of_catalog() -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (title, functions) in SECTIONS {
        let functions = functions.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        match sections.last_mut().filter(|section| section.title == *title) {
            // A further room of the same section.
            Some(section) => section.functions.extend(functions),
            None => sections.push(Section { title, functions }),
        }
    }
    Ok(sections)
}

fn read(function: &'static Function) -> Result<Documented, String> {
    let wrong = |what: &str| format!("{}: {what}", function.name);
    if let Some(name) =
        types::names(function.returns).find(|name| !types::is_class(name) && shapes::find(name).is_none())
    {
        return Err(wrong(&format!(
            "the record {name} of its result is not in contract/shapes.rs"
        )));
    }
    let mut blocks = blocks(function.docs).into_iter();
    let paragraphs: Vec<String> = blocks.by_ref().take_while(|block| !block.is_empty()).collect();
    if paragraphs.is_empty() {
        return Err(wrong("it is not said what it does"));
    }
    let mut documented = Documented {
        function,
        paragraphs,
        arguments: vec![String::new(); function.params.len()],
        result: None,
        asserted: None,
        errors: None,
    };
    for block in blocks {
        match block.split_once(' ') {
            Some(("@param", rest)) => {
                let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
                let place = function
                    .params
                    .iter()
                    .zip(&mut documented.arguments)
                    .find(|(param, _)| name.strip_prefix('$') == Some(param.name));
                let (_, place) = place.ok_or_else(|| wrong(&format!("it has no argument {name}")))?;
                text.clone_into(place);
            }
            Some(("@return", text)) => documented.result = Some(text.to_owned()),
            Some(("@assert-if-true", text)) => documented.asserted = Some(text.to_owned()),
            Some(("@errors", text)) => documented.errors = Some(text.to_owned()),
            _ => return Err(wrong(&format!("what is meant by “{block}”?"))),
        }
    }
    let silent = function
        .params
        .iter()
        .zip(&documented.arguments)
        .find(|(_, text)| text.is_empty());
    match silent {
        Some((param, _)) => Err(wrong(&format!("nothing is said of ${}", param.name))),
        None => Ok(documented),
    }
}

/// Paragraphs and tags, each in a line; an empty one stands between the former and the latter.
fn blocks(lines: &[&str]) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut is_open = false;
    let mut has_tags = false;
    for line in lines.iter().map(|line| line.trim()) {
        if line.starts_with('@') && !has_tags {
            has_tags = true;
            blocks.push(String::new());
            is_open = false;
        }
        match (line, blocks.last_mut()) {
            ("", _) => is_open = false,
            (line, Some(block)) if is_open && !line.starts_with('@') => {
                block.push(' ');
                block.push_str(line);
            }
            (line, _) => {
                blocks.push(line.to_owned());
                is_open = true;
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_paragraphs_and_tags() {
        let lines = [
            " Does it.",
            "",
            " More",
            " of it.",
            "",
            " @param $a one",
            "     and more",
            " @errors x",
        ];
        assert_eq!(
            blocks(&lines),
            ["Does it.", "More of it.", "", "@param $a one and more", "@errors x"]
        );
    }
}
