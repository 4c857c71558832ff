//! `$ref`, wherever it stands, followed within the document and not in circles.

use serde_json::Value;

/// More than any honest chain of references has.
const CHAIN: usize = 16;

/// The whole document.
#[derive(Clone, Copy)]
pub struct Document<'a>(pub &'a Value);

impl<'a> Document<'a> {
    /// What a value refers to, or itself. A reference that leads nowhere stays what it is.
    pub fn follow(self, mut value: &'a Value) -> &'a Value {
        for _ in 0..CHAIN {
            let target = value["$ref"]
                .as_str()
                .and_then(|link| link.strip_prefix('#'));
            let Some(next) = target.and_then(|pointer| self.0.pointer(pointer)) else {
                break;
            };
            value = next;
        }
        value
    }

    /// The schemas that have names.
    pub fn schemas(self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let schemas = self.0["components"]["schemas"].as_object();
        schemas.into_iter().flatten()
    }
}

/// The name of the schema that a reference is to, if it is one that has its place on the page.
pub fn schema_name(document: Document<'_>, schema: &Value) -> Option<String> {
    let name = schema["$ref"]
        .as_str()?
        .strip_prefix("#/components/schemas/")?;
    // As JSON pointers have it.
    let name = name.replace("~1", "/").replace("~0", "~");
    document.0["components"]["schemas"].get(&name).map(|_| name)
}
