//! Tests of the settings: `layers` which word wins and what values are, `places` where files are
//! looked for, `files` what is wrong with them, `page` the table and the page about it.

mod files;
mod layers;
mod page;
mod places;
mod scene;
