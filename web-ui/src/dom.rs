//! The page's elements, as views of one type.
//!
//! Leptos' `view!` makes a type of each element with its attributes and
//! children, and code to build, mount and rebuild each of those types. Here
//! an element is made where it is described, by calls that all elements
//! share, and carries what has to live as long as it does: the effects that
//! change it and its listeners. It is mounted as any other view of Leptos.
//!
//! Text and values of attributes reach the document through its own methods,
//! never as HTML; [`html`] takes constants only.

use gloo_events::{EventListener, EventListenerOptions};
use leptos::prelude::*;
use leptos::tachys::view::{Mountable, Render};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement, HtmlTemplateElement, Node};

/// An element, or several side by side, with what keeps it alive.
pub(crate) struct View(Box<Inner>);

struct Inner {
    node: Node,
    kept: Vec<Kept>,
}

/// What ends when its element goes.
#[expect(dead_code, reason = "held to be dropped with the element")]
enum Kept {
    Effect(RenderEffect<()>),
    Slot(RenderEffect<View>),
    List(RenderEffect<Vec<(u32, View)>>),
    Listener(EventListener),
}

/// An element with its classes.
#[inline(never)]
pub(crate) fn el(tag: &str, class: &str) -> View {
    // The page's tags are names that every document accepts.
    let element = document().create_element(tag).expect("a tag of HTML");
    if !class.is_empty() {
        element.set_class_name(class);
    }
    View::of(element.into())
}

/// The one element that a constant piece of HTML describes.
#[inline(never)]
pub(crate) fn html(text: &'static str) -> View {
    let template = document().create_element("template").expect("a tag of HTML");
    template.set_inner_html(text);
    let content = template.unchecked_into::<HtmlTemplateElement>().content();
    View::of(content.first_child().expect("one element"))
}

/// Several views side by side; nothing, until something is added.
#[inline(never)]
pub(crate) fn group() -> View {
    View::of(document().create_document_fragment().into())
}

impl View {
    fn of(node: Node) -> Self {
        Self(Box::new(Inner { node, kept: Vec::new() }))
    }

    /// The element itself.
    #[inline(never)]
    pub(crate) fn element<T: JsCast>(&self) -> T {
        self.0.node.clone().unchecked_into()
    }

    /// Adds a class.
    #[inline(never)]
    pub(crate) fn class(self, class: &str) -> Self {
        toggle(self.0.node.unchecked_ref(), class, true);
        self
    }

    #[inline(never)]
    pub(crate) fn attr(self, name: &str, value: &str) -> Self {
        set(self.0.node.unchecked_ref(), name, value);
        self
    }

    /// A property of the style sheet's, such as `--depth`.
    #[inline(never)]
    pub(crate) fn style(self, name: &str, value: &str) -> Self {
        // The page's own names and values; one that is refused changes nothing.
        self.0.node.unchecked_ref::<HtmlElement>().style().set_property(name, value).ok();
        self
    }

    #[inline(never)]
    pub(crate) fn text(self, text: &str) -> Self {
        self.append(&document().create_text_node(text));
        self
    }

    /// Adds a view, or none.
    pub(crate) fn child(self, child: impl Into<Option<View>>) -> Self {
        match child.into() {
            Some(child) => self.add(child),
            None => self,
        }
    }

    pub(crate) fn children(self, children: impl IntoIterator<Item = View>) -> Self {
        children.into_iter().fold(self, Self::add)
    }

    #[inline(never)]
    fn add(mut self, child: View) -> Self {
        self.push(child);
        self
    }

    /// Adds a view.
    #[inline(never)]
    pub(crate) fn push(&mut self, child: View) {
        self.append(&child.0.node);
        self.0.kept.extend(child.0.kept);
    }

    fn append(&self, node: &Node) {
        // Fails only for a node that holds this one.
        self.0.node.append_child(node).ok();
    }

    pub(crate) fn on(self, event: &'static str, heard: impl FnMut(&Event) + 'static) -> Self {
        self.listen(event, Box::new(heard))
    }

    #[inline(never)]
    fn listen(mut self, event: &'static str, heard: Box<dyn FnMut(&Event)>) -> Self {
        let listener = listener(&self.0.node, event, heard);
        self.0.kept.push(Kept::Listener(listener));
        self
    }

    /// Does this now, and again whenever a signal it reads changes.
    pub(crate) fn watch(self, change: impl Fn(&Element) + 'static) -> Self {
        self.effect(Box::new(change))
    }

    #[inline(never)]
    fn effect(mut self, change: Box<dyn Fn(&Element)>) -> Self {
        let element: Element = self.element();
        self.0.kept.push(Kept::Effect(RenderEffect::new(move |_| change(&element))));
        self
    }

    /// Text that follows the signals it is made of.
    pub(crate) fn live_text(self, text: impl Fn() -> String + 'static) -> Self {
        self.watch(move |element| write(element, &text()))
    }

    /// A class that is there while something holds.
    pub(crate) fn class_while(
        self,
        class: &'static str,
        holds: impl Fn() -> bool + 'static,
    ) -> Self {
        self.watch(move |element| toggle(element, class, holds()))
    }

    /// An attribute that says `true` or `false`.
    pub(crate) fn says(self, name: &'static str, holds: impl Fn() -> bool + 'static) -> Self {
        self.watch(move |element| says(element, name, holds()))
    }

    /// A view that is made anew whenever a signal it reads changes.
    pub(crate) fn slot(self, view: impl Fn() -> View + 'static) -> Self {
        self.fill(Box::new(view))
    }

    #[inline(never)]
    fn fill(mut self, view: Box<dyn Fn() -> View>) -> Self {
        // What lies between the two is the slot's.
        let (start, end) = (document().create_comment(""), document().create_comment(""));
        self.append(&start);
        self.append(&end);
        self.0.kept.push(Kept::Slot(RenderEffect::new(move |old: Option<View>| {
            drop(old);
            let end: &Node = &end;
            // The slot is in the document, or in what is about to be.
            let parent = end.parent_node().expect("the slot's element");
            while let Some(node) = start.next_sibling().filter(|node| node != end) {
                parent.remove_child(&node).ok();
            }
            let view = view();
            parent.insert_before(&view.0.node, Some(end)).ok();
            view
        })));
        self
    }

    /// One view for each of these numbers, in their order. A number that stays
    /// keeps its view, and an element that does not move keeps the focus.
    ///
    /// Views made here must not own signals of the arena: those would go when
    /// the numbers change.
    #[inline(never)]
    pub(crate) fn list(
        mut self,
        numbers: Box<dyn Fn() -> Vec<u32>>,
        view: Box<dyn Fn(u32) -> View>,
    ) -> Self {
        let parent = self.0.node.clone();
        self.0.kept.push(Kept::List(RenderEffect::new(move |old: Option<Vec<(u32, View)>>| {
            let mut old = old.unwrap_or_default();
            let mut now = Vec::new();
            for number in numbers() {
                now.push(match old.iter().position(|(known, _)| *known == number) {
                    Some(at) => old.swap_remove(at),
                    None => (number, untrack(|| view(number))),
                });
            }
            for (_, gone) in old {
                parent.remove_child(&gone.0.node).ok();
            }
            let mut next: Option<Node> = None;
            for (_, view) in now.iter().rev() {
                let node = &view.0.node;
                if node.parent_node().is_none() || node.next_sibling() != next {
                    parent.insert_before(node, next.as_ref()).ok();
                }
                next = Some(node.clone());
            }
            now
        })));
        self
    }
}

/// Replaces an element's text, unless it is that already: what has not changed
/// is not to be read aloud again.
#[inline(never)]
fn write(element: &Element, text: &str) {
    if element.text_content().as_deref() != Some(text) {
        element.set_text_content(Some(text));
    }
}

/// Sets an attribute.
#[inline(never)]
pub(crate) fn set(element: &Element, name: &str, value: &str) {
    // Fails only for a name that is none.
    element.set_attribute(name, value).ok();
}

/// Sets an attribute to `true` or `false`.
#[inline(never)]
pub(crate) fn says(element: &Element, name: &str, holds: bool) {
    set(element, name, if holds { "true" } else { "false" });
}

/// Makes an element the one that Tab reaches among its like, or one of the others.
pub(crate) fn reached_by_tab(element: &Element, reached: bool) {
    set(element, "tabindex", if reached { "0" } else { "-1" });
}

/// Sets or takes a class.
#[inline(never)]
pub(crate) fn toggle(element: &Element, class: &str, holds: bool) {
    // Fails only for a class with a space in it.
    element.class_list().toggle_with_force(class, holds).ok();
}

/// Listens until it is dropped; the listener may prevent what the browser would do.
#[inline(never)]
pub(crate) fn listener(
    target: &web_sys::EventTarget,
    event: &'static str,
    heard: Box<dyn FnMut(&Event)>,
) -> EventListener {
    let options = EventListenerOptions::enable_prevent_default();
    EventListener::new_with_options(target, event, options, heard)
}

impl Render for View {
    type State = Self;

    fn build(self) -> Self {
        self
    }

    fn rebuild(self, state: &mut Self) {
        state.insert_before_this(&mut { self });
        state.unmount();
    }
}

impl Mountable for View {
    fn unmount(&mut self) {
        if let Some(parent) = self.0.node.parent_node() {
            parent.remove_child(&self.0.node).ok();
        }
    }

    fn mount(&mut self, parent: &Element, marker: Option<&Node>) {
        parent.insert_before(&self.0.node, marker).ok();
    }

    fn insert_before_this(&self, child: &mut dyn Mountable) -> bool {
        let parent = self.0.node.parent_element();
        parent.is_some_and(|parent| {
            child.mount(&parent, Some(&self.0.node));
            true
        })
    }

    fn elements(&self) -> Vec<Element> {
        vec![self.element()]
    }
}
