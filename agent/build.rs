//! Takes into keyhole what other tasks have built.

#[path = "build/program.rs"]
mod program;
#[path = "build/site.rs"]
mod site;

fn main() -> std::io::Result<()> {
    program::embed()?;
    site::embed()
}
