//! Small things asked of the browser.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, BlobPropertyBag, HtmlAnchorElement, HtmlElement, ScrollBehavior, ScrollIntoViewOptions,
    ScrollLogicalPosition, Url,
};

/// Offers `bytes` as a download.
///
/// # Errors
/// The browser refuses.
pub(crate) fn download(name: &str, media_type: &str, bytes: &[u8]) -> Result<(), JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(media_type);
    let parts = Array::of1(&Uint8Array::from(bytes));
    let blob = Blob::new_with_u8_array_sequence_and_options(&parts, &options)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let anchor: HtmlAnchorElement = gloo_utils::document().create_element("a")?.unchecked_into();
    anchor.set_href(&url);
    anchor.set_download(name);
    anchor.click();
    // Some browsers read the blob only after the click has returned.
    gloo_timers::callback::Timeout::new(60_000, move || {
        // An address that is gone already needs no revoking.
        Url::revoke_object_url(&url).ok();
    })
    .forget();
    Ok(())
}

/// Puts text on the clipboard.
///
/// # Errors
/// The browser has no clipboard for this page, or the user refuses.
pub(crate) async fn copy(text: &str) -> Result<(), JsValue> {
    let clipboard = gloo_utils::window().navigator().clipboard();
    if clipboard.is_undefined() {
        return Err("this page may not use the clipboard".into());
    }
    JsFuture::from(clipboard.write_text(text)).await.map(|_| ())
}

/// Whether the user asked the system for less motion.
fn less_motion() -> bool {
    gloo_utils::window()
        .match_media("(prefers-reduced-motion: reduce)")
        .ok()
        .flatten()
        .is_some_and(|query| query.matches())
}

/// Brings an element into view and gives it the focus.
pub(crate) fn go_to(id: &str, block: ScrollLogicalPosition) {
    let Some(element) = gloo_utils::document().get_element_by_id(id) else { return };
    let options = ScrollIntoViewOptions::new();
    options.set_block(block);
    options.set_behavior(if less_motion() { ScrollBehavior::Auto } else { ScrollBehavior::Smooth });
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let focus = web_sys::FocusOptions::new();
        focus.set_prevent_scroll(true);
        // An element that cannot take the focus is still scrolled to.
        element.focus_with_options(&focus).ok();
    }
    element.scroll_into_view_with_scroll_into_view_options(&options);
}
