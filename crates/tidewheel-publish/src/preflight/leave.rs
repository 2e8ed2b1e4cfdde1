//! Whether there is leave to upload, as far as it can be known without uploading anything.
//!
//! Where tokens come from is in [`crate::settings`], how registries are asked about them in [`crate::exchange`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidewheel::clock::wall_clock;
use tokio::task::JoinSet;

use crate::exchange::{Trouble, Who};
use crate::package::{Ecosystem, PackageId};
use crate::plan::{Class, Plan, Planned};
use crate::problem::{Code, Problem};
use crate::run::Publisher;
use crate::settings::{Credentials, Scope, Target};
use crate::workspace::Workspace;

/// Packages that would be uploaded without leave.
pub(crate) async fn about_leave(
    publisher: &Publisher,
    workspace: &Workspace,
    plan: &Plan,
    targets: &BTreeMap<PackageId, Target>,
    asks: bool,
) -> Vec<Problem> {
    let mut told: BTreeSet<(String, String)> = BTreeSet::new();
    let mut problems = Vec::new();
    let mut object = |id: &PackageId, target: &Target, (what, hint): (String, String)| {
        // What is wrong with a token is wrong with it for all packages.
        if told.insert((target.address.index.clone(), what.clone())) {
            problems.push(Problem {
                code: Code::Credentials,
                package: Some(id.clone()),
                file: workspace.package(id).map(|it| it.manifest.clone()).unwrap_or_default(),
                line: None,
                what,
                hint: Some(hint),
            });
        }
    };
    let uploads = || plan.uploads().filter_map(|it| Some((it, targets.get(&it.id)?)));
    for (planned, target) in uploads() {
        if let Some(wrong) = by_itself(&planned.id, target) {
            object(&planned.id, target, wrong);
        }
        if is_trusted(target) && is_first(planned) {
            object(&planned.id, target, unheard(&planned.id));
        }
    }
    if asks {
        let known: Vec<(PackageId, Target, bool)> = uploads()
            .filter(|(planned, target)| {
                planned.id.ecosystem() == Ecosystem::Npm
                    && target.credentials.is_some()
                    && !is_trusted(target)
            })
            .map(|(planned, target)| {
                (planned.id.clone(), target.clone(), planned.class == Class::Update)
            })
            .collect();
        for (id, target, wrong) in asked_of_npm(publisher, known).await {
            object(&id, &target, wrong);
        }
        for (planned, target) in
            uploads().filter(|(it, target)| is_trusted(target) && !is_first(it))
        {
            if let Err(trouble) = publisher.client.with_leave_for(target, &planned.id).await {
                object(&planned.id, target, distrusted(&planned.id, target, &trouble));
            }
        }
    }
    problems
}

fn is_trusted(target: &Target) -> bool {
    target.credentials == Some(Credentials::Trusted)
}

/// Whether a package is one that its registry can trust nobody with yet. Python's can be told of it before.
fn is_first(planned: &Planned) -> bool {
    planned.class == Class::New && planned.id.ecosystem() != Ecosystem::Python
}

fn unheard(id: &PackageId) -> (String, String) {
    let what = format!("{id} is new, and its registry trusts pipelines only with what it knows");
    (what, "publish its first version with a token, then name the pipeline on its page".to_owned())
}

fn distrusted(id: &PackageId, target: &Target, trouble: &Trouble) -> (String, String) {
    let registry = &target.address.name;
    let what = format!("`{registry}` gives this pipeline no token for {id}: {trouble}");
    let hint =
        "name the pipeline as one to be trusted on the page of the package, or give it a token";
    (what, hint.to_owned())
}

/// What can be seen without asking anybody: what is wrong, and what to do.
fn by_itself(id: &PackageId, target: &Target) -> Option<(String, String)> {
    let (registry, hint) = (&target.address.name, target.credentials_hint.clone());
    match &target.credentials {
        None => Some((format!("there is no token for the registry `{registry}`"), hint)),
        Some(Credentials::Token(token) | Credentials::Bearer(token)) if !token.is_plain() => {
            let what = format!("what is kept as the token for `{registry}` is none");
            Some((format!("{what}: it has signs in it that no token has"), hint))
        }
        Some(Credentials::Basic { password, .. }) => {
            let scope = Scope::of(password)?;
            let why = scope.objection(id.name(), wall_clock())?;
            let what = format!("the token for `{registry}` does not let {id} be uploaded: {why}");
            Some((what, "make one that does on the pages of the registry".to_owned()))
        }
        Some(_) => None,
    }
}

/// What registries of npm say themselves: who a token is of, and what they may write.
async fn asked_of_npm(
    publisher: &Publisher,
    known: Vec<(PackageId, Target, bool)>,
) -> Vec<(PackageId, Target, (String, String))> {
    let mut people: BTreeMap<String, Who> = BTreeMap::new();
    for (_, target, _) in &known {
        let index = &target.address.index;
        if !people.contains_key(index) {
            people.insert(index.clone(), publisher.client.who(target).await);
        }
    }
    let mut asking = JoinSet::new();
    for (id, target, is_out) in known {
        let client = Arc::clone(&publisher.client);
        let who = people.get(&target.address.index).cloned().unwrap_or(Who::Unsaid);
        asking.spawn(async move {
            let wrong = match who {
                Who::Nobody(said) => {
                    let what =
                        format!("the token for `{}` is not good: {said}", target.address.name);
                    (what, target.credentials_hint.clone())
                }
                Who::Known(user) if is_out => {
                    client.may_write(&target, &id, &user).await.filter(|may| !may)?;
                    let what = format!("`{user}`, whose token it is, may not write {id}");
                    (what, "ask somebody who owns it: `npm owner add`".to_owned())
                }
                _ => return None,
            };
            Some((id, target, wrong))
        });
    }
    let mut found: Vec<_> = asking.join_all().await.into_iter().flatten().collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
