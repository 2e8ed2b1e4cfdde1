//! What is written down in each format, above all of hostile names.
//!
//! Terminals are tried in [`super::drawing`].

use super::samples::{HOSTILE, assortment, diamond, hostile, release};
use crate::labels::{breadth, cut_to_breadth, cut_to_columns, harmless};
use crate::letters::columns;
use crate::{Edge, Picture, Shape, State, SvgOptions, Vertex};

/// Checks that elements are closed in order and that text cannot be taken for anything else.
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "stray bracket in {:?}", &rest[..start]);
        let end = start + rest[start..].find('>').expect("every tag ends");
        let tag = &rest[start + 1..end];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or("");
        let known = ["svg", "title", "desc", "style", "rect", "text", "g", "path", "circle"];
        assert!(known.contains(&name), "<{tag}>");
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    assert!(svg.chars().all(|letter| letter == '\n' || !letter.is_control()));
    assert!(!svg.contains(['\u{202e}', '\u{2066}', '\u{fffe}']));
}

#[test]
fn svg_is_well_formed_whatever_the_names() {
    for (name, picture) in assortment() {
        let svg = picture.svg(&SvgOptions::default().live());
        assert_well_formed(&svg);
        assert_eq!(svg.matches("<g class=\"step").count(), picture.vertices.len(), "{name}");
    }
}

#[test]
fn svg_has_no_scripts_and_refers_to_nothing() {
    let svg = hostile().svg(&SvgOptions::default());
    for word in ["<script", "href", "url(", "@import", "<foreignObject", "<image", "onload"] {
        assert!(!svg.contains(word), "{word}");
    }
    assert_eq!(svg.matches("http").count(), 1, "only the name space is left");
}

#[test]
fn svg_names_every_step_for_pages_and_readers() {
    let mut picture = diamond().titled("release <1>");
    picture.vertices[1].state = Some(State::Running);
    picture.vertices[2] = Vertex::new("a \"b\"").shaped(Shape::Wait).explained("why\nso");
    let svg = picture.svg(&SvgOptions::default());
    assert!(svg.contains("role=\"img\""));
    assert!(svg.contains("<title>release &lt;1&gt;</title>"));
    assert!(svg.contains("<desc>4 steps, 4 dependencies. 1 running.</desc>"));
    assert!(svg.contains("<g class=\"step shape-step state-running\" data-step=\"test\""));
    assert!(svg.contains("<g class=\"step shape-wait\" data-step=\"a &quot;b&quot;\""));
    assert!(svg.contains("<title>a &quot;b&quot;&#10;why so</title>"));
}

#[test]
fn svg_has_colours_for_dark_ground_and_for_viewers_without_variables() {
    let svg = diamond().svg(&SvgOptions::default());
    assert!(svg.contains("prefers-color-scheme:dark"));
    assert!(svg.contains("prefers-reduced-motion"));
    assert!(svg.contains("fill:#18222d;fill:var(--ink);"));
    assert!(!svg.contains("fill@") && !svg.contains("stroke@") && !svg.contains(":;"));
    let style = svg.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
    for rule in style.unwrap_or("").lines().filter(|line| !line.starts_with('@')) {
        let is_bound = rule.is_empty() || rule.starts_with(".tidewheel-picture");
        assert!(is_bound, "{rule}");
    }
}

#[test]
fn svg_can_leave_its_style_to_the_page() {
    let bare = diamond().svg(&SvgOptions::default().without_style());
    assert_well_formed(&bare);
    assert!(!bare.contains("style"));
    let whole = diamond().svg(&SvgOptions::default());
    assert!(whole.contains(&crate::style_sheet()));
}

#[test]
fn svg_shows_one_mark_unless_it_is_live() {
    let mut picture = diamond();
    picture.vertices[0].state = Some(State::Failed);
    let still = picture.svg(&SvgOptions::default());
    assert_eq!(still.matches("class=\"mark mark-").count(), 1);
    let live = diamond().svg(&SvgOptions::default().live());
    assert_eq!(live.matches("class=\"mark mark-").count(), 6 * 4);
    assert_eq!(live.matches("state-pending\"").count(), 4);
}

#[test]
fn svg_keeps_critical_edges_on_top_and_dashes_inferred_ones() {
    let mut picture = release();
    picture.add_edge(Edge::new(0, 4).inferred());
    let svg = picture.svg(&SvgOptions::default());
    let edges: Vec<&str> = svg.lines().filter(|line| line.contains("class=\"edge")).collect();
    let first = edges.iter().position(|edge| edge.contains("critical")).unwrap_or(0);
    assert!(edges[first..].iter().all(|edge| edge.contains("critical")));
    assert_eq!(edges.len() - first, 4);
    assert_eq!(edges.iter().filter(|edge| edge.contains("\"edge inferred")).count(), 1);
}

#[test]
fn dot_quotes_every_name() {
    for (name, picture) in assortment() {
        let dot = picture.dot();
        for line in dot.lines() {
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
            assert_eq!(quotes % 2, 0, "{name}: {line}");
        }
        assert_eq!(dot.matches(" [label=").count(), picture.vertices.len(), "{name}");
    }
    assert!(hostile().dot().contains(r##"label="a\"b'c&amp;d\\N;#%%{init}%%"##));
}

#[test]
fn dot_says_states_and_connections() {
    let mut picture = diamond();
    picture.vertices[0] = Vertex::new("build").in_state(State::Failed).detailed("cargo").critical();
    picture.edges[0] = Edge::new(0, 1).inferred().critical();
    let dot = picture.dot();
    assert!(dot.contains("n0 [label=\"build\\ncargo\", fillcolor="), "{dot}");
    assert!(dot.contains("class=\"shape-step state-failed critical\""));
    assert!(dot.contains("  n0 -> n1 [style=dashed, penwidth=2.2"));
    assert!(dot.contains("  n0 -> n2;\n"));
}

#[test]
fn mermaid_writes_everything_that_could_mean_something_as_numbers() {
    let mermaid = hostile().mermaid();
    for line in mermaid.lines().filter(|line| line.starts_with("  n") && line.contains('"')) {
        let label = line.split('"').nth(1).unwrap_or("").replace("<br/>", "");
        assert_eq!(line.matches('"').count(), 2, "{line}");
        let is_plain = |letter: char| {
            letter.is_alphanumeric() || !letter.is_ascii() || " #;-_".contains(letter)
        };
        assert!(label.chars().all(is_plain), "{line}");
    }
    assert!(mermaid.contains("n6(\"1#46; list<br/>"));
    assert!(mermaid.contains("n8(\"#160;<br/>"));
}

#[test]
fn mermaid_says_states_and_connections() {
    let mut picture = diamond().titled("a: b");
    picture.vertices[0].state = Some(State::Running);
    picture.vertices[3].shape = Shape::CleanUp;
    picture.vertices[1].group = Some("checks".to_owned());
    picture.vertices[2].group = Some("checks".to_owned());
    picture.edges[1] = Edge::new(0, 2).inferred();
    picture.edges[2] = Edge::new(1, 3).critical();
    let expected = "\
---
title: \"a\\x3a b\"
---
flowchart LR
  n0(\"build\")
  subgraph g1[\"checks\"]
  n1(\"test\")
  n2(\"lint\")
  end
  n3{{\"publish\"}}
  n0 --> n1
  n0 -.-> n2
  n1 ==> n3
  n2 --> n3
  classDef running fill:#e8f0fe,stroke:#2561d8,color:#18222d
  class n0 running
";
    assert_eq!(picture.mermaid(), expected);
}

#[test]
fn json_gives_names_exactly() {
    let picture = hostile();
    let json = picture.json();
    assert_eq!(json["steps"][0]["name"], HOSTILE[0]);
    assert_eq!(json["steps"][3]["name"], HOSTILE[3]);
    assert_eq!(json["edges"][1]["kind"], "inferred");
    assert_eq!(json["edges"][0]["to"], HOSTILE[1]);
    assert_eq!(json["steps"][2]["level"], 2);
    assert!(Picture::new().json()["title"].is_null());
}

#[test]
fn text_is_cut_near_its_end() {
    assert_eq!(cut_to_columns("integration-tests-linux", 15), "integratio…inux");
    assert_eq!(cut_to_columns("short", 5), "short");
    assert_eq!(cut_to_columns("日本語のステップ", 7), "日本…プ");
    for room in 0..30 {
        assert!(columns(&cut_to_columns("日本語のステップ and more", room)) <= room.max(1));
        let cut = cut_to_breadth("integration-tests-linux", room * 400);
        assert!(breadth(&cut) <= (room * 400).max(1_000));
    }
}

#[test]
fn marks_are_not_piled_up() {
    let zalgo = format!("z{}o", "\u{301}".repeat(50));
    assert_eq!(harmless(&zalgo, 100), "z\u{301}\u{301}\u{301}o");
    assert_eq!(harmless("abcdef", 3), "abc…");
}
