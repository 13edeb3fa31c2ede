//! Masks that cancel in the sum over all sites.
//!
//! Each pair of sites shares a secret (X25519), from which HKDF derives a key for each attempt of each round, and ChaCha20 a
//! stream of 64-bit numbers. The site whose name sorts first adds the stream to its numbers and the other subtracts it, both
//! modulo 2⁶⁴. A single part is indistinguishable from random numbers; in the sum, all streams cancel. Counts are exact.
//! Other sums are rounded to multiples of 2⁻²⁴ before masking.
//!
//! This follows Bonawitz et al. (2017) without their recovery from dropouts: if a site fails, the round is repeated with the
//! other sites and new masks. Masks hide parts from the coordinator and from anyone else who sees the files. They do not hide
//! the sum, and they do not protect against a coordinator that distributes its own keys: compare fingerprints, or list the
//! keys in the policy.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use x25519_dalek::{PublicKey, StaticSecret};

use super::envelope::{digest, fill_random};
use super::files::{PassHeader, store};
use crate::error::{Error, Place, Result};
use crate::journal::hexadecimal;
use crate::moments::Sums;
use crate::passes;

/// Minimum number of sites in a masked sum.
pub const LEAST_SITES: usize = 2;
/// Real sums are rounded to multiples of 2 to the power of minus this.
const FRACTION_BITS: i32 = 24;
/// Real sums must be below 2 to the power of this, so that the sum over many sites fits in 63 bits.
const WHOLE_BITS: i32 = 32;
/// Number of values masked at once.
const CHUNK: usize = 8192;

/// A site's secret key.
pub struct SecretKey {
    site: String,
    secret: StaticSecret,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("site", &self.site).finish_non_exhaustive()
    }
}

/// The file format of a key; without the secret, it is the public file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    site: String,
    public: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl SecretKey {
    /// Generates a key from the operating system's entropy.
    ///
    /// # Errors
    /// [`Error::Option`] if the name is not a valid site name, [`Error::Data`] if there is no entropy.
    pub fn generate(site: &str) -> Result<Self> {
        super::site::check_name(site)?;
        let mut bytes = [0; 32];
        fill_random(&mut bytes)?;
        Ok(Self { site: site.to_owned(), secret: StaticSecret::from(bytes) })
    }

    /// The public key, as hexadecimal digits.
    #[must_use]
    pub fn public(&self) -> String {
        hexadecimal(PublicKey::from(&self.secret).as_bytes())
    }

    /// Writes the secret file, readable only by its owner, and the public file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Data`] if the secret file already exists, because it is never overwritten.
    pub fn write(&self, secret: &Path, public: &Path) -> Result<()> {
        if secret.exists() {
            let problem = "the file exists, and a key is never overwritten; choose another name, or remove it";
            return Err(Error::data(Place::file(secret), problem));
        }
        let file = |secret: Option<String>| KeyFile { site: self.site.clone(), public: self.public(), secret };
        let text = |file: &KeyFile| serde_json::to_string(file).unwrap_or_default() + "\n";
        let hidden = text(&file(Some(hexadecimal(self.secret.as_bytes()))));
        write_privately(secret, hidden.as_bytes())?;
        store(public, text(&file(None)).as_bytes())
    }

    /// Reads a secret file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] if it is not a key or contains only a public key.
    pub fn read(path: &Path) -> Result<Self> {
        let file = key_file(path)?;
        let invalid = |problem: &str| Error::format(Place::file(path), "key", problem);
        let secret = file.secret.ok_or_else(|| invalid("it is a public key; the site's own secret key is needed"))?;
        let key = Self { site: file.site, secret: StaticSecret::from(bytes(&secret).ok_or_else(|| invalid("it is damaged"))?) };
        if key.public() == file.public { Ok(key) } else { Err(invalid("its two halves do not fit together")) }
    }
}

/// Reads the public key of a site, from either the public or the secret file.
///
/// # Errors
/// [`Error::Io`]; [`Error::Format`] if it is not a key.
pub fn read_public(path: &Path) -> Result<(String, String)> {
    let file = key_file(path)?;
    super::site::check_name(&file.site).map_err(|error| error.in_file(path))?;
    if bytes(&file.public).is_none() {
        return Err(Error::format(Place::file(path), "key", "it is damaged"));
    }
    Ok((file.site, file.public))
}

/// The first digits of a key's digest, for comparison by people.
#[must_use]
pub fn fingerprint(public: &str) -> String {
    digest(public.as_bytes())[..16].to_owned()
}

/// The fingerprints of all keys except one's own.
pub(super) fn fingerprints(keys: &BTreeMap<String, String>, own: &str) -> BTreeMap<String, String> {
    keys.iter().filter(|(site, _)| *site != own).map(|(site, key)| (site.clone(), fingerprint(key))).collect()
}

fn key_file(path: &Path) -> Result<KeyFile> {
    let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
    serde_json::from_str(&text).map_err(|error| Error::format(Place::file(path), "key", error.to_string()))
}

#[cfg(unix)]
fn write_privately(path: &Path, content: &[u8]) -> Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content)).map_err(Error::io("write", path))
}

#[cfg(not(unix))]
fn write_privately(path: &Path, content: &[u8]) -> Result<()> {
    store(path, content)
}

fn bytes(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (ix, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * ix..2 * ix + 2], 16).ok()?;
    }
    Some(bytes)
}

/// The sums of a pass as numbers modulo 2⁶⁴, in the shape shared by all parts.
fn numbers(wire: &[u8]) -> Result<Vec<u64>> {
    let (mut numbers, mut problem) = (Vec::new(), None);
    let mut whole = |value: f64, numbers: &mut Vec<u64>| {
        if value.fract() != 0.0 || value.abs() > 2_f64.powi(53) {
            problem = Some("row weights that are not whole numbers cannot be masked");
        }
        numbers.push(value as i64 as u64);
    };
    let mut too_large = false;
    passes::visit_sums(wire, true, &mut |sums| match sums {
        Sums::Counts(counts) => numbers.extend(counts.iter().map(|&it| u64::from(it))),
        Sums::LongCounts(counts) => numbers.extend_from_slice(counts),
        Sums::Noisy(counts) => numbers.extend(counts.iter().map(|&it| it as u64)),
        Sums::Weights(weights) => weights.iter().for_each(|&it| whole(it, &mut numbers)),
        Sums::Reals(reals) => {
            let fits = |it: &f64| it.abs() < 2_f64.powi(WHOLE_BITS);
            too_large |= !reals.iter().all(fits);
            numbers.extend(reals.iter().map(|it| (it * 2_f64.powi(FRACTION_BITS)).round() as i64 as u64));
        }
    })?;
    if too_large {
        problem = Some("a sum is too large to be masked");
    }
    match problem {
        Some(problem) => Err(Error::data(Place::default(), problem)),
        None => Ok(numbers),
    }
}

/// A site's part: its numbers plus the masks it shares with each other site.
pub(super) fn masked(wire: &[u8], key: &SecretKey, site: &str, pass: &PassHeader) -> Result<Vec<u8>> {
    let refused = |problem: String| Error::data(Place::default(), format!("refused: {problem}"));
    if key.site != site || pass.keys.get(site) != Some(&key.public()) {
        return Err(refused(format!(
            "the key is not the one of {site:?} in this pass; use the key that the run was started with"
        )));
    }
    let mut numbers = numbers(wire)?;
    for (peer, public) in pass.keys.iter().filter(|(peer, _)| *peer != site) {
        let theirs = PublicKey::from(bytes(public).ok_or_else(|| refused(format!("the key of {peer:?} is damaged")))?);
        let shared = key.secret.diffie_hellman(&theirs);
        if !shared.was_contributory() {
            return Err(refused(format!("the key of {peer:?} is not a key")));
        }
        let stream = mask_key(shared.as_bytes(), [site, peer], pass);
        add_mask(&mut numbers, &stream, *site < **peer);
    }
    Ok(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

/// The key shared by two sites for one attempt of one round.
fn mask_key(shared: &[u8; 32], mut sites: [&str; 2], pass: &PassHeader) -> [u8; 32] {
    sites.sort_unstable();
    let info = format!("latentree mask 1 {} {} {} {} {}", pass.run, pass.round, pass.attempt, sites[0], sites[1]);
    let mut key = [0; 32];
    let salt = Sha256::digest(pass.run.as_bytes());
    Hkdf::<Sha256>::new(Some(&salt), shared).expand(info.as_bytes(), &mut key).expect("32 bytes are a length that HKDF gives");
    key
}

fn add_mask(numbers: &mut [u64], key: &[u8; 32], is_added: bool) {
    let mut stream = ChaCha20::new(key.into(), &[0; 12].into());
    let mut buffer = vec![0; CHUNK * 8];
    for chunk in numbers.chunks_mut(CHUNK) {
        let bytes = &mut buffer[..chunk.len() * 8];
        bytes.fill(0);
        stream.apply_keystream(bytes);
        for (number, mask) in chunk.iter_mut().zip(bytes.as_chunks::<8>().0) {
            let mask = u64::from_le_bytes(*mask);
            *number = if is_added { number.wrapping_add(mask) } else { number.wrapping_sub(mask) };
        }
    }
}

/// The pass with the sum of the masked parts.
pub(super) fn unmasked(plan: &[u8], parts: &[&[u8]]) -> Result<Vec<u8>> {
    let invalid = |problem: &str| Error::data(Place::default(), problem);
    let length = parts.first().map_or(0, |part| part.len());
    if !length.is_multiple_of(8) || parts.iter().any(|part| part.len() != length) {
        return Err(invalid("masked parts have different lengths: a site used other columns"));
    }
    let mut sums = vec![0_u64; length / 8];
    for part in parts {
        sums.iter_mut().zip(part.as_chunks::<8>().0).for_each(|(sum, bytes)| *sum = sum.wrapping_add(u64::from_le_bytes(*bytes)));
    }
    let (mut next, mut is_count) = (sums.iter().copied(), true);
    let mut missing = false;
    let mut take = || {
        let value = next.next();
        missing |= value.is_none();
        value.unwrap_or(0)
    };
    let wire = passes::visit_sums(plan, true, &mut |into| match into {
        Sums::Counts(counts) => counts.iter_mut().for_each(|it| {
            let value = take();
            is_count &= value <= u64::from(u32::MAX);
            *it = value as u32;
        }),
        Sums::LongCounts(counts) => counts.iter_mut().for_each(|it| {
            *it = take();
            is_count &= *it < 1 << 53;
        }),
        Sums::Noisy(counts) => counts.iter_mut().for_each(|it| *it = take() as i64),
        Sums::Weights(weights) => weights.iter_mut().for_each(|it| {
            *it = take() as i64 as f64;
            is_count &= (0.0..2_f64.powi(53)).contains(it);
        }),
        Sums::Reals(reals) => reals.iter_mut().for_each(|it| *it = take() as i64 as f64 / 2_f64.powi(FRACTION_BITS)),
    })?;
    if missing || sums.len() != sums_of(&wire)? {
        return Err(invalid("masked parts do not fit the pass: a site used other columns"));
    }
    // Masks that do not cancel add up to random numbers, and counts below 2³² are then all but impossible.
    if !is_count {
        return Err(invalid(
            "the masks do not cancel: a site used another key, or answered another attempt; ask the round again without it",
        ));
    }
    Ok(wire)
}

fn sums_of(wire: &[u8]) -> Result<usize> {
    numbers(wire).map(|numbers| numbers.len())
}
