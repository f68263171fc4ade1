//! Look-ups of several names that go together.

use super::{Image, Symbol, SymbolKind};

impl<'d> Image<'d> {
    /// Definitions of names that a file exports together if it has them.
    ///
    /// Each is looked up in `.dynsym` by hash. Only if the file exports none
    /// of them, one pass over `.symtab` looks for all: put a name among them
    /// that is always there, and the absence of the others costs nothing.
    #[must_use]
    pub fn exports<const N: usize>(&self, names: &[&str; N]) -> [Option<Symbol<'d>>; N] {
        let mut found = names.map(|name| self.dynamic_symbol(name));
        if found.iter().any(Option::is_some) {
            return found;
        }
        for named in self.static_symbols_named(names) {
            let Some(place) = found.get_mut(named.which) else { continue };
            // A clone's code is as good as the function's where that is gone.
            if place.is_none() || named.suffix.is_empty() {
                *place = Some(named.symbol);
            }
        }
        found
    }

    /// Definitions of variables of one kind, local ones included: from
    /// `.symtab`, else from `.dynsym`.
    ///
    /// One pass over `.symtab` that looks at the names of that kind only.
    #[must_use]
    pub fn variables<const N: usize>(
        &self,
        kind: SymbolKind,
        names: &[&str; N],
    ) -> [Option<Symbol<'d>>; N] {
        let mut found = [None; N];
        for named in self.static_symbols_of(kind, names) {
            if let Some(place) = found.get_mut(named.which)
                && (place.is_none() || named.suffix.is_empty())
            {
                *place = Some(named.symbol);
            }
        }
        for (place, name) in found.iter_mut().zip(names) {
            *place = place.or_else(|| self.dynamic_symbol(name).filter(|it| it.kind == kind));
        }
        found
    }
}
