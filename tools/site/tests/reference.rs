//! The committed reference pages are those of the source.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

#[test]
fn reference_pages_are_current() {
    let folder = emab_site::root().join("docs/reference");
    let pages = emab_site::reference::pages();
    for page in &pages {
        let path = folder.join(page.name);
        if std::env::var_os("EMAB_REGENERATE").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &page.text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        let name = path.display();
        assert!(
            committed == page.text,
            "{name} is out of date: run `tools/regenerate`"
        );
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), pages.len());
}
