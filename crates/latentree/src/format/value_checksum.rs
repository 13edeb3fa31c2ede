//! The checksum of files that are read as a whole [`Value`]: classifiers, topics and hierarchies.

use serde_json::Value;

/// 64-bit FNV-1a of the document without its checksum field; keys of a value are sorted.
pub(crate) fn value_checksum(document: &Value) -> String {
    let mut bare = document.clone();
    if let Some(fields) = bare.as_object_mut() {
        fields.remove("checksum");
    }
    let hash = bare
        .to_string()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("fnv1a64:{hash:016x}")
}

/// What is wrong with the checksum of a document, if it has one.
pub(crate) fn checksum_fault(document: &Value) -> Option<&'static str> {
    let written = document.get("checksum")?;
    (written.as_str() != Some(&value_checksum(document))).then_some(
        "its checksum does not fit: the file was changed or damaged after it was written; fetch it again, or remove the field \
         \"checksum\" to accept a change made by hand",
    )
}
