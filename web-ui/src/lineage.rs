//! Where a value came from: for each step of a trace the earlier steps whose
//! results it used.

use analyzer_core::report::{Step, StepRole};

use crate::words::instruction::{mnemonic, register};

/// For each step, the earlier steps it took values from.
pub(crate) struct Lineage {
    origins: Vec<Vec<usize>>,
}

impl Lineage {
    /// Reads the trace once, front to back.
    pub(crate) fn of(steps: &[Step]) -> Self {
        let origins = steps
            .iter()
            .enumerate()
            .map(|(index, step)| {
                let before = steps.get(..index).unwrap_or_default();
                if step.role == Some(StepRole::Sink) {
                    before.iter().rposition(|s| s.on_path && s.role != Some(StepRole::Sink)).into_iter().collect()
                } else {
                    origins(step, before)
                }
            })
            .collect();
        Self { origins }
    }

    /// The steps directly behind a step.
    pub(crate) fn origins(&self, step: usize) -> &[usize] {
        self.origins.get(step).map_or(&[], Vec::as_slice)
    }

    /// The step and everything behind it, oldest first.
    pub(crate) fn ancestry(&self, step: usize) -> Vec<usize> {
        let mut found = vec![step];
        let mut looked_at = 0;
        while let Some(&next) = found.get(looked_at) {
            for &origin in self.origins(next) {
                if !found.contains(&origin) {
                    found.push(origin);
                }
            }
            looked_at += 1;
        }
        found.sort_unstable();
        found
    }
}

fn origins(step: &Step, before: &[Step]) -> Vec<usize> {
    let mut found = Vec::new();
    for register in reads(step) {
        if let Some(origin) = before.iter().rposition(|s| changes(s, &register))
            && !found.contains(&origin)
        {
            found.push(origin);
        }
    }
    // A value that comes back from a stack slot: the slot's last writer.
    if step.text.contains('[') || mnemonic(&step.text) == "pop" {
        for effect in step.effects.iter().filter(|e| !e.value.starts_with('?')) {
            let slot = before.iter().rposition(|s| {
                s.effects.iter().any(|e| e.place.starts_with('[') && e.value == effect.value)
            });
            if let Some(slot) = slot.filter(|slot| !found.contains(slot)) {
                found.push(slot);
            }
        }
    }
    found
}

fn changes(step: &Step, full: &str) -> bool {
    step.effects.iter().any(|e| register(&e.place).as_deref() == Some(full))
}

/// The registers an instruction reads, stack pointer left out: every push
/// and pop would lead to it.
fn reads(step: &Step) -> Vec<String> {
    let name = mnemonic(&step.text);
    let operands = step.text.get(name.len()..).unwrap_or_default();
    let (first, rest) = operands.split_once(',').unwrap_or((operands, ""));
    let target = register(first.trim());
    // Instructions that keep what was in their first operand.
    let keeps = ["add", "sub", "or", "and", "xor", "shl", "shr", "sar", "imul", "cmp", "test", "push", "movk", "inc", "dec", "neg", "not", "str", "stp", "stur", "cbz", "cbnz", "tbz", "tbnz", "cmn", "tst", "br", "blr", "call", "jmp"];
    // Three operands: the first is only written.
    let three = rest.contains(',') && !first.contains('[') && name != "stp";
    let cleared = name == "xor" && target.is_some() && target == register(rest.trim());
    let mut read = Vec::new();
    for operand in if target.is_some() && (three || !keeps.contains(&name)) || cleared {
        vec![if cleared { "" } else { rest }]
    } else {
        vec![first, rest]
    } {
        for word in operand.split(|c: char| !c.is_ascii_alphanumeric()) {
            if let Some(full) = register(word)
                && full != "rsp"
                && full != "sp"
                && !read.contains(&full)
            {
                read.push(full);
            }
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyzer_core::addr::VirtAddr;
    use analyzer_core::report::Effect;

    fn step(text: &str, effects: &[(&str, &str)]) -> Step {
        Step {
            address: VirtAddr(0),
            bytes: String::new(),
            text: text.into(),
            depth: 0,
            function: None,
            effects: effects
                .iter()
                .map(|(place, value)| Effect { place: (*place).into(), value: (*value).into() })
                .collect(),
            role: None,
            on_path: true,
        }
    }

    #[test]
    fn a_copy_leads_back_through_registers() {
        let mut steps = vec![
            step("mov rax, [&_PyRuntime@got]", &[("rax", "&_PyRuntime")]),
            step("push rbp", &[("[sp-0x8]", "entry rbp")]),
            step("lea rbp, [rax+0x608]", &[("rbp", "&_PyRuntime+0x608")]),
            step("mov rdi, rbp", &[("rdi", "&_PyRuntime+0x608")]),
            step("jmp PyThread_tss_get@plt", &[]),
        ];
        steps[1].on_path = false;
        steps[4].role = Some(StepRole::Sink);
        let lineage = Lineage::of(&steps);
        assert_eq!(lineage.ancestry(4), [0, 2, 3, 4]);
        assert_eq!(lineage.origins(2), [0]);
    }

    #[test]
    fn an_add_keeps_its_first_operand() {
        let steps = [
            step("mov edi, 0x250", &[("rdi", "0x250")]),
            step("add rdi, [&_PyRuntime@got]", &[("rdi", "&_PyRuntime+0x250")]),
        ];
        assert_eq!(Lineage::of(&steps).origins(1), [0]);
    }

    #[test]
    fn a_spilled_value_leads_to_its_slot() {
        let steps = [
            step("lea rax, [_PyRuntime+0x8]", &[("rax", "&_PyRuntime+0x8")]),
            step("mov [rbp-0x10], rax", &[("[sp-0x18]", "&_PyRuntime+0x8")]),
            step("mov rdi, [rbp-0x10]", &[("rdi", "&_PyRuntime+0x8")]),
        ];
        assert_eq!(Lineage::of(&steps).ancestry(2), [0, 1, 2]);
    }

    #[test]
    fn a_cleared_register_comes_from_nowhere() {
        let steps = [
            step("mov rax, rdi", &[("rax", "?")]),
            step("xor eax, eax", &[("rax", "0")]),
        ];
        assert!(Lineage::of(&steps).origins(1).is_empty());
    }
}
