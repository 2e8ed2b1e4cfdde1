//! The colours and the style sheet of an SVG picture.
//!
//! Every colour is a variable of the picture's root, so that a page can have its own; every use
//! of one is preceded by the plain colour, for viewers that know no variables. All rules are
//! bound to the root's class: they touch nothing else on a page.

/// The name of a colour, how it is on light ground, and how on dark ground.
const COLOURS: [(&str, &str, &str); 17] = [
    ("ground", "#ffffff", "#0f1419"),
    ("card", "#ffffff", "#182029"),
    ("line", "#ccd4dc", "#3a4653"),
    ("ink", "#18222d", "#e4eaf0"),
    ("quiet", "#64707d", "#94a1ae"),
    ("edge", "#b0bac5", "#4b5865"),
    ("critical", "#0b6b82", "#4fc3dc"),
    ("succeeded", "#1e8748", "#4cc27c"),
    ("failed", "#cc2f28", "#ff7a70"),
    ("failed-card", "#fdf2f1", "#2c1a1c"),
    ("running", "#2561d8", "#72a4ff"),
    ("running-card", "#f1f6fe", "#172338"),
    ("cancelled", "#a3650a", "#e0a648"),
    ("skipped", "#8b96a2", "#76838f"),
    ("pending", "#a5b0bb", "#5f6d7a"),
    ("unknown", "#7752c8", "#b194f2"),
    ("mark", "#ffffff", "#0f1419"),
];

/// `fill@ink` stands for `fill:#18222d;fill:var(--ink)`; every rule is put behind the root's class.
const RULES: &[&str] = &[
    ".ground{fill@ground}",
    "text{fill@ink;font-size:13px;font-weight:500;white-space:pre;unicode-bidi:isolate}",
    ".heading{font-size:16px;font-weight:600}",
    ".detail{fill@quiet;font-size:11px;font-weight:400}",
    ".edge{fill:none;stroke@edge;stroke-width:1.4;stroke-linecap:round}",
    ".inferred{stroke-dasharray:5 4}",
    ".head{fill@edge;stroke@edge;stroke-width:1.2;stroke-linejoin:round}",
    ".edge.critical{stroke@critical;stroke-width:2.4}",
    ".head.critical{fill@critical;stroke@critical}",
    ".card{fill@card;stroke@line;stroke-width:1.2;stroke-linejoin:round}",
    ".rib{fill:none;stroke@line;stroke-width:1.2}",
    ".critical .card{stroke@critical;stroke-width:1.8}",
    ".critical .rib{stroke@critical}",
    ".critical .name{font-weight:600}",
    ".shape-more .card{stroke-dasharray:3 3}",
    ".shape-more .name{fill@quiet}",
    ".lamp{fill:none;stroke@pending;stroke-width:1.6}",
    ".mark{display:none;fill:none;stroke@mark;stroke-width:1.6;stroke-linecap:round;\
     stroke-linejoin:round}",
    ".state-succeeded .lamp{fill@succeeded;stroke@succeeded}",
    ".state-succeeded .mark-succeeded{display:inline}",
    ".state-failed .lamp{fill@failed;stroke@failed}",
    ".state-failed .mark-failed{display:inline}",
    ".state-failed .card{fill@failed-card;stroke@failed}",
    ".state-running .lamp{stroke@running;stroke-opacity:.28}",
    ".state-running .mark-running{display:inline;stroke@running;stroke-width:2}",
    ".state-running .card{fill@running-card;stroke@running}",
    ".state-cancelled .lamp{stroke@cancelled}",
    ".state-cancelled .mark-cancelled{display:inline;stroke@cancelled}",
    ".state-skipped .lamp{stroke@skipped}",
    ".state-skipped .mark-skipped{display:inline;stroke@skipped}",
    ".state-skipped .card{stroke-dasharray:4 3}",
    ".state-skipped text,.state-cancelled .name{fill@quiet}",
    ".state-unknown .lamp{stroke@unknown}",
    ".state-unknown .mark-unknown{display:inline;stroke@unknown}",
];

/// The class of the root.
pub(super) const ROOT_CLASS: &str = "tidewheel-picture";

/// The style sheet of every SVG picture.
pub fn style_sheet() -> String {
    let light: String =
        COLOURS.iter().map(|(name, light, _)| format!("--{name}:{light};")).collect();
    let dark: String = COLOURS.iter().map(|(name, _, dark)| format!("--{name}:{dark};")).collect();
    let mut sheet = format!(
        ".{ROOT_CLASS}{{{light}color-scheme:light dark;font-family:system-ui,-apple-system,\
         \"Segoe UI\",Roboto,\"Helvetica Neue\",\"Noto Sans\",Arial,sans-serif}}\n\
         @media(prefers-color-scheme:dark){{.{ROOT_CLASS}{{{dark}}}}}\n"
    );
    for rule in RULES {
        let (selectors, declarations) = rule.split_once('{').unwrap_or((rule, "}"));
        let selectors: Vec<String> =
            selectors.split(',').map(|selector| format!(".{ROOT_CLASS} {selector}")).collect();
        sheet.push_str(&selectors.join(","));
        sheet.push('{');
        sheet.push_str(&with_colours(declarations));
        sheet.push('\n');
    }
    sheet.push_str(
        "@media(prefers-reduced-motion:no-preference){\
         .tidewheel-picture .mark-running{animation:tidewheel-turn 1.4s linear infinite}}\n\
         @keyframes tidewheel-turn{to{transform:rotate(360deg)}}\n",
    );
    sheet
}

/// The declarations with every `property@colour` written out.
fn with_colours(declarations: &str) -> String {
    let mut out = String::new();
    let inner = declarations.trim_end_matches('}');
    for declaration in inner.split(';') {
        match declaration.split_once('@') {
            Some((property, name)) => {
                let light = COLOURS.iter().find(|one| one.0 == name).map_or("", |one| one.1);
                out.push_str(&format!("{property}:{light};{property}:var(--{name});"));
            }
            None => out.push_str(&format!("{declaration};")),
        }
    }
    out.push('}');
    out
}
