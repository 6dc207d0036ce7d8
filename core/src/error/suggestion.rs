//! Suggestions for misspelled names.

/// Longest name, in characters, that is compared.
const MAX_LENGTH: usize = 64;
/// Minimum length of a name that is recognized as the beginning of another.
const MIN_PREFIX: usize = 3;

/// Returns the candidate that is most similar to a misspelled name, or None if none is similar.
///
/// Upper and lower case are equivalent, and so are `-`, `_`, `.` and spaces. Two names are similar
/// if one is the beginning of the other, or if they differ by at most one edit per three
/// characters. An edit inserts, deletes or replaces one character, or swaps two adjacent ones. Of
/// equally similar candidates the first is returned.
///
/// ```
/// use codiag::error::nearest_name;
/// let methods = ["newton", "quasi-newton", "pham"];
/// assert_eq!(nearest_name("nwton", methods), Some("newton"));
/// assert_eq!(nearest_name("Quasi_Newton", methods), Some("quasi-newton"));
/// assert_eq!(nearest_name("bfgs", methods), None);
/// ```
pub fn nearest_name<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = comparable(name)?;
    let similar = candidates.into_iter().filter_map(|candidate| {
        let characters = comparable(candidate)?;
        let longest = name.len().max(characters.len());
        let is_prefix = characters.starts_with(&name) || name.starts_with(&characters);
        let distance = if is_prefix && name.len().min(characters.len()) >= MIN_PREFIX {
            usize::from(name.len() != characters.len())
        } else {
            edit_distance(&name, &characters)
        };
        (distance <= (longest / 3).max(1) && distance < longest).then_some((distance, candidate))
    });
    let nearest = similar.min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, candidate)| candidate)
}

/// Returns the characters of a name in lower case, with `_` for every separator. None if the name
/// is empty or too long.
fn comparable(name: &str) -> Option<Vec<char>> {
    let separated = name.trim().chars().map(|c| match c {
        '-' | '.' | ' ' => '_',
        other => other,
    });
    let characters: Vec<char> = separated.flat_map(char::to_lowercase).collect();
    (1..=MAX_LENGTH)
        .contains(&characters.len())
        .then_some(characters)
}

/// Returns the number of edits between two names: the optimal string alignment distance.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    // Rows i − 2, i − 1 and i of the table of distances between the first i and the first j
    // characters.
    let mut before = vec![0; b.len() + 1];
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(previous[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_insertions_deletions_replacements_and_swaps() {
        for (a, b, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("newton", "newton", 0),
            ("nwton", "newton", 1),
            ("newtoon", "newton", 1),
            ("newten", "newton", 1),
            ("netwon", "newton", 1),
            ("kitten", "sitting", 3),
        ] {
            let [x, y] = [a, b].map(|text| text.chars().collect::<Vec<_>>());
            assert_eq!(edit_distance(&x, &y), distance, "{a} {b}");
            assert_eq!(edit_distance(&y, &x), distance, "{b} {a}");
        }
    }

    #[test]
    fn misspelled_names_have_the_intended_neighbor() {
        let options = [
            "n_restarts",
            "n_resamples",
            "n_components",
            "max_iter",
            "tol",
        ];
        for (name, expected) in [
            ("restarts", Some("n_restarts")),
            ("n.restarts", Some("n_restarts")),
            ("maxiter", Some("max_iter")),
            ("max-iter", Some("max_iter")),
            ("ncomponents", Some("n_components")),
            ("n_comp", Some("n_components")),
            ("TOL", Some("tol")),
            ("tolerance", Some("tol")),
            ("max_iterations", Some("max_iter")),
            ("seed", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(name, options), expected, "{name}");
        }
        let long = "n".repeat(1_000_000);
        assert_eq!(nearest_name(&long, options), None);
        assert_eq!(nearest_name("tol", []), None);
    }

    #[test]
    fn first_of_equally_similar_candidates_is_chosen() {
        assert_eq!(nearest_name("uniz", ["unit", "unix"]), Some("unit"));
    }
}
