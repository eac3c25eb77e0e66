//! The chat's colours.

use crate::contract::error::Result;
use crate::platform::Context;

const SETTINGS: [&str; 3] = ["color-1", "color-2", "color-3"];

/// What each colour paints: the first what is looked at, the second the same when it is pointed at, the third what
/// stays in the background. A page may use the variables for more.
const RULES: [(&str, &[&str]); 3] = [
    (
        "--sb-color-1",
        &[
            ".sb-chat-btn,.sb-chat .sb-header,.sb-btn,.sb-submit{background-color:var(--sb-color-1)}",
            ".sb-chat a,.sb-link{color:var(--sb-color-1)}",
        ],
    ),
    (
        "--sb-color-2",
        &[
            ".sb-chat-btn:hover,.sb-btn:hover,.sb-submit:hover{background-color:var(--sb-color-2)}",
            ".sb-chat a:hover,.sb-link:hover{color:var(--sb-color-2)}",
        ],
    ),
    (
        "--sb-color-3",
        &[".sb-list>.sb-right{background-color:var(--sb-color-3)}"],
    ),
];

/// The style sheet of three colours; those that are not given are the settings' own.
pub(super) async fn css(
    cx: &Context<'_>,
    color_1: Option<String>,
    color_2: Option<String>,
    color_3: Option<String>,
    returns: bool,
) -> Result<String> {
    let mut colors = [color_1, color_2, color_3];
    if colors.iter().any(Option::is_none) {
        let settings = cx.settings().await?;
        for (color, setting) in colors.iter_mut().zip(SETTINGS) {
            *color = color.take().or_else(|| settings.text(setting));
        }
    }
    let css = sheet(colors.each_ref().map(|color| color.as_deref().and_then(valid)));
    if !returns {
        cx.host().print(css.clone());
    }
    Ok(css)
}

fn sheet(colors: [Option<String>; 3]) -> String {
    let used = || {
        colors
            .iter()
            .zip(RULES)
            .filter_map(|(color, rule)| Some((color.as_deref()?, rule)))
    };
    let variables: Vec<String> = used()
        .map(|(color, (variable, _))| format!("{variable}:{color}"))
        .collect();
    if variables.is_empty() {
        return String::new();
    }
    let rules: String = used().flat_map(|(_, (_, rules))| rules.iter().copied()).collect();
    format!(":root{{{}}}{rules}", variables.join(";"))
}

/// A colour in hexadecimal digits or by its parts, as it is written; `None` for anything else, since what is printed
/// into a page must not end the rule that it stands in.
fn valid(color: &str) -> Option<String> {
    let color = color.trim();
    let digits = color.strip_prefix('#').unwrap_or(color);
    if matches!(digits.len(), 3 | 4 | 6 | 8) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Some(format!("#{digits}"));
    }
    let lower = color.to_ascii_lowercase();
    let (name, parts) = lower.strip_suffix(')')?.split_once('(')?;
    let parts: Vec<&str> = parts.split(',').map(str::trim).collect();
    let is_color = match (name, parts.as_slice()) {
        ("rgb", [red, green, blue]) => [red, green, blue].iter().all(|part| is_part(part)),
        ("rgb" | "rgba", [red, green, blue, alpha]) => {
            [red, green, blue].iter().all(|part| is_part(part)) && is_alpha(alpha)
        }
        _ => false,
    };
    is_color.then_some(lower)
}

/// 0 to 255.
fn is_part(part: &str) -> bool {
    part.bytes().all(|digit| digit.is_ascii_digit()) && part.parse::<u8>().is_ok()
}

/// 0 to 1, or 0% to 100%.
fn is_alpha(alpha: &str) -> bool {
    let (number, most) = alpha.strip_suffix('%').map_or((alpha, 1.0), |number| (number, 100.0));
    number.bytes().all(|digit| digit.is_ascii_digit() || digit == b'.')
        && number.parse::<f64>().is_ok_and(|number| number <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_hexadecimal_or_rgb() {
        for (color, valid_color) in [
            ("#fff", "#fff"),
            (" #0B5FFF ", "#0B5FFF"),
            ("0b5fff", "#0b5fff"),
            ("#0b5fff80", "#0b5fff80"),
            ("rgb(2, 139,229)", "rgb(2, 139,229)"),
            ("RGB(0,0,0)", "rgb(0,0,0)"),
            ("rgba(255, 255, 255, 0.5)", "rgba(255, 255, 255, 0.5)"),
            ("rgba(1,2,3,50%)", "rgba(1,2,3,50%)"),
        ] {
            assert_eq!(valid(color).as_deref(), Some(valid_color), "{color}");
        }
        for color in [
            "",
            "#",
            "#ff",
            "#fffff",
            "#ggg",
            "red",
            "rgb(256,0,0)",
            "rgb(-1,0,0)",
            "rgb(+1,0,0)",
            "rgb(1,2)",
            "rgb(1,2,3,4,5)",
            "rgba(1,2,3,2)",
            "rgba(1,2,3,)",
            "rgba(1,2,3,1e0)",
            "rgb(,,)",
            "rgb(0,0,0);}body{display:none",
            "#fff;}</style><script>alert(1)</script>",
            "url(javascript:alert(1))",
            "var(--x)",
            "expression(alert(1))",
            "#ff\u{ff16}",
        ] {
            assert_eq!(valid(color), None, "{color}");
        }
    }
}
