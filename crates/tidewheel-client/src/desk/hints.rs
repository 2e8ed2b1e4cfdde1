//! What can be done about a [`DeskError`], in words.
//!
//! What went wrong is said in [`super::error`].

use tidewheel::RunId;
use tidewheel::store::StoreError;
use tidewheel::store::sqlite::FolderError;
use tidewheel_flow::{AgainError, ParamError};

use super::error::{DeskError, FolderProblem};
use crate::text::{harmless, short_id};

impl DeskError {
    /// What can be done about it.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Folder(problem) => folder_hint(problem).into_iter().collect(),
            Self::NoRun { .. } => vec!["`tidewheel runs` lists them".to_owned()],
            Self::SeveralRuns { runs, .. } => {
                let runs: Vec<String> = runs.iter().map(ToString::to_string).collect();
                vec![format!("one of {}", runs.join(", "))]
            }
            Self::NoStep { near, .. }
            | Self::NoFlow { near, .. }
            | Self::NoSchedule { near, .. } => {
                near.iter().map(|near| format!("did you mean `{near}`?")).collect()
            }
            Self::NotInFlow { near, .. } => near.iter().cloned().collect(),
            Self::NoArtifact { near, .. } => {
                near.iter().map(|near| format!("did you mean `{}`?", harmless(near))).collect()
            }
            Self::SeveralArtifacts { steps, .. } => {
                let steps: Vec<String> = steps.iter().map(|step| harmless(step)).collect();
                vec![format!("say which one with --step: {}", steps.join(", "))]
            }
            Self::NoFiles { .. } => {
                vec!["leave out --new-files, or start a new run:  tidewheel run -".to_owned()]
            }
            Self::NoAttempt { newest, .. } => vec![match newest {
                0 => "it was not started".to_owned(),
                1 => "it has attempt 1".to_owned(),
                newest => format!("it has attempts 1 to {newest}"),
            }],
            Self::AsksNobody { asking, .. } if !asking.is_empty() => {
                vec![format!("these do: {}", asking.join(", "))]
            }
            Self::Param { error, known } => param_hint(error, known).into_iter().collect(),
            Self::ParamForm { .. } => vec!["write --param name=value".to_owned()],
            Self::LeftBehind { .. } => vec![
                "a process that cannot be ended waits for a disk or a network; try again when it is gone"
                    .to_owned(),
            ],
            Self::NotServed { .. } => vec!["tidewheel serve --flows DIR  has it fire".to_owned()],
            Self::TooManyFirings { .. } => vec!["say how many may be with --max".to_owned()],
            Self::BackfillFromWhen => vec!["say --from INSTANT, or --missed".to_owned()],
            Self::Served(_) => vec!["stop it first, or say another folder with --data".to_owned()],
            Self::Held(_) => vec!["the run is alive: watch it where it runs".to_owned()],
            Self::NotStarted(not) => vec![format!("the data folder is {}", not.path.display())],
            Self::NotEnded { run, is_abandoned } => not_ended(*run, *is_abandoned),
            Self::Retried { by, .. } => {
                let by = short_id(*by);
                vec![
                    format!("tidewheel show {by}  says how that stands"),
                    format!("tidewheel cancel {by}  ends it"),
                ]
            }
            Self::Ended { run, .. } => {
                vec![format!("tidewheel retry {}  runs what is left in a new run", short_id(*run))]
            }
            Self::Abandoned { run } => {
                let run = short_id(*run);
                let resume = format!("tidewheel resume {run}  goes on with it");
                vec![resume, format!("tidewheel cancel {run}  ends it")]
            }
            Self::Again { run, error, near } => again_hints(*run, error, near.as_deref()),
            Self::Changed { run, .. } => changed(*run),
            Self::OfKind(refusal) => refusal.hints.clone(),
            Self::Server { hint, .. } => hint.iter().cloned().collect(),
            Self::NotHere => vec!["leave out --server, and say --data DIR".to_owned()],
            _ => Vec::new(),
        }
    }
}

fn folder_hint(FolderProblem { error, path }: &FolderProblem) -> Option<String> {
    let hint = match error {
        FolderError::NotOurs { path: file, .. } if file.starts_with(path) => {
            "if it was damaged, bring back a copy with `tidewheel restore`"
        }
        FolderError::NetworkFileSystem { .. } => {
            "say where with --data DIR; --allow-network-fs uses it all the same, for one machine at \
             a time"
        }
        FolderError::UnknownRun { .. } => {
            let path = path.display();
            return Some(format!("runs of other data folders are not seen from {path}"));
        }
        FolderError::Busy { .. } => {
            "if the process that runs it was stopped, let it go on (`kill -CONT`), and ask again"
        }
        FolderError::Exists { .. } => "choose another name, or remove it first",
        FolderError::InUse { .. } | FolderError::Store(StoreError::Held { .. }) => {
            "wait until it has ended, or end it"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

fn param_hint(error: &ParamError, known: &[String]) -> Option<String> {
    match error {
        ParamError::Unknown { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
        ParamError::Unknown { .. } => {
            (!known.is_empty()).then(|| format!("params: {}", known.join(", ")))
        }
        ParamError::Missing { name } => Some(format!("say it with --param {name}=…")),
        _ => None,
    }
}

fn not_ended(run: RunId, is_abandoned: bool) -> Vec<String> {
    let run = short_id(run);
    match is_abandoned {
        true => vec![
            format!("its process died: tidewheel resume {run}  goes on with it"),
            format!("or tidewheel cancel {run}  ends it on the spot; then retry works"),
        ],
        false => vec![format!("wait until it has ended, or end it: tidewheel cancel {run}")],
    }
}

fn again_hints(run: RunId, error: &AgainError, near: Option<&str>) -> Vec<String> {
    let run = short_id(run);
    match error {
        AgainError::NotInPart { step } => {
            vec![format!("tidewheel run --from '{}' makes a new run", harmless(step))]
        }
        AgainError::Unknown { step } => {
            let step = harmless(step);
            vec![
                format!("see for yourself; if it did not: tidewheel retry {run} --from {step}"),
                format!("if it did: tidewheel retry {run} --skip {step}"),
            ]
        }
        _ => near.map(str::to_owned).into_iter().collect(),
    }
}

fn changed(run: RunId) -> Vec<String> {
    let run = short_id(run);
    vec![
        format!("tidewheel resume {run} --as-started  goes on with the files as they were"),
        format!(
            "tidewheel cancel {run}, then tidewheel retry {run} --new-files  makes a new run of the \
             files as they are"
        ),
    ]
}
