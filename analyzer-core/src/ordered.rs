//! Maps, sets and sorting for a small module: vectors in order.
//!
//! The standard library's B-trees and sorts are compiled anew for every type;
//! in WebAssembly that was an eighth of the analyzer. What is kept in order
//! here is some thousands of entries at most, mostly added in order.

use alloc::vec::Vec;
use core::borrow::Borrow;

/// Sorts `items` by two numbers each; equal ones keep their order.
pub(crate) fn sort_by_key<T: Clone>(items: &mut Vec<T>, key: impl Fn(&T) -> (u64, u64)) {
    let keys = items.iter().zip(0..).map(|(item, at)| {
        let (first, second) = key(item);
        (first, second, at)
    });
    let mut order: Vec<(u64, u64, u32)> = keys.collect();
    if sort_keys(&mut order) {
        *items = order.iter().filter_map(|&(_, _, at)| items.get(at as usize)).cloned().collect();
    }
}

/// Sorts, and says whether that changed anything.
pub(crate) fn sort_keys(keys: &mut [(u64, u64, u32)]) -> bool {
    let is_sorted = keys.is_sorted();
    if !is_sorted {
        keys.sort_unstable();
    }
    !is_sorted
}

/// Sorts a handful of items.
pub(crate) fn sort_few<T: Ord>(items: &mut [T]) {
    for end in 1..items.len() {
        let mut at = end;
        while let Some(before) = at.checked_sub(1)
            && let (Some(left), Some(right)) = (items.get(before), items.get(at))
            && left > right
        {
            items.swap(before, at);
            at = before;
        }
    }
}

/// A map in the order of its keys.
#[derive(Clone, Debug)]
pub(crate) struct Map<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<K: Ord, V> Map<K, V> {
    /// Where `key` is, or where it would be.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        // Most keys are added in order.
        match self.entries.last() {
            Some((last, _)) if last.borrow() < key => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|(known, _)| known.borrow().cmp(key)),
        }
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(self.place(key).ok()?).map(|(_, value)| value)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.place(key).ok()?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Adds the entry, or gives the key this value.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.place(&key) {
            Ok(at) => {
                if let Some(entry) = self.entries.get_mut(at) {
                    entry.1 = value;
                }
            }
            Err(at) => self.entries.insert(at, (key, value)),
        }
    }

    /// The key's value, which is `value()` if it had none.
    pub(crate) fn get_or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let at = match self.place(&key) {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (key, value()));
                at
            }
        };
        // It was found or has just been added.
        &mut self.entries[at].1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.entries.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn into_entries(self) -> Vec<(K, V)> {
        self.entries
    }
}

/// A set, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set<T> {
    items: Vec<T>,
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T: Ord> Set<T> {
    pub(crate) fn insert(&mut self, item: T) {
        let place = match self.items.last() {
            Some(last) if *last < item => Err(self.items.len()),
            _ => self.items.binary_search(&item),
        };
        if let Err(at) = place {
            self.items.insert(at, item);
        }
    }

    pub(crate) fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.items.binary_search_by(|known| known.borrow().cmp(item)).is_ok()
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, T> {
        self.items.iter()
    }

    pub(crate) fn into_items(self) -> Vec<T> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeMap, vec};

    #[test]
    fn a_map_is_like_the_standard_one() {
        let (mut map, mut standard) = (Map::default(), BTreeMap::new());
        let mut number = 7_u64;
        for round in 0..500_u64 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = number >> 57;
            map.insert(key, round);
            standard.insert(key, round);
            assert_eq!(map.get(&(key ^ 1)), standard.get(&(key ^ 1)));
        }
        assert!(map.iter().map(|(key, value)| (key, value)).eq(&standard));
        *map.get_or_insert_with(1000, || 1) += 1;
        *map.get_or_insert_with(1000, || 1) += 1;
        assert_eq!(map.get(&1000), Some(&3));
        assert!(map.contains_key(&1000) && !map.contains_key(&1001));
    }

    #[test]
    fn a_set_holds_each_once() {
        let mut set = Set::default();
        for item in [3, 1, 2, 3, 1] {
            set.insert(item);
        }
        assert!(set.contains(&2) && !set.contains(&4));
        assert_eq!(set.into_items(), [1, 2, 3]);
    }

    #[test]
    fn sorting_keeps_the_order_of_equals() {
        let mut items = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        sort_by_key(&mut items, |item| (item.0, 0));
        assert_eq!(items, [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
        let mut few = [5, 3, 4, 1];
        sort_few(&mut few);
        assert_eq!(few, [1, 3, 4, 5]);
    }
}
