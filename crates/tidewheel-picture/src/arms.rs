//! Characters for lines: which arms a cell of a drawing has, and what character shows them.
//!
//! Where lines go is in [`super::lanes`].

/// How thick a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Weight {
    #[default]
    None,
    Light,
    Heavy,
}

impl Weight {
    /// A line that is there, heavy or not.
    pub(super) fn of(is_heavy: bool) -> Self {
        if is_heavy { Self::Heavy } else { Self::Light }
    }
}

/// The lines that meet in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arms {
    pub(super) up: Weight,
    pub(super) right: Weight,
    pub(super) down: Weight,
    pub(super) left: Weight,
}

impl Arms {
    pub(super) fn character(self) -> char {
        let at = self.up as usize
            + 3 * self.right as usize
            + 9 * self.down as usize
            + 27 * self.left as usize;
        CHARACTERS[at]
    }
}

/// By the weights of the arms: up counts 1, right 3, down 9, left 27.
#[rustfmt::skip]
const CHARACTERS: [char; 81] = [
    ' ', '╵', '╹', '╶', '╰', '┖', '╺', '┕', '┗',
    '╷', '│', '╿', '╭', '├', '┞', '┍', '┝', '┡',
    '╻', '╽', '┃', '┎', '┟', '┠', '┏', '┢', '┣',
    '╴', '╯', '┚', '─', '┴', '┸', '╼', '┶', '┺',
    '╮', '┤', '┦', '┬', '┼', '╀', '┮', '┾', '╄',
    '┒', '┧', '┨', '┰', '╁', '╂', '┲', '╆', '╊',
    '╸', '┙', '┛', '╾', '┵', '┹', '━', '┷', '┻',
    '┑', '┥', '┩', '┭', '┽', '╃', '┯', '┿', '╇',
    '┓', '┪', '┫', '┱', '╅', '╉', '┳', '╈', '╋',
];
