//! Two lists side by side: which lines are in both, which in one.

/// One line of the comparison: left, right, or both when they are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pair {
    /// In both, at these positions.
    Same(usize, usize),
    /// Left only.
    Left(usize),
    /// Right only.
    Right(usize),
}

/// Longest list compared line by line; work grows with the product.
const LONGEST: usize = 800;

/// Aligns two lists by a longest common subsequence of equal keys.
pub(crate) fn align<K: PartialEq>(left: &[K], right: &[K]) -> Vec<Pair> {
    let left = left.get(..LONGEST).unwrap_or(left);
    let right = right.get(..LONGEST).unwrap_or(right);
    let width = right.len() + 1;
    // common[i * width + j]: longest common subsequence of left[i..] and right[j..].
    let mut common = vec![0u32; (left.len() + 1) * width];
    for (i, l) in left.iter().enumerate().rev() {
        for (j, r) in right.iter().enumerate().rev() {
            common[i * width + j] = if l == r {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < left.len() || j < right.len() {
        if i < left.len() && j < right.len() && left[i] == right[j] {
            pairs.push(Pair::Same(i, j));
            (i, j) = (i + 1, j + 1);
        } else if j == right.len()
            || (i < left.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            pairs.push(Pair::Left(i));
            i += 1;
        } else {
            pairs.push(Pair::Right(j));
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_are_paired_and_the_rest_kept_in_order() {
        assert_eq!(
            align(&["lea", "mov", "call"], &["lea", "call", "ret"]),
            [Pair::Same(0, 0), Pair::Left(1), Pair::Same(2, 1), Pair::Right(2)]
        );
        assert_eq!(align::<u8>(&[], &[1]), [Pair::Right(0)]);
        assert_eq!(align::<u8>(&[], &[]), []);
    }
}
