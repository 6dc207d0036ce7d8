//! Some of the sets that `make soak` solves, always the same ones.

#[path = "../../examples/soak/cases.rs"]
mod cases;
#[path = "../../examples/soak/judge.rs"]
mod judge;

#[test]
fn small_sets_of_all_sorts_are_solved_or_refused() {
    let (mut refused, mut converged) = (0, 0);
    for seed in 0..1500 {
        let case = cases::case(seed);
        match judge::judge(&case) {
            Ok(judge::Verdict::Solved(status)) => converged += i32::from(status.converged()),
            Ok(judge::Verdict::Refused) => refused += 1,
            Err(problem) => panic!(
                "cargo run --release --example soak -- --first {seed} --count 1 ({}): {problem}",
                case.kind
            ),
        }
    }
    // Otherwise the sets do not reach what they are meant for.
    assert!(refused < 750 && converged > 400, "{refused}, {converged}");
}
