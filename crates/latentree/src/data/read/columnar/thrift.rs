//! A walk over Thrift's compact protocol, in which Parquet writes its metadata.
//!
//! The Parquet library allocates a list before it reads it, so that a damaged length asks for any amount of memory, and a
//! failed allocation ends the process. The walk reads nothing into memory: it fails unless every list, map and text fits
//! into the bytes that are there, and shows whole numbers to its caller, who knows which of them are sizes.

/// Deepest nesting; Parquet's own metadata has less than ten levels.
const DEPTH: usize = 32;

/// Visits a whole number: the ids of the fields that lead to it (lists add no level), and the number. `Err` stops the walk.
pub(super) type Visit<'a> = dyn FnMut(&[i16], i64) -> Result<(), String> + 'a;

/// Walks over one struct; gives its length in bytes.
pub(super) fn walk(bytes: &[u8], visit: &mut Visit<'_>) -> Result<usize, String> {
    let mut walker = Walker { bytes, at: 0, path: Vec::new() };
    walker.fields(visit)?;
    Ok(walker.at)
}

struct Walker<'b> {
    bytes: &'b [u8],
    at: usize,
    path: Vec<i16>,
}

impl Walker<'_> {
    fn byte(&mut self) -> Result<u8, String> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| "its metadata end early".to_owned())?;
        self.at += 1;
        Ok(byte)
    }

    fn skip(&mut self, n_bytes: u64) -> Result<(), String> {
        let left = (self.bytes.len() - self.at) as u64;
        if n_bytes > left {
            return Err(format!("its metadata claim {n_bytes} bytes where {left} are left"));
        }
        self.at += n_bytes as usize;
        Ok(())
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("its metadata hold a number of more than 64 bits".to_owned())
    }

    fn signed(&mut self) -> Result<i64, String> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number of elements, each of which takes a byte at least.
    fn size(&mut self, size: u64) -> Result<u64, String> {
        let left = (self.bytes.len() - self.at) as u64;
        if size > left {
            return Err(format!("its metadata claim a list of {size} elements where {left} bytes are left"));
        }
        Ok(size)
    }

    fn fields(&mut self, visit: &mut Visit<'_>) -> Result<(), String> {
        if self.path.len() >= DEPTH {
            return Err("its metadata are nested too deeply".to_owned());
        }
        let mut id = 0_i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match i16::from(head >> 4) {
                0 => self.signed()? as i16,
                delta => id.wrapping_add(delta),
            };
            self.path.push(id);
            // A truth value is in the type of its field.
            if !matches!(head & 15, 1 | 2) {
                self.value(head & 15, visit)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, visit: &mut Visit<'_>) -> Result<(), String> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let value = self.signed()?;
                visit(&self.path, value)
            }
            7 => self.skip(8),
            8 => {
                let length = self.unsigned()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let size = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
                let size = self.size(size)?;
                (0..size).try_for_each(|_| self.value(head & 15, visit))
            }
            11 => {
                let size = self.unsigned()?;
                let size = self.size(size)?;
                let kinds = if size > 0 { self.byte()? } else { 0 };
                (0..size).try_for_each(|_| self.value(kinds >> 4, visit).and_then(|()| self.value(kinds & 15, visit)))
            }
            12 => self.fields(visit),
            _ => Err(format!("its metadata hold a value of unknown type {kind}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_the_fields_that_lead_to_them() {
        // {1: i32 -1, 3: [{2: i64 300}, {2: i64 1}], 4: true, 5: "ab"}
        let bytes = [0x15, 1, 0x29, 0x2c, 0x26, 0xd8, 4, 0, 0x26, 2, 0, 0x11, 0x18, 2, b'a', b'b', 0];
        let mut seen = Vec::new();
        let length = walk(&bytes, &mut |path, value| {
            seen.push((path.to_vec(), value));
            Ok(())
        });
        assert_eq!(length, Ok(bytes.len()));
        assert_eq!(seen, [(vec![1], -1), (vec![3, 2], 300), (vec![3, 2], 1)]);
    }

    #[test]
    fn lengths_beyond_the_bytes_that_are_there_are_refused() {
        let accept = &mut |_: &[i16], _: i64| Ok(());
        for bytes in [&[0x19, 0xf5, 0xff, 0xff, 0xff, 0x7f, 0][..], &[0x18, 0xff, 0x7f, 0], &[0x15], &[0x1f, 0], &[0x1c; 80]] {
            assert!(walk(bytes, accept).is_err(), "{bytes:?}");
        }
        assert_eq!(walk(&[0], accept), Ok(1));
    }
}
