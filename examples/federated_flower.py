"""A federation under the conventions of Flower or vantage6, without depending on either.

Both frameworks send a message to every client, run a function there, and hand the answers to a function of the server. Here, a
message is the bytes of a pass and an answer is the bytes of a part. In Flower, `client` is the body of a `ClientApp`'s handler, with the
bytes in an array record; in vantage6, it is a function of an algorithm image, with the bytes in its arguments. `server` is the body of the
`ServerApp`'s main function, or of the central task.

Usage: federated_flower.py NORTH.csv SOUTH.csv …
"""

import pathlib
import sys
import tempfile

from latentree import federated


def client(message: bytes, data: str, site: str, folder: pathlib.Path) -> bytes:
    """Answers a pass at a site. `folder` is the site's own, and keeps its record."""
    folder.mkdir(exist_ok=True)
    (folder / "asked.pass").write_bytes(message)
    answer = federated.answer(folder / "asked.pass", data, site=site, output=folder / "answer.part")
    print(f"{site}: {answer.reveals} ({answer.rows} rows)")
    return answer.part.read_bytes()


def server(send, sites, folder: pathlib.Path, **options) -> pathlib.Path:
    """Asks all sites round by round. `send(site, message)` runs `client` there."""
    step = federated.start(folder / "run", sites=sites, **options)
    while step.model is None:
        message, parts = step.passes.read_bytes(), []
        for site in sites:
            parts.append(folder / f"{site}.part")
            parts[-1].write_bytes(send(site, message))
        step = federated.next(folder / "run", parts)
    return step.model


def main() -> None:
    data = {pathlib.Path(path).stem: path for path in sys.argv[1:]}
    if not data:
        sys.exit(__doc__)
    folder = pathlib.Path(tempfile.mkdtemp())
    model = server(lambda site, message: client(message, data[site], site, folder / site), list(data), folder)
    print(f"model: {model}")


if __name__ == "__main__":
    main()
