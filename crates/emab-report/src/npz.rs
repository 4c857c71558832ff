//! Writes NumPy arrays: a `.npz` file is an uncompressed ZIP archive with one `.npy` file per array.
//!
//! The formats are those of NumPy's `numpy.lib.format` (version 1.0) and of PKWARE's APPNOTE 6.3, as far as they are
//! needed here: no compression, no file beyond 4 GiB, and no times, so that the same arrays are the same bytes.

/// NumPy's names of little-endian types.
pub(crate) const FLOAT: &str = "<f8";
pub(crate) const INTEGER: &str = "<i8";
pub(crate) const BOOL: &str = "|b1";

/// An archive under construction, of less than 4 GiB.
#[derive(Default)]
pub(crate) struct Npz {
    out: Vec<u8>,
    entries: Vec<Entry>,
}

/// Entry of the central directory.
struct Entry {
    name: String,
    crc: u32,
    size: u32,
    offset: u32,
}

/// Store, do not compress; version 2.0 of the format; the first of January 1980, the earliest there is.
const METHOD_AND_TIME: [u8; 6] = [0, 0, 0, 0, 0x21, 0];
const VERSION: [u8; 2] = 20_u16.to_le_bytes();

impl Npz {
    /// Adds an array of NumPy's type `descr`, given by the bytes of its elements; the last dimension changes fastest, and
    /// there must be as many elements as the shape says.
    pub(crate) fn add<const BYTES: usize>(
        &mut self,
        name: &str,
        descr: &str,
        shape: &[usize],
        elements: impl IntoIterator<Item = [u8; BYTES]>,
    ) {
        let mut entry = Entry {
            name: format!("{name}.npy"),
            crc: 0,
            size: 0,
            offset: self.out.len() as u32,
        };
        // Once to take the place of the head, and once more when size and checksum are known.
        let head = local_head(&entry);
        self.out.extend(&head);
        let begin = self.out.len();
        self.out.extend(npy_head(descr, shape));
        self.out.extend(elements.into_iter().flatten());
        let content = &self.out[begin..];
        entry.size = content.len() as u32;
        entry.crc = crc32fast::hash(content);
        self.out[begin - head.len()..begin].copy_from_slice(&local_head(&entry));
        self.entries.push(entry);
    }

    /// The archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let offset = self.out.len() as u32;
        for entry in &self.entries {
            self.out.extend(b"PK\x01\x02");
            self.out.extend(VERSION);
            self.out.extend(shared_head(entry));
            // No comment, the first disk, no attributes.
            self.out.extend([0; 10]);
            self.out.extend(entry.offset.to_le_bytes());
            self.out.extend(entry.name.as_bytes());
        }
        let size = self.out.len() as u32 - offset;
        let count = self.entries.len() as u16;
        self.out.extend(b"PK\x05\x06\0\0\0\0");
        self.out.extend(count.to_le_bytes());
        self.out.extend(count.to_le_bytes());
        self.out.extend(size.to_le_bytes());
        self.out.extend(offset.to_le_bytes());
        self.out.extend([0; 2]);
        self.out
    }
}

/// What stands before the content of a file.
fn local_head(entry: &Entry) -> Vec<u8> {
    [b"PK\x03\x04", &*shared_head(entry), entry.name.as_bytes()].concat()
}

/// What stands there and, once more, in the directory.
fn shared_head(entry: &Entry) -> Vec<u8> {
    let mut head = VERSION.to_vec();
    head.extend([0; 2]);
    head.extend(METHOD_AND_TIME);
    head.extend(entry.crc.to_le_bytes());
    head.extend(entry.size.to_le_bytes());
    head.extend(entry.size.to_le_bytes());
    // Names are ours, and short; there is no extra field.
    head.extend((entry.name.len() as u16).to_le_bytes());
    head.extend([0; 2]);
    head
}

/// The head of a `.npy` file, filled up to a multiple of 64 bytes.
fn npy_head(descr: &str, shape: &[usize]) -> Vec<u8> {
    let lengths: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
    const BEFORE: usize = 10;
    while !(BEFORE + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((text.len() as u16).to_le_bytes());
    head.extend(text.as_bytes());
    head
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    fn number(bytes: &[u8], at: usize, length: usize) -> usize {
        let bytes = &bytes[at..at + length];
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    }

    /// An array as it was read back: what NumPy calls its elements, its shape as text, its bytes.
    pub(crate) type Read = (String, String, Vec<u8>);

    /// Reads an archive as a reader of ZIP files does: from the directory at its end.
    pub(crate) fn read(archive: &[u8]) -> BTreeMap<String, Read> {
        let end = archive.len() - 22;
        assert_eq!(&archive[end..end + 4], b"PK\x05\x06");
        let (count, size) = (number(archive, end + 10, 2), number(archive, end + 12, 4));
        let mut at = number(archive, end + 16, 4);
        assert_eq!(at + size, end);
        let mut arrays = BTreeMap::new();
        for _ in 0..count {
            assert_eq!(&archive[at..at + 4], b"PK\x01\x02");
            let length = number(archive, at + 28, 2);
            let local = number(archive, at + 42, 4);
            let name = &archive[at + 46..at + 46 + length];
            assert_eq!(&archive[local..local + 4], b"PK\x03\x04");
            // Both heads say the same.
            assert_eq!(archive[local + 4..local + 30], archive[at + 6..at + 32]);
            assert_eq!(&archive[local + 30..local + 30 + length], name);
            let (method, crc) = (number(archive, at + 10, 2), number(archive, at + 16, 4));
            let size = number(archive, at + 20, 4);
            assert_eq!((method, number(archive, at + 24, 4)), (0, size));
            let content = &archive[local + 30 + length..local + 30 + length + size];
            assert_eq!(crc32fast::hash(content) as usize, crc);
            let name = String::from_utf8(name.to_vec()).unwrap();
            arrays.insert(name.strip_suffix(".npy").unwrap().into(), array(content));
            at += 46 + length;
        }
        assert_eq!(at, end);
        arrays
    }

    fn array(content: &[u8]) -> Read {
        assert_eq!(&content[..8], b"\x93NUMPY\x01\x00");
        let begin = 10 + number(content, 8, 2);
        assert!(begin.is_multiple_of(64));
        let head = std::str::from_utf8(&content[10..begin]).unwrap();
        assert!(head.ends_with('\n'));
        let between = |from: &str, to: &str| {
            let rest = head.split_once(from).unwrap().1;
            rest.split_once(to).unwrap().0.to_owned()
        };
        (
            between("'descr': '", "'"),
            between("'shape': ", ", }"),
            content[begin..].to_vec(),
        )
    }
}
