//! What can be done about a [`DeskError`], in words.
//!
//! What went wrong is said in [`super::error`]; what the words are called on which surface, in [`super::surface`].

use tidewheel::RunId;
use tidewheel::store::StoreError;
use tidewheel::store::sqlite::FolderError;
use tidewheel_flow::{AgainError, ParamError};

use super::error::{DeskError, FolderProblem};
use super::surface::Surface;
use crate::text::{harmless, short_id};

impl DeskError {
    /// What can be done about it, for whoever uses the command.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        self.hints_for(Surface::Command)
    }

    /// What can be done about it, in the words of a surface.
    #[must_use]
    pub fn hints_for(&self, at: Surface) -> Vec<String> {
        match self {
            Self::Folder(problem) => folder_hint(problem).into_iter().collect(),
            Self::NoRun { .. } => vec![match at {
                Surface::Command => "`tidewheel runs` lists them".to_owned(),
                Surface::Http => "GET /api/v1/runs lists them".to_owned(),
            }],
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
                vec![format!("say which one with {}: {}", at.flag("step"), steps.join(", "))]
            }
            Self::NoFiles { .. } => vec![match at {
                Surface::Command => {
                    "leave out --new-files, or start a new run:  tidewheel run -".to_owned()
                }
                Surface::Http => "leave out `new_files`".to_owned(),
            }],
            Self::NoAttempt { newest, .. } => vec![match newest {
                0 => "it was not started".to_owned(),
                1 => "it has attempt 1".to_owned(),
                newest => format!("it has attempts 1 to {newest}"),
            }],
            Self::AsksNobody { asking, .. } if !asking.is_empty() => {
                vec![format!("these do: {}", asking.join(", "))]
            }
            Self::Param { error, known } => param_hint(error, known, at).into_iter().collect(),
            Self::ParamForm { .. } => vec!["write --param name=value".to_owned()],
            Self::LeftBehind { .. } => vec![
                "a process that cannot be ended waits for a disk or a network; try again when it is gone"
                    .to_owned(),
            ],
            Self::NotServed { .. } => vec!["tidewheel serve --flows DIR  has it fire".to_owned()],
            Self::NoServer { .. } => {
                vec!["tidewheel serve --flows DIR  begins one; --server URL asks another".to_owned()]
            }
            Self::TooManyFirings { .. } => {
                vec![format!("say how many may be with {}", at.flag("max"))]
            }
            Self::BackfillFromWhen => vec![match at {
                Surface::Command => "say --from INSTANT, or --missed".to_owned(),
                Surface::Http => "say `from`, or `missed`".to_owned(),
            }],
            Self::NotTakenOver(..) => vec![
                "say the same of it in both flows, or end the run and start it again".to_owned(),
            ],
            Self::Served(_) => vec!["stop it first, or say another folder with --data".to_owned()],
            Self::Held(_) => vec!["the run is alive: watch it where it runs".to_owned()],
            Self::NotStarted(not) => vec![format!("the data folder is {}", not.path.display())],
            Self::OfKind(refusal) => refusal.hints.clone(),
            Self::Server { hint, .. } => hint.iter().cloned().collect(),
            Self::NotHere => vec!["leave out --server, and say --data DIR".to_owned()],
            _ => self.hints_of_run(at),
        }
    }

    /// The same where it is about what can be done with a run.
    fn hints_of_run(&self, at: Surface) -> Vec<String> {
        let doing = |what: &str, run: RunId| at.of_run(what, &short_id(run));
        match self {
            Self::NotEnded { run, is_abandoned: true } => vec![
                format!("its process died: {}  goes on with it", doing("resume", *run)),
                format!("or {}  ends it on the spot; then retry works", doing("cancel", *run)),
            ],
            Self::NotEnded { run, .. } => {
                vec![format!("wait until it has ended, or end it: {}", doing("cancel", *run))]
            }
            Self::Retried { by, .. } => vec![
                format!("{}  says how that stands", doing("show", *by)),
                format!("{}  ends it", doing("cancel", *by)),
            ],
            Self::OtherPreview(run) => {
                let look = match at {
                    Surface::Command => at.of_run_with("retry", &short_id(*run), "dry-run", ""),
                    Surface::Http => doing("retry/preview", *run),
                };
                vec![format!("{look}  says what it would do now")]
            }
            Self::Ended { run, .. } => {
                vec![format!("{}  runs what is left in a new run", doing("retry", *run))]
            }
            Self::Abandoned { run } => vec![
                format!("{}  goes on with it", doing("resume", *run)),
                format!("{}  ends it", doing("cancel", *run)),
            ],
            Self::NothingLeft { run, changed_files } => {
                nothing_left(&short_id(*run), !changed_files.is_empty(), at)
            }
            Self::Again { run, error, near } => {
                again_hints(&short_id(*run), error, near.as_deref(), at)
            }
            Self::Changed { run, .. } => changed(&short_id(*run), at),
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

fn param_hint(error: &ParamError, known: &[String], at: Surface) -> Option<String> {
    match error {
        ParamError::Unknown { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
        ParamError::Unknown { .. } => {
            (!known.is_empty()).then(|| format!("params: {}", known.join(", ")))
        }
        ParamError::Missing { name } => Some(match at {
            Surface::Command => format!("say it with --param {name}=…"),
            Surface::Http => format!("say it in `params`: {{ \"{name}\": … }}"),
        }),
        _ => None,
    }
}

fn nothing_left(run: &str, has_changed: bool, at: Surface) -> Vec<String> {
    let from = at.of_run_with("retry", run, "from", "STEP");
    let from = format!("{from}  runs a step again, and what comes after it");
    let files = at.of_run_with("retry", run, "new-files", "");
    let files = format!("its files have changed: {files}  runs what is new in them");
    has_changed.then_some(files).into_iter().chain([from]).collect()
}

fn again_hints(run: &str, error: &AgainError, near: Option<&str>, at: Surface) -> Vec<String> {
    match error {
        AgainError::NotInPart { step } => match at {
            Surface::Command => {
                vec![format!("tidewheel run --from '{}' makes a new run", harmless(step))]
            }
            Surface::Http => vec!["POST /api/v1/runs makes a new run".to_owned()],
        },
        AgainError::Unknown { step } => {
            let step = harmless(step);
            let skip = match at {
                Surface::Command => at.of_run_with("retry", run, "skip", &step),
                Surface::Http => {
                    format!("{} with \"skip\": [\"{step}\"]", at.of_run("retry", run))
                }
            };
            vec![
                format!(
                    "see for yourself; if it did not: {}",
                    at.of_run_with("retry", run, "from", &step)
                ),
                format!("if it did: {skip}"),
            ]
        }
        _ => near.map(str::to_owned).into_iter().collect(),
    }
}

fn changed(run: &str, at: Surface) -> Vec<String> {
    vec![
        format!(
            "{}  goes on with the files as they were",
            at.of_run_with("resume", run, "as-started", "")
        ),
        format!(
            "{}, then {}  makes a new run of the files as they are",
            at.of_run("cancel", run),
            at.of_run_with("retry", run, "new-files", "")
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_surface_has_its_own_words() {
        let run = RunId(7);
        let errors = [
            DeskError::NoRun { word: "x".to_owned(), folder: "/data".into() },
            DeskError::NotEnded { run, is_abandoned: true },
            DeskError::NotEnded { run, is_abandoned: false },
            DeskError::Retried { run: run.to_string(), by: run },
            DeskError::Abandoned { run },
            DeskError::NothingLeft { run, changed_files: vec!["a.yaml".to_owned()] },
            DeskError::Changed { run, changes: Vec::new() },
            DeskError::NoFiles { run },
            DeskError::TooManyFirings { max: 3 },
            DeskError::BackfillFromWhen,
            DeskError::SeveralArtifacts { name: "x".to_owned(), steps: vec!["a".to_owned()] },
            DeskError::Again {
                run,
                error: AgainError::Unknown { step: "ship".to_owned() },
                near: None,
            },
        ];
        for error in errors {
            let (here, there) = (error.hints(), error.hints_for(Surface::Http));
            assert_eq!(here.len(), there.len(), "{error}");
            for hint in there {
                assert!(!hint.contains("tidewheel ") && !hint.contains("--"), "{error}: {hint}");
            }
            for hint in here {
                assert!(!hint.contains("/api/"), "{error}: {hint}");
            }
        }
    }
}
