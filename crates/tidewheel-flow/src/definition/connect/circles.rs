//! Steps that wait for each other in a circle.
//!
//! What a step waits for was found before.

use std::collections::BTreeMap;

use crate::definition::Flow;
use crate::language::problem::{Problem, Problems};

/// Reports steps that wait for each other, each circle once, as a path.
pub(super) fn report_circles(flow: &Flow, problems: &mut Problems) {
    let index: BTreeMap<&str, usize> =
        flow.steps.iter().enumerate().map(|(place, step)| (step.name.as_str(), place)).collect();
    let after: Vec<Vec<usize>> = flow
        .steps
        .iter()
        .map(|step| {
            step.after.iter().filter_map(|it| index.get(it.step.as_str()).copied()).collect()
        })
        .collect();
    for circle in circles(&after) {
        let name = |place: &usize| format!("`{}`", flow.steps[*place].name);
        let mut path: Vec<String> = circle.iter().map(name).collect();
        path.extend(circle.first().map(name));
        let text = match circle.len() {
            1 => format!("step {} waits for itself", path[0]),
            _ => format!("steps wait for each other: {}", path.join(" → ")),
        };
        let mut problem = Problem::error("cycle", text).at(flow.steps[circle[0]].span);
        if let Some(files) = by_files(flow, &circle) {
            problem = problem.hint(files);
        }
        for place in circle.iter().skip(1).take(8) {
            problem = problem.see(flow.steps[*place].span, "part of the circle");
        }
        problems.push(problem);
    }
}

/// The files by which steps of a circle wait for each other.
fn by_files(flow: &Flow, circle: &[usize]) -> Option<String> {
    let before = circle.iter().cycle().skip(circle.len() - 1);
    let found = circle.iter().zip(before).filter_map(|(step, needed)| {
        let (step, needed) = (&flow.steps[*step], &flow.steps[*needed]);
        let file = step.after.iter().find(|it| it.step == needed.name)?.file.as_deref()?;
        Some(format!("`{}` reads {file}, which `{}` makes", step.name, needed.name))
    });
    let found: Vec<String> = found.take(8).collect();
    (!found.is_empty()).then(|| {
        let found = found.join("; ");
        format!("{found}: say with `depends_on` which comes first, or correct `cache`")
    })
}

/// Circles of a graph given by what each vertex waits for: one for each vertex at which walking back
/// meets the path again. Iterative, since files can be deep.
fn circles(after: &[Vec<usize>]) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; after.len()];
    let mut found = Vec::new();
    for start in 0..after.len() {
        if marks[start] != Mark::New {
            continue;
        }
        let mut path = vec![(start, 0)];
        marks[start] = Mark::OnPath;
        while let Some((vertex, next)) = path.last_mut() {
            let vertex = *vertex;
            let Some(needed) = after[vertex].get(*next).copied() else {
                marks[vertex] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[needed] {
                Mark::Done => {}
                Mark::New => {
                    marks[needed] = Mark::OnPath;
                    path.push((needed, 0));
                }
                Mark::OnPath => {
                    let from = path.iter().position(|(on, _)| *on == needed).unwrap_or_default();
                    let mut circle: Vec<usize> = path[from..].iter().map(|(on, _)| *on).collect();
                    // The path walks from a step to what it needs; people read the other way round.
                    circle.reverse();
                    found.push(circle);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_once_each() {
        assert!(circles(&[vec![], vec![0], vec![0, 1]]).is_empty());
        assert_eq!(circles(&[vec![0]]), [vec![0]]);
        assert_eq!(circles(&[vec![1], vec![0], vec![1]]), [vec![1, 0]]);
        let long: Vec<Vec<usize>> = (0..100_000).map(|it| vec![(it + 1) % 100_000]).collect();
        assert_eq!(circles(&long).len(), 1);
    }
}
