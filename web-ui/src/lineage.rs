//! Where a value came from: the steps behind a step of a trace.

use analyzer_core::report::Step;

/// The step and everything its values came from, oldest first.
pub(crate) fn ancestry(steps: &[Step], step: usize) -> Vec<usize> {
    let mut behind = vec![false; steps.len().max(step + 1)];
    behind[step] = true;
    let mut waiting = vec![step];
    while let Some(next) = waiting.pop() {
        let origins = steps.get(next).map_or(&[][..], |step| &step.origins);
        for origin in origins.iter().filter_map(|&origin| usize::try_from(origin).ok()) {
            if origin < steps.len() && !behind[origin] {
                behind[origin] = true;
                waiting.push(origin);
            }
        }
    }
    (0..behind.len()).filter(|&index| behind[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyzer_core::addr::VirtAddr;

    fn step(origins: &[u64]) -> Step {
        Step {
            address: VirtAddr(0),
            bytes: String::new(),
            text: String::new(),
            depth: 0,
            function: None,
            effects: Vec::new(),
            role: None,
            on_path: true,
            origins: origins.to_vec(),
        }
    }

    #[test]
    fn the_whole_way_back_is_found() {
        let steps = [step(&[]), step(&[]), step(&[0]), step(&[2]), step(&[3])];
        assert_eq!(ancestry(&steps, 4), [0, 2, 3, 4]);
        assert_eq!(ancestry(&steps, 1), [1]);
    }

    #[test]
    fn loops_and_lies_end() {
        let steps = [step(&[1, 99]), step(&[0, 1])];
        assert_eq!(ancestry(&steps, 0), [0, 1]);
        assert_eq!(ancestry(&steps, 7), [7]);
    }
}
