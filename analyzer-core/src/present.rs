//! From recorded explorations to the report's steps: names, text and values
//! for people.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    addr::VirtAddr,
    code::{
        self,
        text::{self, Names},
    },
    dataflow::{Place, RawStep, Term, TermId, Terms, Value},
    image::{Image, Symbol},
    report::{Effect, RuntimeFacts, Step},
    strategies::Evidence,
};

/// Names what addresses of one image are.
#[derive(Debug)]
pub(crate) struct Namer<'a, 'd> {
    image: &'a Image<'d>,
    runtime: Option<&'a RuntimeFacts>,
}

impl<'a, 'd> Namer<'a, 'd> {
    /// A namer for `image`.
    #[must_use]
    pub(crate) fn new(image: &'a Image<'d>, runtime: Option<&'a RuntimeFacts>) -> Self {
        Self { image, runtime }
    }

    /// The steps of an exploration, for the report.
    #[must_use]
    pub(crate) fn steps(&self, evidence: &Evidence<'_, '_>) -> Vec<Step> {
        let terms = &evidence.explorer.terms;
        let on_path = evidence.explorer.on_path(&evidence.exploration);
        let mut around: Option<Symbol<'_>> = None;
        let steps = evidence.explorer.trace().steps().iter().zip(on_path);
        steps
            .map(|(step, on_path)| {
                // A jump may lead into another function, in the same frame.
                if !around.is_some_and(|function| function.contains(step.address)) {
                    around = self
                        .image
                        .function_at(step.address)
                        .or_else(|| self.image.function_at(step.function));
                }
                self.step(step, on_path, around.map(|function| function.name), terms)
            })
            .collect()
    }

    fn step(&self, step: &RawStep, on_path: bool, function: Option<&str>, terms: &Terms) -> Step {
        let bytes = self.image.bytes_from(step.address, step.len.into());
        Step {
            address: step.address,
            bytes: hex(bytes),
            text: text::format(self.image.arch(), bytes, step.address, self),
            depth: step.depth.into(),
            function: function.map(ToString::to_string),
            effects: step
                .effects
                .iter()
                .map(|(place, value)| Effect {
                    place: self.place(*place, terms),
                    value: self.value(*value, terms),
                })
                .collect(),
            role: step.role,
            on_path,
            origins: step.reads().iter().map(|&origin| origin.into()).collect(),
        }
    }

    fn place(&self, place: Place, terms: &Terms) -> String {
        match place {
            Place::Reg(reg) => code::reg_name(self.image.arch(), reg).to_string(),
            Place::Stack(region, offset) => {
                let name = match terms.get(region) {
                    Some(Term::AlignedStack { .. }) => "aligned sp",
                    _ => "sp",
                };
                format!("[{name}{}]", displacement(offset.cast_unsigned()))
            }
            Place::Memory(address) => format!("[{}]", self.value(address, terms)),
        }
    }

    /// An abstract value in words: `&_PyRuntime+0x608`, `*[&autoTLSkey]`, `tp-0x8`.
    #[must_use]
    pub(crate) fn value(&self, value: Value, terms: &Terms) -> String {
        let Some(id) = value.term() else { return "?".to_string() };
        let offset = value.offset();
        match terms.get(id) {
            None => self
                .image
                .is_fixed()
                .then(|| self.data_name(VirtAddr(offset)))
                .flatten()
                .unwrap_or_else(|| format!("{offset:#x}")),
            Some(Term::Image) => {
                let address = VirtAddr(offset);
                self.data_name(address).unwrap_or_else(|| format!("&{address}"))
            }
            Some(Term::Either(a, b)) => {
                format!("{} or {}", self.value(a, terms), self.value(b, terms))
            }
            Some(_) => {
                let mut text = self.term(id, terms);
                if offset != 0 {
                    text.push_str(&displacement(offset));
                }
                text
            }
        }
    }

    fn term(&self, id: TermId, terms: &Terms) -> String {
        let Some(term) = terms.get(id) else { return String::new() };
        match term {
            Term::Image => "base".to_string(),
            Term::Symbol(symbol) => {
                format!("&{}", self.image.symbol_name(symbol).unwrap_or("?"))
            }
            Term::Entry(reg) => format!("entry {}", code::reg_name(self.image.arch(), reg)),
            Term::Stack => "sp".to_string(),
            Term::AlignedStack { .. } => "aligned sp".to_string(),
            Term::ThreadPointer => "tp".to_string(),
            Term::Contents { address, size, .. } => {
                let width = if size == 8 { "" } else { size_name(size) };
                format!("{width}[{}]", self.value(address, terms))
            }
            Term::TpOffset { module_offset, descriptor, .. } => {
                let by = if descriptor { "descriptor" } else { "GOT" };
                format!("tpoff(tls+{module_offset:#x}, by {by})")
            }
            Term::DescriptorResolver { slot } => format!("TLS descriptor at {slot}"),
            Term::TlsBlock { slot, .. } => format!("tls block (module of {slot})"),
            Term::CallResult { site } => format!("result of call at {site}"),
            Term::Scaled { term, factor } => format!("{}*{factor}", self.term(term, terms)),
            Term::ShiftedRight { value, by } => format!("({} >> {by})", self.value(value, terms)),
            Term::Masked { value, mask: 0xffff_ffff } => {
                format!("low32({})", self.value(value, terms))
            }
            Term::Masked { value, mask } => format!("({} & {mask:#x})", self.value(value, terms)),
            Term::Sum(first, second) => {
                format!("{} + {}", self.term(first, terms), self.term(second, terms))
            }
            Term::Either(a, b) => {
                format!("({} or {})", self.value(a, terms), self.value(b, terms))
            }
        }
    }

    /// `&name+offset` for an address inside a named object.
    fn data_name(&self, address: VirtAddr) -> Option<String> {
        let runtime = self.runtime?;
        let offset = address.distance_from(runtime.address)?;
        /// Bytes taken to be `_PyRuntime` where its size is not known: less
        /// than any version's.
        const SMALLEST: u64 = 656;
        if offset >= runtime.size.unwrap_or(SMALLEST) {
            return None;
        }
        Some(match offset {
            0 => "&_PyRuntime".to_string(),
            offset => format!("&_PyRuntime+{offset:#x}"),
        })
    }
}

impl Names for Namer<'_, '_> {
    fn name_at(&self, address: VirtAddr) -> Option<String> {
        let callee = self.image.callee(address);
        if let Some(name) = callee.name {
            let plt = if callee.slot.is_some() { "@plt" } else { "" };
            return Some(format!("{name}{plt}"));
        }
        if let Some(name) = self.data_name(address) {
            return Some(name.trim_start_matches('&').to_string());
        }
        if !self.image.is_executable(address) {
            return None;
        }
        let function = self.image.function_at(address)?;
        Some(match address.distance_from(function.address)? {
            0 => function.name.to_string(),
            offset => format!("{}+{offset:#x}", function.name),
        })
    }
}

fn displacement(offset: u64) -> String {
    let signed = offset.cast_signed();
    if signed < 0 { format!("-{:#x}", signed.unsigned_abs()) } else { format!("+{signed:#x}") }
}

fn size_name(size: u8) -> &'static str {
    match size {
        1 => "byte ",
        2 => "half ",
        _ => "int ",
    }
}

/// Lower-case hexadecimal.
#[must_use]
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'?'));
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}
