//! Images of initials, for people without a photograph.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Rect, Transform};
use resvg::usvg::fontdb::{Database, FaceInfo, ID, Stretch, Style};
use resvg::usvg::{FontResolver, Options, Tree};

use super::initials::Initials;
use crate::contract::error::{Error, Result};
use crate::platform::uploads::Uploads;
use crate::platform::{Context, crypto};

/// The folder in the uploads: whoever wants all images made anew removes it.
const FOLDER: &str = "avatars";

/// The image's sides, in pixels.
const SIDE: u16 = 128;

/// Where initials may lie. It is within the circle that many pages cut out of an image.
const WIDEST: f32 = 80.0;
const HIGHEST: f32 = 64.0;

/// Between two initials.
const GAP: f32 = 3.0;

/// The URL of an image of the initials. Each pair has one file, which is made once.
pub(super) async fn get_avatar(cx: &Context<'_>, first_name: String, last_name: String) -> Result<String> {
    avatar(cx.uploads()?, &Initials::of(&first_name, &last_name))
}

fn avatar(uploads: Uploads, initials: &Initials) -> Result<String> {
    let uploads = uploads.within(FOLDER)?;
    let hash = crypto::sha256(initials.text().as_bytes())?;
    let (hue, name) = (hash.get(..4).unwrap_or_default(), hash.get(..20).unwrap_or_default());
    let (png, svg) = (format!("{name}.png"), format!("{name}.svg"));
    for name in [&png, &svg] {
        if let Some(url) = uploads.find(name)? {
            return Ok(url);
        }
    }
    let background = Background::of(u16::from_str_radix(hue, 16).unwrap_or_default());
    match picture(initials, background)? {
        Some(picture) => uploads.store(&png, &picture),
        // A browser may have the letter that no font of this system has.
        None => uploads.store(&svg, drawing(initials, background).as_bytes()),
    }
}

/// A colour on which white is well read.
#[derive(Clone, Copy)]
struct Background {
    red: u8,
    green: u8,
    blue: u8,
}

impl Background {
    /// One of 65,536 hues, all of about the same lightness and strength: a circle in the space Oklab.
    fn of(hue: u16) -> Self {
        const LIGHTNESS: f32 = 0.53;
        const CHROMA: f32 = 0.11;
        let angle = f32::from(hue) / 65536.0 * std::f32::consts::TAU;
        let (a, b) = (CHROMA * angle.cos(), CHROMA * angle.sin());
        // https://bottosson.github.io/posts/oklab/
        let long = (LIGHTNESS + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
        let medium = (LIGHTNESS - 0.105_561_346 * a - 0.063_854_17 * b).powi(3);
        let short = (LIGHTNESS - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
        Self {
            red: encoded(4.076_741_7 * long - 3.307_711_6 * medium + 0.230_969_94 * short),
            green: encoded(-1.268_438 * long + 2.609_757_4 * medium - 0.341_319_38 * short),
            blue: encoded(-0.004_196_086_3 * long - 0.703_418_6 * medium + 1.707_614_7 * short),
        }
    }
}

/// A part of linear light as sRGB stores it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn encoded(light: f32) -> u8 {
    let light = light.clamp(0.0, 1.0);
    let value = if light <= 0.003_130_8 {
        12.92 * light
    } else {
        1.055 * light.powf(1.0 / 2.4) - 0.055
    };
    (value * 255.0).round() as u8
}

/// The image as PNG, which every mail program shows; `None` when no font of the system has an initial.
fn picture(initials: &Initials, background: Background) -> Result<Option<Vec<u8>>> {
    let mut shapes = Vec::new();
    for initial in &initials.0 {
        let Some(shape) = Shape::of_initial(initial) else {
            return Ok(None);
        };
        shapes.push(shape);
    }
    if initials.are_right_to_left() {
        shapes.reverse();
    }
    let failed = |why: &str| Error::Internal(format!("an avatar cannot be drawn: {why}"));
    let mut pixmap = Pixmap::new(SIDE.into(), SIDE.into()).ok_or_else(|| failed("no memory"))?;
    pixmap.fill(Color::from_rgba8(
        background.red,
        background.green,
        background.blue,
        255,
    ));
    if shapes.is_empty() {
        let tree = Tree::from_str(&svg(SILHOUETTE), &Options::default()).map_err(|error| failed(&error.to_string()))?;
        resvg::render(&tree, Transform::identity(), &mut pixmap.as_mut());
    }
    for (shape, place) in shapes.iter().zip(places(&shapes)) {
        resvg::render(&shape.tree, place, &mut pixmap.as_mut());
    }
    let png = pixmap.encode_png().map_err(|error| failed(&error.to_string()))?;
    Ok(Some(png))
}

/// Where shapes go: side by side on one base line, in the middle, smaller when they would be too large.
fn places(shapes: &[Shape]) -> Vec<Transform> {
    let gaps = GAP * shapes.iter().skip(1).map(|_| 1.0).sum::<f32>();
    let width = shapes.iter().map(|shape| shape.ink.width()).sum::<f32>() + gaps;
    let top = shapes.iter().map(|shape| shape.ink.top()).fold(f32::MAX, f32::min);
    let bottom = shapes.iter().map(|shape| shape.ink.bottom()).fold(f32::MIN, f32::max);
    let scale = (WIDEST / width).min(HIGHEST / (bottom - top)).min(1.0);
    let middle = f32::from(SIDE) / 2.0;
    let mut left = middle - scale * width / 2.0;
    let place = |shape: &Shape| {
        let x = left - scale * shape.ink.left();
        left += scale * (shape.ink.width() + GAP);
        Transform::from_row(scale, 0.0, 0.0, scale, x, middle - scale * (top + bottom) / 2.0)
    };
    shapes.iter().map(place).collect()
}

/// An initial as the outlines of its glyphs, or as the images of a font of emoji.
struct Shape {
    tree: Tree,
    /// What it covers.
    ink: Rect,
}

/// The fonts of the system, looked for once per process: that takes longer than everything else here.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    Arc::new(fonts)
});

impl Shape {
    /// An initial in the most fitting font that has it.
    fn of_initial(initial: &str) -> Option<Self> {
        let text = svg(&format!(
            r##"<text y="100" font-size="60" font-weight="600" fill="#fff">{}</text>"##,
            escaped(initial)
        ));
        let is_emoji = initial
            .chars()
            .any(|character| matches!(character, '\u{fe0f}' | '\u{1f000}'..='\u{1faff}'));
        let mut faces: Vec<&FaceInfo> = FONTS.faces().collect();
        faces.sort_by_cached_key(|face| preference(face, is_emoji));
        faces.iter().find_map(|face| Self::in_font(&text, face.id))
    }

    /// What an SVG shows with one font; `None` when the font lacks a glyph of it.
    fn in_font(text: &str, font: ID) -> Option<Self> {
        let lacks = Arc::new(AtomicBool::new(false));
        let lacking = Arc::clone(&lacks);
        let options = Options {
            fontdb: Arc::clone(&FONTS),
            font_resolver: FontResolver {
                select_font: Box::new(move |_, _| Some(font)),
                select_fallback: Box::new(move |_, _, _| {
                    lacking.store(true, Ordering::Relaxed);
                    None
                }),
            },
            ..Options::default()
        };
        let tree = Tree::from_str(text, &options).ok()?;
        let ink = tree.root().abs_stroke_bounding_box();
        let is_whole = !lacks.load(Ordering::Relaxed) && ink.width() > 0.0 && ink.height() > 0.0;
        is_whole.then_some(Self { tree, ink })
    }
}

/// Sorts fonts: the plain upright semi-bold one without serifs first, those of emoji for emoji only.
fn preference(face: &FaceInfo, is_emoji: bool) -> impl Ord + use<> {
    let family = face.families.first().map_or("", |(family, _)| family.as_str());
    (
        family.contains("Emoji") != is_emoji,
        face.style != Style::Normal,
        face.stretch != Stretch::Normal,
        face.monospaced || family.contains("Mono"),
        !family.contains("Sans"),
        face.weight.0.abs_diff(600),
        face.post_script_name.clone(),
    )
}

/// Head and shoulders of nobody.
const SILHOUETTE: &str =
    r##"<circle cx="64" cy="50" r="22" fill="#fff"/><ellipse cx="64" cy="118" rx="42" ry="38" fill="#fff"/>"##;

/// The image as SVG, whose letters the viewer's own fonts draw.
fn drawing(initials: &Initials, background: Background) -> String {
    let Background { red, green, blue } = background;
    svg(&format!(
        r##"<rect width="100%" height="100%" fill="#{red:02x}{green:02x}{blue:02x}"/><text x="50%" y="50%" dominant-baseline="central" text-anchor="middle" font-family="sans-serif" font-size="56" font-weight="600" fill="#fff">{}</text>"##,
        escaped(&initials.text())
    ))
}

fn svg(content: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}" viewBox="0 0 {SIDE} {SIDE}">{content}</svg>"#
    )
}

/// A text in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use resvg::usvg::roxmltree::Document;

    use super::*;

    const BLUE: Background = Background {
        red: 0,
        green: 90,
        blue: 160,
    };

    fn drawn(first_name: &str, last_name: &str) -> Pixmap {
        let png = picture(&Initials::of(first_name, last_name), BLUE).unwrap();
        Pixmap::decode_png(&png.expect("fonts-dejavu-core is installed")).unwrap()
    }

    /// The part of the image that is not background.
    fn ink(image: &Pixmap) -> (u32, u32, u32, u32) {
        let background = image.pixel(0, 0).unwrap();
        let mut bounds = (u32::MAX, u32::MAX, 0, 0);
        for (x, y) in (0..128).flat_map(|y| (0..128).map(move |x| (x, y))) {
            if image.pixel(x, y).unwrap() != background {
                bounds = (bounds.0.min(x), bounds.1.min(y), bounds.2.max(x), bounds.3.max(y));
            }
        }
        bounds
    }

    #[test]
    fn white_is_well_read_on_every_background() {
        let light = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        for hue in 0..=u16::MAX {
            let Background { red, green, blue } = Background::of(hue);
            // The contrast of WCAG 2.2, of which 4.5 is asked for text.
            let luminance = 0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
            let contrast = 1.05 / (luminance + 0.05);
            assert!((4.5..7.0).contains(&contrast), "{red} {green} {blue}: {contrast}");
        }
    }

    #[test]
    fn initials_lie_in_the_middle_and_within_the_circle() {
        for (first_name, last_name) in [
            ("Ann", "Lee"),
            ("W", "M"),
            ("É", "g"),
            ("i", ""),
            ("Дмитрий", "Ким"),
            ("", ""),
        ] {
            let image = drawn(first_name, last_name);
            assert_eq!((image.width(), image.height()), (128, 128));
            let (left, top, right, bottom) = ink(&image);
            assert!(right - left <= 86 && bottom - top <= 110, "{first_name} {last_name}");
            assert!(
                (left + right).abs_diff(127) <= 2,
                "{first_name} {last_name}: {left} to {right}"
            );
            let is_letter = !first_name.is_empty();
            assert!(
                !is_letter || (top + bottom).abs_diff(127) <= 2,
                "{first_name} {last_name}: {top} to {bottom}"
            );
        }
    }

    #[test]
    fn each_pair_of_initials_has_an_image_of_its_own() {
        let images = [
            ("Ann", "Lee"),
            ("Lee", "Ann"),
            ("Ann", ""),
            ("Émile", "Lee"),
            ("", ""),
            ("محمد", "علي"),
            ("علي", "محمد"),
        ]
        .map(|(first_name, last_name)| drawn(first_name, last_name).take());
        for (index, image) in images.iter().enumerate() {
            assert!(!images[..index].contains(image), "{index}");
        }
        assert_eq!(drawn("ann", "lee").take(), images[0]);
    }

    #[test]
    fn an_image_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let avatar =
            |initials: &Initials| avatar(Uploads::new(folder.path(), "https://support.example"), initials).unwrap();
        let initials = Initials::of("Ann", "Lee");
        let url = avatar(&initials);
        let path = folder
            .path()
            .join(url.strip_prefix("https://support.example/").unwrap());
        assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
        std::fs::write(&path, "as it was").unwrap();
        assert_eq!(avatar(&initials), url);
        assert_eq!(std::fs::read(&path).unwrap(), b"as it was");
    }

    #[test]
    fn a_letter_that_no_font_has_is_left_to_the_viewer() {
        // No font has the last character of the planes for private use.
        let initials = Initials(vec!["A".into(), "\u{10fffd}".into()]);
        let folder = tempfile::tempdir().unwrap();
        let avatar = || avatar(Uploads::new(folder.path(), "https://support.example"), &initials).unwrap();
        let url = avatar();
        let path = folder
            .path()
            .join(url.strip_prefix("https://support.example/").unwrap());
        assert_eq!(path.extension().unwrap(), "svg");
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains(">A\u{200c}\u{10fffd}</text>")
        );
        std::fs::write(&path, "as it was").unwrap();
        assert_eq!(avatar(), url);
        assert_eq!(std::fs::read(&path).unwrap(), b"as it was");
    }

    #[test]
    fn what_means_something_in_xml_is_escaped() {
        for initial in ["<", "&", ">", "]]>", "&lt;"] {
            let drawing = svg(&format!("<text>{}</text>", escaped(initial)));
            let document = Document::parse(&drawing).unwrap();
            assert_eq!(
                document.root_element().first_element_child().unwrap().text(),
                Some(initial)
            );
        }
        assert!(Shape::of_initial("&").is_some());
        let drawing = drawing(&Initials::of("<a>", "山"), BLUE);
        let document = Document::parse(&drawing).unwrap();
        let text = document.root_element().last_element_child().unwrap();
        assert_eq!(text.text(), Some("A\u{200c}山"));
        assert!(drawing.contains("#005aa0"));
    }
}
