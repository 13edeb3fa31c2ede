//! How much memory may be used: a budget against which large structures are estimated before they are allocated.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Bytes that large structures (pair moments, models, expected counts, rows) may take.
///
/// An estimate that exceeds the budget is an error with a remedy, before any work is done; an allocation that fails would end the
/// process. Each structure is checked by itself: the budget is a guard, not an account of everything the process holds.
///
/// # Example
/// ```
/// use latentree::MemoryBudget;
/// let budget: MemoryBudget = "8G".parse()?;
/// assert_eq!(budget.bytes(), 8 << 30);
/// assert!(budget.check("a table", 9 << 30, "leave out columns").is_err());
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryBudget {
    bytes: u64,
}

/// What is assumed of a machine that does not say how much memory it has.
const UNKNOWN_MACHINE: u64 = 8 << 30;

impl MemoryBudget {
    /// A budget of so many bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self { bytes }
    }

    /// Three quarters of the memory of the machine, or of the container (control group) if that has less.
    #[must_use]
    pub fn of_machine() -> Self {
        Self { bytes: machine_bytes().unwrap_or(UNKNOWN_MACHINE) / 4 * 3 }
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bytes
    }

    /// The half that rows may take: moments and models need the rest.
    #[must_use]
    pub const fn for_rows(self) -> u64 {
        self.bytes / 2
    }

    /// Fails if a structure would not fit. `what` names it ("a model of 100 variables"), `remedy` says what to do besides raising the budget.
    ///
    /// # Errors
    /// [`Error::Option`] of `--memory`, naming the size and the budget.
    pub fn check(self, what: &str, bytes: u64, remedy: &str) -> Result<()> {
        self.check_option("learn.memory", what, bytes, &format!("{remedy}, or allow more memory"))
    }

    /// Fails in the name of the option that asks for a structure if it would not fit: for budgets that the user does not set.
    ///
    /// # Errors
    /// [`Error::Option`] naming the size and the budget.
    pub fn check_option(self, option: &str, what: &str, bytes: u64, remedy: &str) -> Result<()> {
        if bytes <= self.bytes {
            return Ok(());
        }
        Err(Error::option(option, format!("{what} would take {}, more than the {self} allowed; {remedy}", Bytes(bytes))))
    }
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::of_machine()
    }
}

impl fmt::Display for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes(self.bytes).fmt(f)
    }
}

impl FromStr for MemoryBudget {
    type Err = Error;

    /// A number of bytes, or of K, M, G or T (powers of 1024; `KiB`, `MB` and the like mean the same), such as `8G` or `1.5GiB`.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = || Error::option("learn.memory", format!("{text:?} is not a size of at least 1M, such as 8G or 500M"));
        let trimmed = text.trim();
        let at = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(at);
        let shift = match unit.trim().to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            "T" | "TB" | "TIB" => 40,
            _ => return Err(invalid()),
        };
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let bytes = number * (1_u64 << shift) as f64;
        // A process needs this much before it holds anything.
        if !(bytes >= (1 << 20) as f64 && bytes < u64::MAX as f64) {
            return Err(invalid());
        }
        Ok(Self { bytes: bytes as u64 })
    }
}

/// A number of bytes as people read it.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(60, "EiB"), (50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.into_iter().find(|&(shift, _)| self.0 >> shift > 0) {
            Some((shift, unit)) => write!(f, "{:.1} {unit}", self.0 as f64 / (1_u64 << shift) as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// The memory of the machine, or what its control group allows.
fn machine_bytes() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let total = read("/proc/meminfo").as_deref().and_then(meminfo_total);
    let group = read("/proc/self/cgroup").as_deref().map(|groups| {
        let files = groups.lines().flat_map(limit_files);
        files.filter_map(|path| read(&path)?.trim().parse::<u64>().ok()).min()
    });
    [total, group.flatten()].into_iter().flatten().min().filter(|&bytes| bytes > 0)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn meminfo_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files that may hold a limit for one line of `/proc/self/cgroup`: of the group and of those around it, which limit it too.
fn limit_files(line: &str) -> Vec<String> {
    let mut parts = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { return Vec::new() };
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return Vec::new(),
    };
    let path = path.trim_end_matches('/');
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| format!("{root}{}/{file}", &path[..end])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_what_is_no_size_is_refused() {
        let bytes = |text: &str| text.parse::<MemoryBudget>().map(MemoryBudget::bytes);
        for (text, expected) in
            [("8G", 8 << 30), ("500M", 500 << 20), ("1.5GiB", 3 << 29), ("2 tb", 2 << 40), ("1048576", 1 << 20)]
        {
            assert_eq!(bytes(text).unwrap(), expected, "{text}");
        }
        for text in ["", "G", "8X", "-1G", "1K", "nan", "inf", "1e9", "99999999999T", "1..5G"] {
            assert!(bytes(text).unwrap_err().to_string().contains("learn.memory"), "{text}");
        }
    }

    #[test]
    fn a_container_limits_the_machine() {
        assert_eq!(meminfo_total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(
            limit_files("0::/a.slice/b"),
            ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/a.slice/memory.max", "/sys/fs/cgroup/a.slice/b/memory.max"]
        );
        assert_eq!(limit_files("0::/"), ["/sys/fs/cgroup/memory.max"]);
        assert!(limit_files("3:cpu,cpuacct:/x").is_empty());
        assert_eq!(limit_files("5:memory:/x").last().unwrap(), "/sys/fs/cgroup/memory/x/memory.limit_in_bytes");
        assert!(MemoryBudget::of_machine().bytes() > 1 << 20);
    }

    #[test]
    fn what_does_not_fit_is_told_with_sizes_and_a_remedy() {
        let budget = MemoryBudget::new(1 << 30);
        assert!(budget.check("a model", 1 << 30, "ask for fewer states").is_ok());
        let message = budget.check("a model", u64::MAX, "ask for fewer states").unwrap_err().to_string();
        assert!(["`learn.memory`", "16.0 EiB", "1.0 GiB", "fewer states"].iter().all(|part| message.contains(part)), "{message}");
    }
}
