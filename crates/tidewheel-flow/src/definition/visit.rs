//! Every template of a step, wherever it stands.
//!
//! What is looked for in them is the business of whoever asks.

use crate::definition::{
    CommandLine, HttpBody, HttpWork, OutputRule, Step, Surroundings, WaitFor, Work,
};
use crate::language::tree::{Leaf, Tree};

impl Step {
    /// Calls `visit` with each template of the step.
    pub(crate) fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        self.visit_work(visit);
        self.surroundings.visit(visit);
        visit_all(self.input.as_deref().into_iter(), visit);
        for output in &self.outputs {
            if let OutputRule::Template(tree) = &output.value {
                tree.visit(visit);
            }
        }
        let retry_when = self.retry_if.as_ref().and_then(|retry| retry.when.as_ref());
        let until = self.repeat.as_ref().map(|repeat| &repeat.until);
        self.when.as_deref().into_iter().chain(retry_when).chain(until).for_each(&mut *visit);
        if let Some(foreach) = &self.foreach {
            foreach.list.visit(visit);
            if let Some(label) = &foreach.label {
                visit(label);
            }
        }
        visit_all(self.artifacts.iter().map(|rule| &rule.path), visit);
        if let Some(cache) = &self.cache {
            visit_all(cache.inputs.iter().chain(&cache.outputs).chain(&cache.key), visit);
        }
    }

    fn visit_work<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        match &self.work {
            Work::Process(process) => {
                if let CommandLine::Argv(words) = &process.command {
                    visit_all(words.iter(), visit);
                }
            }
            Work::Http(request) => request.visit(visit),
            Work::Env(_) => {}
            Work::File(file) => file.path.visit(visit),
            Work::Wait(wait) => match &wait.what {
                WaitFor::Instant(tree) | WaitFor::File(tree) => tree.visit(visit),
                WaitFor::Http(request) => request.visit(visit),
                WaitFor::Time(_) | WaitFor::Run(_) | WaitFor::Approval(_) => {}
            },
            Work::Flow(child) => visit_all(child.params.iter().map(|(_, tree)| tree), visit),
        }
    }
}

impl HttpWork {
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        self.url.visit(visit);
        visit_all(self.method.iter(), visit);
        visit_all(self.headers.iter().chain(&self.query).map(|(_, tree)| tree), visit);
        match &self.body {
            HttpBody::None => {}
            HttpBody::Json(tree) => tree.visit(visit),
            HttpBody::Text { text, content_type } => {
                visit_all(std::iter::once(text).chain(content_type), visit);
            }
        }
    }
}

impl Surroundings {
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Leaf)) {
        visit_all(self.env.iter().map(|(_, tree)| tree), visit);
        visit_all(self.cwd.as_deref().into_iter().chain(self.stdin.as_deref()), visit);
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.visit(visit);
        }
    }
}

fn visit_all<'a>(trees: impl Iterator<Item = &'a Tree>, visit: &mut dyn FnMut(&'a Leaf)) {
    for tree in trees {
        tree.visit(visit);
    }
}
