//! The drawing for terminals: small ones as they are, large ones by what can be read from them.

use std::collections::BTreeSet;

use super::samples::{assortment, diamond, hostile, of, random, release};
use crate::arms::{Arms, Weight};
use crate::letters::columns;
use crate::{Picture, Shape, State, Vertex};

#[test]
fn a_diamond_joins_again() {
    let drawing = "\
○      build
├─○─╮  test
╰─○─┤  lint
    ○  publish
";
    assert_eq!(diamond().text(80, false), drawing);
}

#[test]
fn a_chain_goes_down() {
    let picture = of(&[("a", "b"), ("b", "c")]);
    assert_eq!(picture.text(80, false), "○  a\n│\n○  b\n│\n○  c\n");
}

#[test]
fn branches_are_drawn_one_after_the_other() {
    let picture = of(&[
        ("start", "a1"),
        ("start", "a2"),
        ("a1", "b1"),
        ("a2", "b2"),
        ("b1", "end"),
        ("b2", "end"),
        ("start", "end"),
    ]);
    let drawing = "\
○      start
├─○    a1
│ │
│ ○─╮  b1
├─○ │  a2
│ │ │
│ ○─┤  b2
╰───○  end
";
    assert_eq!(picture.text(80, false), drawing);
}

#[test]
fn the_critical_path_is_heavy() {
    let drawing = "\
●          checkout
┡━●        build
│ ┠─○─╮    unit
├─┃─○─┤    lint
○ ┃   │    fetch
╰─╄━●━┪    system
  │   ●━┓  approve
  ╰───○─┨  package
        ●  deploy

━ critical path
";
    assert_eq!(release().text(80, false), drawing);
}

#[test]
fn states_details_and_shapes_are_shown() {
    let mut picture = Picture::new().titled("release");
    let states = [State::Succeeded, State::Failed, State::Skipped];
    for (index, state) in states.into_iter().enumerate() {
        let vertex = Vertex::new(format!("step {index}")).in_state(state).detailed("http");
        let vertex = picture.add(vertex);
        picture.connect(vertex, 3);
    }
    picture.add(Vertex::new("clean").in_state(State::Pending).shaped(Shape::CleanUp));
    let drawing = "\
release

✓─╮  step 0  http
✗─┤  step 1  http
–─┤  step 2  http
  ▽  clean

▽ clean up
";
    assert_eq!(picture.text(80, false), drawing);
}

#[test]
fn parts_stand_apart_and_lonely_steps_together() {
    let picture = of(&[("lonely", ""), ("a", "b"), ("c", "d"), ("alone", "")]);
    let drawing = "○  a\n│\n○  b\n\n○  c\n│\n○  d\n\n○  lonely\n○  alone\n";
    assert_eq!(picture.text(80, false), drawing);
}

#[test]
fn what_does_not_fit_is_listed_by_level() {
    let mut picture = Picture::new();
    for index in 0..60 {
        picture.add(Vertex::new(format!("s{index}")));
    }
    for from in 0..30 {
        for step in [0, 7, 11, 19] {
            picture.connect(from, 30 + (from + step) % 30);
        }
    }
    let text = picture.text(50, false);
    assert!(text.starts_with("level 1\n  ○  s0\n  ○  s1\n"), "{text}");
    assert!(text.contains("\nlevel 2\n  ○  s30  after: s0, s11, s19, s23\n"), "{text}");
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, picture) in assortment() {
        let mut plain = String::new();
        for (index, part) in picture.text(80, true).split('\u{1b}').enumerate() {
            let start = if index == 0 { 0 } else { part.find('m').map_or(0, |end| end + 1) };
            plain.push_str(&part[start..]);
        }
        assert_eq!(plain, picture.text(80, false), "{name}");
    }
}

#[test]
fn lines_are_no_longer_than_the_terminal() {
    for (name, picture) in assortment() {
        for width in [24, 40, 80, 200] {
            for line in picture.text(width, false).lines() {
                assert!(columns(line) <= width, "{name}: {line}");
                assert_eq!(line, line.trim_end(), "{name}");
            }
        }
    }
}

#[test]
fn hostile_names_cannot_steer_the_terminal() {
    let text = hostile().text(300, false);
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()));
    assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}']));
    assert!(text.contains("�[31mred"));
}

#[test]
fn every_edge_can_be_read_from_the_drawing_and_no_other() {
    let mut read = 0;
    for seed in 1..120 {
        let size = 3 + seed as usize % 28;
        let picture = random(size, size * (1 + seed as usize % 3), 12, seed);
        let text = picture.text(400, false);
        assert!(!text.contains("level"), "{text}");
        let expected: BTreeSet<(String, String)> = picture
            .edges
            .iter()
            .map(|edge| (format!("s{}", edge.from), format!("s{}", edge.to)))
            .collect();
        assert_eq!(edges_of(&text), expected, "{text}");
        read += expected.len();
    }
    assert!(read > 1_000);
}

/// Follows the lines as a reader would.
fn edges_of(text: &str) -> BTreeSet<(String, String)> {
    let rows: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let mut edges = BTreeSet::new();
    for (row, characters) in rows.iter().enumerate() {
        let Some(step) = step_in(characters) else { continue };
        let mut starts = vec![step];
        // Lines from the left: every lane on the way that has an arm to the side.
        for column in (0..step).rev() {
            let arms = arms(characters[column]);
            if arms.right == Weight::None && (arms.up == Weight::None || column % 2 == 1) {
                break;
            }
            if arms.up != Weight::None && arms.right != Weight::None {
                starts.push(column);
            }
        }
        for column in starts {
            for source in sources(&rows, row, column) {
                edges.insert((source, name_of(characters)));
            }
        }
    }
    edges
}

/// The steps that lead into a lane above a row.
fn sources(rows: &[Vec<char>], row: usize, column: usize) -> Vec<String> {
    let mut sources = Vec::new();
    for (at, characters) in rows[..row].iter().enumerate().rev() {
        let step = step_in(characters);
        if step == Some(column) {
            // A step leads down only where a line begins right below it.
            let below = rows[at + 1].get(column).copied().unwrap_or(' ');
            if arms(below).up != Weight::None {
                sources.push(name_of(characters));
            }
            break;
        }
        let arms = arms(characters.get(column).copied().unwrap_or(' '));
        if arms.down == Weight::None {
            break;
        }
        if step.is_some_and(|step| step < column) && arms.left != Weight::None {
            sources.push(name_of(characters));
        }
        if arms.up == Weight::None {
            break;
        }
    }
    sources
}

fn step_in(characters: &[char]) -> Option<usize> {
    characters.iter().position(|character| *character == '○')
}

fn name_of(characters: &[char]) -> String {
    characters.iter().collect::<String>().split_whitespace().next_back().unwrap_or("").to_owned()
}

fn arms(character: char) -> Arms {
    let weights = [Weight::None, Weight::Light, Weight::Heavy];
    for up in weights {
        for right in weights {
            for down in weights {
                for left in weights {
                    let arms = Arms { up, right, down, left };
                    if arms.character() == character {
                        return arms;
                    }
                }
            }
        }
    }
    Arms::default()
}
