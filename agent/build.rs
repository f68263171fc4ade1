//! Takes into keyhole what other tasks have built.

#[path = "build/site.rs"]
mod site;

fn main() -> std::io::Result<()> {
    site::embed()
}
