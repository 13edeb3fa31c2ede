"""The command that comes with the package does what the program does: same bytes, same exit codes, same end at Ctrl-C."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import pytest

import latentree
from latentree._command_line import main

CLINIC = Path(__file__).resolve().parents[2] / "examples" / "clinic.csv"
MODULE = [sys.executable, "-m", "latentree"]
on_posix = pytest.mark.skipif(os.name != "posix", reason="signals and names of bytes")


def script():
    found = shutil.which("latentree", path=sysconfig.get_path("scripts"))
    if found is None:
        pytest.skip("the package is not installed with its scripts")
    return [found]


def program():
    found = os.environ.get("LATENTREE_PROGRAM")
    if found is None:
        pytest.skip("no program: set LATENTREE_PROGRAM to it")
    return [found]


def run(command, *arguments, folder=None, stdin=b""):
    return subprocess.run([*command, *arguments], cwd=folder, input=stdin, capture_output=True, timeout=120)


def without_time(text):
    return re.sub(rb"(?m)^seconds .*$", b"", text)


@pytest.fixture(params=["module", "script"])
def command(request):
    return MODULE if request.param == "module" else script()


def test_the_version_is_the_packages(command):
    ended = run(command, "--version")
    assert (ended.returncode, ended.stdout.decode()) == (0, f"latentree {latentree.__version__}\n")


def test_the_usage_names_the_command(command):
    ended = run(command, "learn", "--help")
    assert ended.returncode == 0 and b"Usage: latentree learn" in ended.stdout
    ended = run(command, "learn")
    assert ended.returncode == 2 and b"Usage: latentree learn" in ended.stderr and ended.stdout == b""


def test_bytes_and_exit_codes_are_the_programs(command, tmp_path):
    steps = [
        ["describe", str(CLINIC)],
        ["learn", str(CLINIC), "-o", "model.json", "--structure", "nj", "--parameters", "moments", "--threads", "2", "--quiet"],
        ["query", "model.json", "--given", "obesity=1", "--of", "type_2_diabetes"],
        ["query", "model.json", "--given", "obesity=maybe", "--of", "type_2_diabetes", "--json"],
        ["sample", "model.json", "--rows", "20", "-o", "-", "--seed", "3"],
        ["score", "model.json", "-", "--json"],
        ["export", "model.json", "--format", "newick", "-o", "-"],
        ["completions", "bash"],
        ["describe", "nothing.csv"],
        ["describe", str(CLINIC), "--threads", "0"],
        ["unknown"],
        [],
    ]
    rows = b"".join(CLINIC.read_bytes().splitlines(keepends=True)[:200])
    seen = []
    for runner in [program(), command]:
        folder = tmp_path / str(len(seen))
        folder.mkdir()
        ended = [run(runner, *step, folder=folder, stdin=rows) for step in steps]
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        seen.append(([(it.returncode, without_time(it.stdout), it.stderr) for it in ended], files))
    (theirs, their_files), (ours, our_files) = seen
    assert [it[0] for it in theirs] == [0, 0, 0, 2, 0, 0, 0, 0, 2, 2, 2, 2]
    for step, their, our in zip(steps, theirs, ours, strict=True):
        assert their == our, step
    assert list(our_files) == ["model.json"] and their_files == our_files


@on_posix
def test_a_reader_that_goes_away_is_no_error(command):
    with subprocess.Popen(
        [*command, "describe", str(CLINIC)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=60) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
def test_output_that_cannot_be_written_is_an_error(command):
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*command, "completions", "bash"], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert ended.returncode == 2 and b"standard output" in ended.stderr


@on_posix
def test_names_of_any_bytes_are_files(command, tmp_path):
    name = os.path.join(os.fsencode(tmp_path), b"caf\xe9.csv")
    try:
        shutil.copy(CLINIC, name)
    except OSError:
        pytest.skip("this file system takes only names of UTF-8")
    ended = subprocess.run([*command, "describe", name, "--json"], capture_output=True, timeout=60)
    assert ended.returncode == 0 and b'"rows":5000' in ended.stdout


def start_and_stop(command, folder, number, then=None):
    """Sends a signal to a run that is writing a file."""
    arguments = ["sample", "truth.json", "--rows", "1000000000", "-o", "rows.csv"]
    before = {"truth.json"}
    shutil.copy(CLINIC.with_name("clinic.truth.json"), folder / "truth.json")
    with subprocess.Popen([*command, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        while {path.name for path in folder.iterdir()} == before:
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(number)
        if then is not None:
            time.sleep(0.5)
            assert child.poll() is None, "what is ignored stays ignored"
            child.send_signal(then)
        said = child.stderr.read()
        code = child.wait(timeout=60)
    return code, said, {path.name for path in folder.iterdir()} - before


@on_posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_to_stop_leaves_no_partial_file(command, tmp_path, name):
    code, said, left = start_and_stop(command, tmp_path, getattr(signal, name))
    assert (code, left) == (130, set())
    assert said.startswith(b"error: ") and b"Traceback" not in said


@on_posix
def test_ctrl_c_ends_a_search_with_its_best_model_and_sigterm_writes_nothing(tmp_path):
    simulate = "simulate --shape random --observed 80 --family categorical --states 3 --hidden-states 3 --separation 0.6"
    assert run(MODULE, *simulate.split(), *"--rows 4000 --model t.json --data d.csv".split(), folder=tmp_path).returncode == 0

    def signalled(number, after):
        with subprocess.Popen([*MODULE, *"learn d.csv -o m.json --quiet --json".split()], cwd=tmp_path, stdout=subprocess.PIPE) as child:
            time.sleep(after)
            child.send_signal(number)
            printed = json.loads(child.stdout.read())
            return child.wait(timeout=60), printed

    # Later and later, until the search has a model by then.
    after = 0.5
    while True:
        code, printed = signalled(signal.SIGINT, after)
        assert code == 130
        if "error" not in printed:
            break
        assert not (tmp_path / "m.json").exists()
        after *= 1.5
    assert printed["interrupted"] is True
    assert json.loads((tmp_path / "m.json").read_text())["provenance"]["interrupted"] is True
    (tmp_path / "m.json").unlink()
    code, printed = signalled(signal.SIGTERM, after)
    assert code == 130 and "error" in printed and not (tmp_path / "m.json").exists()


@on_posix
@pytest.mark.skipif(shutil.which("nohup") is None, reason="no nohup")
def test_a_hangup_that_nohup_ignores_stays_ignored(command, tmp_path):
    code, _, left = start_and_stop(["nohup", *command], tmp_path, signal.SIGHUP, then=signal.SIGINT)
    assert (code, left) == (130, set())


@on_posix
def test_a_step_that_does_not_stop_is_ended_by_a_second_signal(command, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    reading = [*command, "describe", "-"]
    with subprocess.Popen(reading, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as child:
        child.stdin.write(b"a,b\n1,2\n")
        child.stdin.flush()
        while not any(tmp_path.iterdir()):
            time.sleep(0.01)
        for _ in range(2):
            child.send_signal(signal.SIGINT)
            time.sleep(0.3)
        assert child.wait(timeout=3) == 130
        assert not any(tmp_path.iterdir())


def test_the_interpreter_goes_on_after_a_command(tmp_path):
    """Signals are the interpreter's own again, other threads run meanwhile, and a command can be run again."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(0.002):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    model = str(tmp_path / "model.json")
    assert main(["learn", str(CLINIC), "-o", model, "--quiet"]) == 0
    assert len(ticks) > 3
    over.set()
    thread.join()
    assert main(["describe", str(tmp_path / "nothing.csv")]) == 2
    assert main(["learn", str(CLINIC), "-o", str(tmp_path / "again.json"), "--quiet"]) == 0
    assert Path(model).read_bytes() == (tmp_path / "again.json").read_bytes()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    # A shell's background job is started with SIGINT ignored, and stays so.
    if os.name == "posix" and before[0] is signal.default_int_handler:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)


def test_the_command_imports_no_other_package():
    code = "import sys; from latentree._command_line import main; main(); print(*{'numpy', 'sklearn'} & {*sys.modules})"
    ended = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout == f"latentree {latentree.__version__}\n\n"


def test_names_of_the_package_are_found_when_asked_for():
    assert set(latentree.__all__) <= set(dir(latentree))
    assert all(hasattr(latentree, name) for name in latentree.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Tree'"):
        latentree.Tree
