//! Logs of all shapes, and hostile ones: what is read of them in part is what they are as a whole.

#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tidewheel_testing::{TempDir, temp_folder};

use super::signs::{last_state, spans};
use super::*;

/// A log in a folder of its own.
struct Log {
    folder: TempDir,
    /// Whose turn it is, and how much of it was not told.
    turn: Option<(usize, u64)>,
}

const ENDS: [&str; 3] = ["out", "err", "seq"];

impl Log {
    fn new() -> Self {
        Self { folder: temp_folder("log"), turn: None }
    }

    fn of(bytes: &[u8]) -> Self {
        let mut log = Self::new();
        log.write(0, bytes);
        log
    }

    fn path(&self, end: usize) -> PathBuf {
        self.folder.path().join(ENDS[end])
    }

    fn append(&self, end: usize, bytes: &[u8]) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.path(end)).unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Writes as processes do: to a stream, and of the other's turn that it is over.
    fn write(&mut self, stream: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.append(stream, bytes);
        match &mut self.turn {
            Some((now, told)) if *now == stream => *told += bytes.len() as u64,
            turn => {
                if let Some((before, told)) = turn.replace((stream, bytes.len() as u64)) {
                    self.append(2, format!("{} {told}\n", ["o", "e"][before]).as_bytes());
                }
            }
        }
    }

    fn files(&self) -> LogFiles {
        let (out, err, seq) = (self.path(0), self.path(1), self.path(2));
        LogFiles::open([Some(out.as_path()), Some(err.as_path())], Some(seq.as_path())).unwrap()
    }

    fn index(&self) -> (Index, LogFiles) {
        let (mut index, mut files) = (Index::default(), self.files());
        index.grow(&mut files).unwrap();
        (index, files)
    }

    fn lines(&self, from: i64, count: u64) -> Vec<ShownLine> {
        let (index, mut files) = self.index();
        index.page(&mut files, Wanted { from, count, bytes: 4096 }).unwrap().lines
    }

    fn found(&self, text: &str, is_regex: bool) -> Vec<u64> {
        let (index, mut files) = self.index();
        let search = Search::new(text, is_regex, None).unwrap();
        let mut hits = Vec::new();
        let found = index
            .search(&mut files, &search, 0, |some, _| {
                hits.extend_from_slice(some);
                true
            })
            .unwrap();
        assert!(found.is_whole);
        assert_eq!(found.count, hits.len() as u64);
        assert_eq!(found.buckets.iter().sum::<u64>(), found.count);
        hits
    }
}

/// Numbers that look like chance, the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn of<'a, T: ?Sized>(&mut self, some: &[&'a T]) -> &'a T {
        some[usize::try_from(self.below(some.len() as u64)).unwrap()]
    }
}

fn text(line: &ShownLine) -> String {
    line.spans.iter().map(|(_, text)| text.as_str()).collect()
}

/// What was written, as whole lines in the order of their ends.
#[derive(Default)]
struct Model {
    lines: Vec<(usize, Vec<u8>)>,
    open: [Vec<u8>; 2],
}

impl Model {
    fn write(&mut self, stream: usize, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.lines.push((stream, std::mem::take(&mut self.open[stream]))),
                byte => self.open[stream].push(*byte),
            }
        }
    }

    fn all(&self) -> Vec<(usize, Vec<u8>)> {
        let open = (0..2).filter(|&stream| !self.open[stream].is_empty());
        let open = open.map(|stream| (stream, self.open[stream].clone()));
        self.lines.iter().cloned().chain(open).collect()
    }
}

const PIECES: [&[u8]; 22] = [
    b"plain ",
    b"\n",
    b"\n",
    b"\r\n",
    b"50%\r",
    b"\x1b[31m",
    b"\x1b[1;38;5;200m",
    b"\x1b[0m",
    b"\x1b[m",
    b"\x1b]0;title\x07",
    b"\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\",
    b"\x1b]52;c;never ends \x1b[0m",
    b"\x1b[2J\x1b[6n\x1b[?1049h",
    b"\x1b",
    b"\xc2\x9b31m",
    b"\xff\xfe\x00\x07",
    "東京 e\u{301}\u{301}\u{301}\u{301}\u{301}".as_bytes(),
    "\u{202e}\u{200b}".as_bytes(),
    b"<script>alert(1)</script><img src=x onerror=alert(1)>",
    b"&lt;\"'`",
    b"\t",
    b"needle",
];

/// Some of anything, now and then more of it than fits anywhere.
fn some(chance: &mut Chance) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..chance.below(12) {
        bytes.extend_from_slice(chance.of(&PIECES));
    }
    match chance.below(40) {
        0 => bytes.extend(b"long ".repeat(30_000)),
        1 => bytes.extend(b"short\n".repeat(20_000)),
        _ => {}
    }
    bytes
}

#[test]
fn the_lines_of_a_long_log_are_counted_by_and_by_and_its_end_is_known_before() {
    let written: String = (0..100_000).map(|number| format!("line {number}\n")).collect();
    let mut log = Log::of(written.as_bytes());
    let (mut index, mut files) = (Index::default(), log.files());
    index.grow_by(&mut files, 100_000).unwrap();
    assert!((100_000..300_000).contains(&index.counted()), "{}", index.counted());
    let first = index.page(&mut files, Wanted { from: 0, count: 2, bytes: 99 }).unwrap();
    assert_eq!(first.lines.iter().map(text).collect::<Vec<_>>(), ["line 0", "line 1"]);
    let end = |log: &Log| {
        let end = Index::ending(&mut log.files(), 2, 99).unwrap();
        end.map(|end| end.lines.iter().map(text).collect::<Vec<_>>())
    };
    assert_eq!(end(&log).unwrap(), ["line 99998", "line 99999"]);
    let mut turns = 0;
    while index.counted() < files.size() {
        index.grow_by(&mut files, 100_000).unwrap();
        turns += 1;
    }
    assert!(turns > 2, "{turns}");
    let whole = log.index().0;
    assert_eq!((index.total(), index.generation()), (100_000, whole.generation()));
    log.write(0, b"not en");
    assert_eq!(end(&log).unwrap(), ["line 99999", "not en"]);
    log.write(1, b"an error\n");
    assert_eq!(end(&log), None, "in which order they came is told from the beginning on");
}

#[test]
fn what_nobody_has_told_the_order_of_is_counted_at_once() {
    let log = Log::new();
    log.append(0, "out\n".repeat(60_000).as_bytes());
    log.append(1, "err\n".repeat(60_000).as_bytes());
    let (mut index, mut files) = (Index::default(), log.files());
    index.grow_by(&mut files, 1).unwrap();
    index.grow_by(&mut files, 1).unwrap();
    assert_eq!((index.counted(), index.total()), (files.size(), 120_000));
}

#[test]
fn whatever_is_written_in_whatever_order_is_read_in_part_as_it_is_as_a_whole() {
    for seed in 0..16 {
        let mut chance = Chance(seed);
        let (mut log, mut model) = (Log::new(), Model::default());
        let mut index = Index::default();
        let mut generation = None;
        for _ in 0..chance.below(40) + 1 {
            for _ in 0..chance.below(6) {
                let stream = usize::try_from(chance.below(2)).unwrap();
                let bytes = some(&mut chance);
                log.write(stream, &bytes);
                model.write(stream, &bytes);
            }
            let mut files = log.files();
            index.grow(&mut files).unwrap();
            let all = model.all();
            assert_eq!(index.total(), all.len() as u64, "seed {seed}");
            let from = chance.below(all.len() as u64 + 1);
            let count = chance.below(30);
            let wanted = Wanted { from: from.cast_signed(), count, bytes: 1 << 20 };
            let page = index.page(&mut files, wanted).unwrap();
            let expected = all.iter().zip(0..).skip(usize::try_from(from).unwrap());
            let expected: Vec<_> = expected.take(usize::try_from(count).unwrap()).collect();
            assert_eq!(page.lines.len(), expected.len(), "seed {seed}");
            for (shown, ((stream, bytes), number)) in page.lines.iter().zip(expected) {
                let is_as_long = bytes.len() <= 64 << 10;
                let plain: String = spans(last_state(bytes).1, &mut Style::default())
                    .into_iter()
                    .map(|(_, text)| text)
                    .collect();
                assert!(!is_as_long || text(shown) == plain, "seed {seed}");
                assert_eq!((shown.number, usize::from(shown.is_error)), (number, *stream));
            }
            // Nothing was in another order than it looked at first.
            let same = generation.get_or_insert_with(|| index.generation());
            assert!(index.total() == 0 || *same == index.generation() || same.starts_with('0'));
            generation = Some(index.generation());
        }
    }
}

#[test]
fn colours_are_the_same_wherever_reading_begins() {
    for seed in 0..12 {
        let mut chance = Chance(seed);
        let mut log = Log::new();
        for _ in 0..60 {
            let bytes = some(&mut chance);
            // Of lines longer than that only the ends are looked at.
            if bytes.len() < 1000 || bytes.starts_with(b"short") {
                log.write(usize::try_from(chance.below(2)).unwrap(), &bytes);
            }
        }
        let whole = log.lines(0, u64::MAX);
        for _ in 0..20 {
            let from = chance.below(whole.len() as u64 + 1);
            let part = log.lines(from.cast_signed(), 5);
            let at = usize::try_from(from).unwrap();
            assert_eq!(part, whole[at..whole.len().min(at + 5)], "seed {seed}");
        }
    }
}

#[test]
fn nothing_that_is_shown_does_anything_but_show() {
    let is_word = |word: &str| {
        let number = |side| word.strip_prefix(side).and_then(|it| it.parse::<u8>().ok());
        ["b", "d", "i", "u", "s"].contains(&word)
            || number('f').or(number('g')).is_some_and(|colour| colour < 16)
    };
    for seed in 0..100 {
        let mut chance = Chance(seed);
        let mut bytes = Vec::new();
        for _ in 0..chance.below(200) {
            match chance.below(3) {
                0 => bytes.extend_from_slice(chance.of(&PIECES)),
                1 => bytes.push(u8::try_from(chance.below(256)).unwrap()),
                _ => bytes.extend_from_slice(chance.of(&[
                    &b"\x1b["[..],
                    b";",
                    b"3",
                    b"8",
                    b"m",
                    b"\x1b",
                    b":",
                ])),
            }
        }
        for line in Log::of(&bytes).lines(0, 1000) {
            for (style, text) in &line.spans {
                let is_safe = |letter: char| {
                    letter == '\t'
                        || !tidewheel_flow::picture::letters::is_hidden(letter)
                        || letter == '\u{200d}'
                };
                assert!(text.chars().all(is_safe), "seed {seed}: {text:?}");
                assert!(style.words().split_whitespace().all(is_word), "{}", style.words());
            }
        }
    }
    for first in 0..=255_u8 {
        for second in 0..=255_u8 {
            let shown = spans(&[b'a', first, second, b'm', b'z'], &mut Style::default());
            let has_control = shown
                .iter()
                .any(|(_, text)| text.contains(|it: char| it.is_control() && it != '\t'));
            assert!(!has_control, "{first} {second} became {shown:?}");
        }
    }
}

/// What was written, and what is shown of it: styles and letters.
type Shown = (&'static [u8], &'static [(&'static str, &'static str)]);

#[test]
fn sequences_vanish_colours_stay_and_what_was_written_over_is_gone() {
    let cases: [Shown; 15] = [
        (b"plain", &[("", "plain")]),
        (b"\x1b[31mred\x1b[0m rest", &[("f1", "red"), ("", " rest")]),
        (b"\x1b[31mre\x1b[31md", &[("f1", "red")]),
        (b"\x1b]0;title\x07text", &[("", "text")]),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", &[("", "link")]),
        (b"\x1bPq#0\x1b\\after", &[("", "after")]),
        (b"\xc2\x9d0;title\xc2\x9ctext", &[("", "text")]),
        (b"\x1b(0lqk\x1b(B", &[("", "lqk")]),
        (b"\x1b[?1049h\x1b[6n\x1b[>ctext", &[("", "text")]),
        (b"\x1b]0;never ends \x1b[31m", &[]),
        (b"10%\r20%\r\x1b[32m30%\r", &[("f2", "30%")]),
        (b"\x1b[31mover\rlast", &[("f1", "last")]),
        (b"\x00\x07\x7f", &[("", "\u{2400}\u{2407}\u{2421}")]),
        ("\u{202e}x".as_bytes(), &[("", "\\u{202e}x")]),
        (b"\x1b\x1b[31mx", &[("f1", "x")]),
    ];
    for (bytes, expected) in cases {
        let lines = Log::of(bytes).lines(0, 10);
        let shown: Vec<(String, &str)> =
            lines[0].spans.iter().map(|(style, text)| (style.words(), text.as_str())).collect();
        let shown: Vec<(&str, &str)> =
            shown.iter().map(|(style, text)| (style.as_str(), *text)).collect();
        assert_eq!(shown, expected, "{bytes:?}");
    }
    let lines = Log::of(b"\x1b[31mone\ntwo\x1b]8;;\nthree\x1b[0m\nfour").lines(0, 10);
    let styles: Vec<String> = lines.iter().map(|line| line.spans[0].0.words()).collect();
    assert_eq!(styles, ["f1", "f1", "f1", ""]);
}

#[test]
fn a_long_line_is_cut_and_says_how_long_it_is() {
    let mut bytes = b"first\n".to_vec();
    bytes.extend("é".repeat(1_500_000).as_bytes());
    bytes.extend(b"\nlast\n");
    let log = Log::of(&bytes);
    let lines = log.lines(0, 10);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1].cut, Some(Cut { from: 6, bytes: 3_000_000 }));
    assert_eq!(text(&lines[1]), "é".repeat(2048));
    assert_eq!((text(&lines[2]).as_str(), lines[2].cut), ("last", None));
    assert_eq!(log.found("last", false), [2]);
    assert_eq!(log.found("éé$", true), [1]);
    assert_eq!(log.found("^é{3}[^é]", true), [] as [u64; 0]);
    let progress = b"\x1b[1m50%\r".repeat(100_000);
    let log = Log::of(&[&progress[..], b"done"].concat());
    assert_eq!(text(&log.lines(0, 1)[0]), "done");
}

#[test]
fn a_log_that_grows_is_read_on_and_one_that_was_replaced_has_another_generation() {
    let mut log = Log::of(b"one\ntw");
    let (mut index, _) = log.index();
    assert_eq!(index.total(), 2);
    let generation = index.generation();
    log.write(0, b"o\nthree\n");
    log.write(1, b"four\n");
    let mut files = log.files();
    index.grow(&mut files).unwrap();
    assert_eq!((index.total(), index.generation()), (4, generation.clone()));
    let page = index.page(&mut files, Wanted { from: -3, count: 9, bytes: 100 }).unwrap();
    let shown: Vec<String> = page.lines.iter().map(text).collect();
    assert_eq!((page.from, shown), (1, ["two", "three", "four"].map(str::to_owned).to_vec()));
    std::fs::write(log.path(0), "anew\n").unwrap();
    std::fs::remove_file(log.path(1)).unwrap();
    std::fs::remove_file(log.path(2)).unwrap();
    index.grow(&mut log.files()).unwrap();
    assert_eq!(index.total(), 1);
    assert_ne!(index.generation(), generation);
}

#[test]
fn an_order_that_comes_late_is_followed() {
    let log = Log::new();
    log.append(0, b"out 1\n");
    log.append(1, b"err 1\n");
    let (mut index, _) = log.index();
    let generation = index.generation();
    log.append(1, b"err 2\n");
    log.append(2, b"e 12\no 6\n");
    let mut files = log.files();
    index.grow(&mut files).unwrap();
    let page = index.page(&mut files, Wanted { from: 0, count: 9, bytes: 100 }).unwrap();
    let shown: Vec<String> = page.lines.iter().map(text).collect();
    assert_eq!(shown, ["err 1", "err 2", "out 1"]);
    assert_ne!(index.generation(), generation);
}

#[test]
fn the_index_of_many_lines_is_small_and_finds_each() {
    let log = Log::of(b"");
    let line =
        |number: u64| format!("{number:09} {}\n", "x".repeat(usize::try_from(number % 7).unwrap()));
    let mut text_of = String::new();
    for number in 0..300_000 {
        text_of += &line(number);
    }
    std::fs::write(log.path(0), &text_of).unwrap();
    let (index, mut files) = log.index();
    assert_eq!(index.total(), 300_000);
    assert!(index.memory() < 16 << 10, "{}", index.memory());
    for number in [0, 1, 1023, 1024, 150_000, 299_999] {
        let wanted = Wanted { from: i64::try_from(number).unwrap(), count: 1, bytes: 100 };
        let page = index.page(&mut files, wanted).unwrap();
        assert_eq!(text(&page.lines[0]) + "\n", line(number));
    }
    assert_eq!(
        index.page(&mut files, Wanted { from: -1, count: 5, bytes: 100 }).unwrap().from,
        299_999
    );
}

#[test]
fn every_line_is_found_once_and_where_it_is() {
    let mut log = Log::new();
    let mut expected = Vec::new();
    let mut chance = Chance(7);
    for number in 0..50_000 {
        let stream = usize::try_from(chance.below(2)).unwrap();
        match chance.below(26) {
            0 => {
                expected.push(number);
                log.write(stream, b"a \x1b[31mNee\x1b[0mdle, a Needle\n");
            }
            1 => log.write(stream, b"Needle overwritten\rneedl\n"),
            _ => log.write(stream, b"hay\n"),
        }
    }
    assert!(expected.len() > 1500);
    assert_eq!(log.found("Needle", false), expected);
    assert_eq!(log.found(r"^a\s+Ne{2}dle,", true), expected);
    // What would match from one line into the next does not.
    assert_eq!(log.found(r"hay\s+a", true), [] as [u64; 0]);
    assert_eq!(log.found(r"(?s)hay.a", true), [] as [u64; 0]);
    assert_eq!(log.found("x*", true).len(), 50_000);
}

#[test]
fn a_search_stops_when_nobody_listens() {
    let log = Log::of(&b"needle\n".repeat(10_000));
    let (index, mut files) = log.index();
    let search = Search::new("needle", false, None).unwrap();
    let mut told = 0;
    let found = index.search(&mut files, &search, 0, |_, _| {
        told += 1;
        false
    });
    let found = found.unwrap();
    assert_eq!((told, found.is_whole, found.count), (1, false, 256));
    let found = index.search(&mut files, &search, 9_990, |_, _| true).unwrap();
    assert_eq!((found.count, found.buckets[199]), (10, 10));
}

#[test]
fn what_cannot_be_searched_for_is_refused() {
    let refused = |text: &str| Search::new(text, true, None).unwrap_err();
    assert_eq!(refused(""), SearchError::Empty);
    assert_eq!(refused(&"a".repeat(1001)), SearchError::TooLong);
    assert_eq!(refused(r"\Aa"), SearchError::Ends);
    assert!(matches!(refused("a(b"), SearchError::Expression(why) if why == "unclosed group"));
    assert!(matches!(refused("(?:a{1000}){1000}"), SearchError::Expression(_)));
    assert!(Search::new("a(b", false, None).is_ok());
    // What takes others forever takes as long as the log is.
    let log = Log::of(&[&b"a".repeat(100_000)[..], b"!"].concat());
    assert_eq!(log.found("(a+)+$", true), [] as [u64; 0]);
}

#[test]
fn capital_letters_matter_if_there_are_any() {
    let log = Log::of(b"Error\nerror\nERROR\n");
    assert_eq!(log.found("error", false), [0, 1, 2]);
    assert_eq!(log.found("Error", false), [0]);
}

#[test]
fn the_first_error_is_found() {
    let first = |turns: &[(usize, &str)]| {
        let mut log = Log::new();
        for (stream, text) in turns {
            log.write(*stream, text.as_bytes());
        }
        let (index, mut files) = log.index();
        first_error(&index, &mut files).unwrap().map(|it| (it.line, it.is_error, it.is_likely))
    };
    assert_eq!(first(&[(0, "fine\n0 errors\nno error\n")]), None);
    assert_eq!(first(&[(0, "fine\nerror: x\nerror: y\n")]), Some((1, false, true)));
    assert_eq!(first(&[(0, "a\n"), (1, "warming up\n"), (0, "b\n")]), Some((1, true, false)));
    assert_eq!(first(&[(0, "a\n"), (1, "partial")]), Some((1, true, false)));
    assert_eq!(
        first(&[(0, "error in tests\n"), (1, "b\nthread 'main' panicked at x\n")]),
        Some((2, true, true))
    );
    assert_eq!(first(&[(0, "\x1b[31merr\x1b[1mor\x1b[0m: x\n")]), Some((0, false, true)));
    assert_eq!(first(&[]), None);
}

#[test]
fn a_log_that_is_not_there_is_empty() {
    let nothing = Path::new("/nothing/there");
    let mut files = LogFiles::open([Some(nothing), None], None).unwrap();
    let mut index = Index::default();
    index.grow(&mut files).unwrap();
    assert_eq!((index.total(), files.size()), (0, 0));
}
