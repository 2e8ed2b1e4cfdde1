//! [`Filter`]: a filter by its name, and the table of all of them.
//!
//! What each does is in the files beside this one.

use super::super::arguments::Given;
use super::super::budget::Budget;
use super::super::error::TemplateError;
use super::super::value::Value;
use super::{convert, lists, picking, text};

type Run = fn(&mut Budget, &Value, Given) -> Result<Value, TemplateError>;

/// A filter by its name.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Filter {
    pub(in super::super) name: &'static str,
    /// Whether it may be given something that is not there.
    pub(in super::super) takes_undefined: bool,
    run: Run,
}

impl Filter {
    pub(in super::super) fn run(
        &self,
        budget: &mut Budget,
        value: &Value,
        given: Given,
    ) -> Result<Value, TemplateError> {
        self.run_bare(budget, value, given).map_err(|mut error| {
            if !error.is_limit && error.undefined.is_none() {
                error.message = format!("the filter `{}`: {}", self.name, error.message);
            }
            error
        })
    }

    /// Without its name in messages, for a method that does the same.
    pub(in super::super) fn run_bare(
        &self,
        budget: &mut Budget,
        value: &Value,
        given: Given,
    ) -> Result<Value, TemplateError> {
        // Every filter looks at its value at least once.
        budget.read(value.weight())?;
        (self.run)(budget, value, given)
    }
}

/// The filter of that name.
pub(in super::super) fn find(name: &str) -> Option<Filter> {
    FILTERS.iter().find(|(known, _)| *known == name).map(|(name, run)| Filter {
        name,
        takes_undefined: matches!(*name, "default" | "d"),
        run: *run,
    })
}

/// All names, for messages.
pub(in super::super) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|(name, _)| *name)
}

const FILTERS: &[(&str, Run)] = &[
    ("abs", convert::abs),
    ("attr", convert::attr),
    ("b64decode", convert::b64decode),
    ("b64encode", convert::b64encode),
    ("batch", lists::batch),
    ("bool", convert::bool),
    ("capitalize", text::capitalize),
    ("count", lists::length),
    ("d", convert::default),
    ("default", convert::default),
    ("dictsort", lists::dictsort),
    ("e", text::escape),
    ("escape", text::escape),
    ("first", lists::first),
    ("float", convert::float),
    ("format", text::format),
    ("fromjson", convert::fromjson),
    ("groupby", picking::groupby),
    ("indent", text::indent),
    ("int", convert::int),
    ("items", lists::items),
    ("join", text::join),
    ("last", lists::last),
    ("length", lists::length),
    ("lines", text::lines),
    ("list", lists::list),
    ("lower", text::lower),
    ("map", picking::map),
    ("max", lists::max),
    ("min", lists::min),
    ("reject", picking::reject),
    ("rejectattr", picking::rejectattr),
    ("replace", text::replace),
    ("reverse", lists::reverse),
    ("round", convert::round),
    ("safe", text::safe),
    ("select", picking::select),
    ("selectattr", picking::selectattr),
    ("slice", lists::slice),
    ("sort", lists::sort),
    ("split", text::split),
    ("string", text::string),
    ("sum", lists::sum),
    ("title", text::title),
    ("tojson", convert::tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", lists::unique),
    ("upper", text::upper),
    ("urlencode", text::urlencode),
    ("wordcount", text::wordcount),
];
