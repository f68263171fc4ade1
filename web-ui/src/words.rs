//! What the page adds to [`wording`]: the words of its own parts.

pub(crate) mod instruction;
pub(crate) mod strategy;
pub(crate) mod value;

/// `performance.now()`, or 0 where the page has no clock.
pub(crate) fn now() -> f64 {
    gloo_utils::window().performance().map_or(0.0, |clock| clock.now())
}

/// Milliseconds as `12.3`, without the code that prints any number exactly.
pub(crate) fn milliseconds(time: f64) -> String {
    wording::terms::tenths((time.max(0.0) * 10.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_decimal() {
        assert_eq!(milliseconds(12.34), "12.3");
        assert_eq!(milliseconds(-0.5), "0.0");
        assert_eq!(milliseconds(f64::NAN), "0.0");
    }
}
