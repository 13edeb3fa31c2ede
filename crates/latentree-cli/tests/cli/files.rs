//! Files in and out: links, modes, and what is left when the program is told to stop.

use crate::harness::Folder;

#[cfg(unix)]
#[test]
fn links_to_an_input_are_not_written_over() {
    let folder = Folder::with_clinic();
    std::os::unix::fs::symlink("clinic.csv", folder.path("soft.csv")).unwrap();
    std::fs::hard_link(folder.path("clinic.csv"), folder.path("hard.csv")).unwrap();
    let before = folder.content();
    for output in ["soft.csv", "hard.csv"] {
        let outcome = folder.run(&format!("learn clinic.csv -o {output}"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("same file as clinic.csv"), "{}", outcome.stderr);
    }
    assert_eq!(folder.content(), before);
}

#[cfg(unix)]
#[test]
fn overwriting_an_output_keeps_its_mode_and_its_link() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_clinic();
    folder.write("real.json", b"old");
    std::fs::set_permissions(folder.path("real.json"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("real.json", folder.path("link.json")).unwrap();
    folder.succeed("export clinic.truth.json --format json -o link.json");
    assert!(std::fs::symlink_metadata(folder.path("link.json")).unwrap().is_symlink());
    assert_eq!(std::fs::metadata(folder.path("real.json")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(folder.json("compare clinic.truth.json real.json")["same_structure"], true);
}

/// Runs the program until it has begun to write, tells it to stop, and gives how it ended.
#[cfg(unix)]
fn stopped_by(folder: &Folder, signal: &str, ignoring: bool) -> std::process::ExitStatus {
    use std::process::{Command, Stdio};
    let program = env!("CARGO_BIN_EXE_latentree");
    let sampling = "sample clinic.truth.json --rows 1000000000000 -o rows.csv";
    let mut command = if ignoring {
        let mut command = Command::new("nohup");
        command.arg(program);
        command
    } else {
        Command::new(program)
    };
    command
        .args(sampling.split(' '))
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let has_begun = || folder.content().keys().any(|path| path.to_string_lossy().ends_with(".partial"));
    while !has_begun() {
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let send = |signal: &str| Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(send(signal).success());
    if ignoring {
        // It would have ended by now, and is still writing.
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert!(child.try_wait().unwrap().is_none(), "what nohup ignores stays ignored");
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    }
    child.wait().expect("the program ends")
}

#[cfg(unix)]
#[test]
fn every_signal_to_stop_leaves_no_partial_file() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let folder = Folder::with_clinic();
        let before = folder.content();
        let status = stopped_by(&folder, signal, false);
        assert_eq!(status.code(), Some(130), "{signal}");
        assert_eq!(folder.content(), before, "{signal}");
    }
}

#[cfg(unix)]
#[test]
fn a_hangup_that_nohup_ignores_stays_ignored() {
    let folder = Folder::with_clinic();
    assert_eq!(stopped_by(&folder, "-HUP", true).code(), Some(130));
}

/// Reading standard input cannot be interrupted: the process ends after a while by itself, without its copy of what was read.
#[cfg(unix)]
#[test]
fn a_program_that_waits_for_input_ends_when_told_to_and_leaves_no_copy() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_latentree"));
    command.args(["describe", "-"]).env("TMPDIR", folder.path("")).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a,b\n1,2\n").unwrap();
    while folder.content().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // Twice: the second request does not wait for the step to end.
    for _ in 0..2 {
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.content().is_empty());
    drop(input);
}
