//! The format of all federation files: a line with the kind of file, the format version and a digest of the rest; a line of
//! JSON; and binary content.
//!
//! The digest detects damage. It is not a signature: anyone who changes a file can change its digest, too.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Place, Result};
use crate::journal::hexadecimal;

/// The version of this format.
const FORMAT: &str = "1";
/// The version of the program. Only equal versions work together, because learners must request the same passes everywhere.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The digest of bytes, as hexadecimal text.
pub(super) fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Random bytes from the operating system, as text.
pub(super) fn random_name() -> Result<String> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    Ok(hexadecimal(&bytes))
}

/// Fills a buffer with random bytes from the operating system.
pub(super) fn fill_random(bytes: &mut [u8]) -> Result<()> {
    use rand::TryRng as _;
    rand::rngs::SysRng
        .try_fill_bytes(bytes)
        .map_err(|error| Error::data(Place::default(), format!("the operating system gives no random bytes: {error}")))
}

fn invalid(kind: &str, problem: impl Into<String>) -> Error {
    let format = if kind == "pass" { "federation pass" } else { "federation part" };
    Error::format(Place::default(), format, problem)
}

/// Writes a file with a header and binary content.
pub(super) fn write(kind: &str, header: &impl Serialize, content: &[u8]) -> Result<Vec<u8>> {
    let header = serde_json::to_vec(header).map_err(|error| invalid(kind, error.to_string()))?;
    let mut rest = Vec::with_capacity(header.len() + content.len() + 1);
    rest.extend(header);
    rest.push(b'\n');
    rest.extend_from_slice(content);
    let mut bytes = format!("latentree {kind} {FORMAT} {}\n", digest(&rest)).into_bytes();
    bytes.extend(rest);
    Ok(bytes)
}

/// Reads the header and the binary content of a file.
pub(super) fn read<'a, H: DeserializeOwned>(kind: &str, bytes: &'a [u8]) -> Result<(H, &'a [u8])> {
    let (first, rest) = line(bytes).ok_or_else(|| invalid(kind, "it does not begin as such a file does"))?;
    let words: Vec<&str> = std::str::from_utf8(first).unwrap_or_default().split(' ').collect();
    match words[..] {
        ["latentree", found, ..] if found != kind && ["pass", "part"].contains(&found) => {
            Err(invalid(kind, format!("it is a {found}; a {kind} is needed")))
        }
        ["latentree", found, FORMAT, expected] if found == kind => {
            if digest(rest) != expected {
                return Err(invalid(kind, "its digest does not match: it was cut or changed on its way; send it again"));
            }
            let (header, content) = line(rest).ok_or_else(|| invalid(kind, "it has no header"))?;
            check_program(kind, header)?;
            let header = serde_json::from_slice(header).map_err(|error| invalid(kind, format!("its header: {error}")))?;
            Ok((header, content))
        }
        _ => Err(invalid(kind, "it does not begin as such a file does")),
    }
}

/// Fails if another version of the program wrote the header.
fn check_program(kind: &str, header: &[u8]) -> Result<()> {
    #[derive(serde::Deserialize)]
    struct Version {
        version: String,
    }
    let found: Version = serde_json::from_slice(header).map_err(|error| invalid(kind, format!("its header: {error}")))?;
    if found.version == PROGRAM {
        return Ok(());
    }
    let problem =
        format!("latentree {} wrote it, and this is latentree {PROGRAM}; install the same version at all sites", found.version);
    Err(Error::data(Place::default(), problem))
}

fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}
