//! What happens to the clocks of a world: they jump, and the machine sleeps.
//!
//! How time passes otherwise is in `world`, how far a clock can be set wrong in `extremes`.

use tidewheel_core::input::{Event, Input};

use crate::world::World;

impl World {
    /// Sets the wall clock, or lets the machine sleep.
    pub(crate) fn disturb_clock(&mut self) {
        if self.extremes.jump(&mut self.now, &mut self.coverage) {
            self.wall_jumped = true;
            self.trace.add(format_args!("clock {:?}", self.now));
            self.turn(vec![Input::Event(Event::TimePassed)], Vec::new());
            return;
        }
        let by = match self.random.below(3) {
            0 => self.random.millis(1, 5_000),
            1 => self.random.millis(5_000, 600_000),
            _ => self.random.millis(600_000, 7_200_000),
        };
        match self.random.below(3) {
            0 => {
                self.coverage.hit("fault: clock forward");
                self.now.wall = self.now.wall.after(by);
                self.wall_jumped = true;
            }
            1 => {
                self.coverage.hit("fault: clock back");
                self.now.wall = self.now.wall.before(by);
                self.wall_jumped = true;
            }
            _ => {
                self.coverage.hit("fault: suspend");
                self.pass(by);
            }
        }
        self.trace.add(format_args!("clock {:?}", self.now));
        self.turn(vec![Input::Event(Event::TimePassed)], Vec::new());
    }
}
