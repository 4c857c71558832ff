//! SHA-256 and hexadecimal encoding, for hashes that results, logs and tokens record.

use sha2::{Digest, Sha256};

/// Bytes in lower-case hexadecimal.
///
/// ```
/// assert_eq!(emab_problem::hex(&[0, 10, 255]), "000aff");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]));
    digits.collect()
}

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
