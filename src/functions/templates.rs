//! Templates of texts: what stands in curly brackets is filled in.

/// A template with its fields filled in, each from the left to the right: what is filled in is not looked at again.
pub(super) fn filled(template: &str, fields: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        text.push_str(before);
        rest = rest.get(before.len()..).unwrap_or_default();
        if let Some((field, value)) = fields.iter().find(|(field, _)| rest.starts_with(field)) {
            text.push_str(value);
            rest = rest.get(field.len()..).unwrap_or_default();
        } else {
            text.push('{');
            rest = behind;
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let fields = [("{message}", "{name} {"), ("{name}", "{message}")];
        for (template, text) in [
            ("{message}", "{name} {"),
            ("{name}: {message}{", "{message}: {name} {{"),
            ("{{name}} {other} ä{message}", "{{message}} {other} ä{name} {"),
            ("", ""),
        ] {
            assert_eq!(filled(template, &fields), text, "{template}");
        }
    }
}
