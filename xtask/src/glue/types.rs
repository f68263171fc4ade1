//! The report's Rust types as TypeScript, with their documentation.
//!
//! Reads the source, so that the types are written once and the analyzer
//! needs no code for it. Whatever it does not know is an error: a wrong type
//! is worse than none.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type};

/// The types of a module of plain data, as the text of a `.d.ts` file.
///
/// # Errors
/// The source has a type or a serde attribute that this does not know.
pub(crate) fn typescript(source: &str) -> Result<String> {
    let file = syn::parse_file(source).context("the source is not Rust")?;
    let mut text = String::from(
        "// Generated from the analyzer's Rust types by `cargo xtask wasm`.\n\n\
         /** A link-time virtual address. */\n\
         export type VirtAddr = `0x${string}`;\n",
    );
    for item in &file.items {
        match item {
            Item::Struct(item) => {
                known(&item.attrs, &[]).with_context(|| item.ident.to_string())?;
                write!(text, "\n{}", doc(&item.attrs, ""))?;
                writeln!(text, "export interface {} {{", item.ident)?;
                text += &members(&item.fields, "  ").with_context(|| item.ident.to_string())?;
                text += "}\n";
            }
            Item::Enum(item) => {
                let attributes = known(&item.attrs, &["rename_all", "tag"])
                    .with_context(|| item.ident.to_string())?;
                let snake = match attributes.get("rename_all") {
                    Some("snake_case") => true,
                    None => false,
                    Some(other) => bail!("{}: rename_all = {other:?}", item.ident),
                };
                write!(text, "\n{}export type {} =", doc(&item.attrs, ""), item.ident)?;
                for variant in &item.variants {
                    let own = known(&variant.attrs, &["rename"])
                        .with_context(|| format!("{}::{}", item.ident, variant.ident))?;
                    let name = match own.get("rename") {
                        Some(name) => name.to_owned(),
                        None if snake => snake_case(&variant.ident.to_string()),
                        None => variant.ident.to_string(),
                    };
                    write!(text, "\n{}  | ", doc(&variant.attrs, "  "))?;
                    match (attributes.get("tag"), &variant.fields) {
                        (None, Fields::Unit) => write!(text, "\"{name}\"")?,
                        (Some(tag), fields) => {
                            writeln!(text, "{{\n      {tag}: \"{name}\";")?;
                            text += &members(fields, "      ")?;
                            text += "    }";
                        }
                        (None, _) => {
                            bail!("{}::{} has fields and no tag", item.ident, variant.ident)
                        }
                    }
                }
                text += ";\n";
            }
            _ => {}
        }
    }
    Ok(text)
}

fn members(fields: &Fields, indent: &str) -> Result<String> {
    let mut text = String::new();
    for field in fields {
        let Some(name) = &field.ident else { bail!("a field without a name") };
        known(&field.attrs, &[]).with_context(|| name.to_string())?;
        let kind = kind(&field.ty).with_context(|| name.to_string())?;
        writeln!(text, "{}{indent}{name}: {kind};", doc(&field.attrs, indent))?;
    }
    Ok(text)
}

fn kind(ty: &Type) -> Result<String> {
    let Type::Path(path) = ty else { bail!("a type that is not a path") };
    let Some(last) = path.path.segments.last() else { bail!("an empty path") };
    let inner = || -> Result<String> {
        let PathArguments::AngleBracketed(arguments) = &last.arguments else {
            bail!("{} without an argument", last.ident)
        };
        match arguments.args.first() {
            Some(GenericArgument::Type(ty)) => kind(ty),
            _ => bail!("{} of something that is no type", last.ident),
        }
    };
    Ok(match last.ident.to_string().as_str() {
        "String" => "string".to_owned(),
        "bool" => "boolean".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64" => "number".to_owned(),
        "Vec" => match inner()? {
            union if union.contains('|') => format!("({union})[]"),
            plain => format!("{plain}[]"),
        },
        "Option" => format!("{} | null", inner()?),
        name if last.arguments.is_none() => name.to_owned(),
        name => bail!("{name} with arguments"),
    })
}

/// The documentation as a JSDoc comment.
fn doc(attributes: &[Attribute], indent: &str) -> String {
    let lines: Vec<String> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(plain(text.value().trim())),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
        .collect();
    match lines.as_slice() {
        [] => String::new(),
        [line] => format!("{indent}/** {line} */\n"),
        lines => {
            let mut text = format!("{indent}/**\n");
            for line in lines {
                text += format!("{indent} * {line}").trim_end();
                text.push('\n');
            }
            text + indent + " */\n"
        }
    }
}

/// Rustdoc's links as plain code.
fn plain(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`").replace("*/", "*\u{2060}/")
}

/// The serde attributes of an item.
struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the serde attributes; those that are not in `allowed` are an error,
/// except `default`, which changes only what may be left out when reading.
fn known(attributes: &[Attribute], allowed: &[&str]) -> Result<Attributes> {
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if name == "default" {
                return Ok(());
            }
            if !allowed.contains(&name.as_str()) {
                return Err(meta.error(format!("serde({name}) is not known here")));
            }
            let value: syn::LitStr = meta.value()?.parse()?;
            found.push((name, value.value()));
            Ok(())
        })?;
    }
    Ok(Attributes(found))
}

/// serde's `snake_case`: an underscore before every later capital.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for (index, letter) in name.char_indices() {
        if letter.is_uppercase() && index > 0 {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_and_enums_become_interfaces_and_unions() {
        let text = typescript(
            r#"
            /// A thing.
            #[derive(Serialize)]
            pub struct Thing { /// Where.
                pub at: Option<VirtAddr>, pub parts: Vec<Part>, pub count: u64 }
            #[serde(rename_all = "snake_case")]
            pub enum Part { TwoWords, #[serde(rename = "x86_64")] X86_64 }
            #[serde(tag = "kind", rename_all = "snake_case")]
            pub enum Shape { Round { radius: i64 }, Flat {} }
            "#,
        )
        .unwrap();
        for line in [
            "/** A thing. */\nexport interface Thing {",
            "  /** Where. */\n  at: VirtAddr | null;",
            "  parts: Part[];",
            "export type Part =\n  | \"two_words\"\n  | \"x86_64\";",
            "kind: \"round\";\n      radius: number;",
        ] {
            assert!(text.contains(line), "{line:?} is missing in {text}");
        }
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for source in [
            "pub struct A { #[serde(flatten)] pub b: B }",
            "pub struct A { pub b: HashMap<String, u8> }",
            "#[serde(untagged)] pub enum A { B }",
            "pub enum A { B(u8) }",
        ] {
            assert!(typescript(source).is_err(), "{source}");
        }
    }
}
