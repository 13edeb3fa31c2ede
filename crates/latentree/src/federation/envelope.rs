//! The form of all files of a federation: a line with the kind of file, its format and a digest of the rest; a line of JSON;
//! and bytes.
//!
//! The digest shows damage. It is no signature: whoever changes a file can change its digest, too.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Place, Result};
use crate::journal::hexadecimal;

/// The version of this form.
const FORMAT: &str = "1";
/// The version of the program. Only equal ones work together, because learning must ask for the same passes everywhere.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The digest of bytes, as text.
pub(super) fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Random bytes of the operating system, as text.
pub(super) fn random_name() -> Result<String> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    Ok(hexadecimal(&bytes))
}

/// Fills with random bytes of the operating system.
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

/// The file of a header and bytes.
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

/// The header and the bytes of a file.
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
