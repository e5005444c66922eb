"""`make pin-images`: writes the digest behind each image's tag, so that a build takes the same bytes tomorrow.

    FROM python:3.11-slim-bookworm  ->  FROM python:3.11-slim-bookworm@sha256:...

It asks the registries with `docker buildx imagetools inspect`. Run it again to move to the images of the day.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

# An image of a registry; one that is built here has no digest before it is built.
_IMAGE = re.compile(
    r"^(?P<before>\s*(?:FROM|image:)\s+)(?P<tag>(?!memoryhub:)[\w./-]+:[\w.-]+)(?:@sha256:[0-9a-f]{64})?", re.MULTILINE
)


@cache
def digest(tag: str) -> str:
    """The digest of `tag` in its registry. Raises SystemExit with a reason."""
    command = ["docker", "buildx", "imagetools", "inspect", tag, "--format", "{{.Manifest.Digest}}"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - ours
    except FileNotFoundError:
        raise SystemExit("Docker is needed to ask the registries for digests, and is not installed here.") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{tag}: no digest, {error.stderr.strip()}") from None
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
        raise SystemExit(f"{tag}: {found[:80]!r} is no digest.")
    return found


def main(files: list[str]) -> None:
    """Pin the images of each file; nothing is written unless every digest was found."""
    pinned = {Path(name): _IMAGE.sub(_pinned, Path(name).read_text(encoding="utf-8")) for name in files}
    for path, text in pinned.items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}: {len(_IMAGE.findall(text))} images pinned\n")


def _pinned(found: re.Match[str]) -> str:
    return f"{found['before']}{found['tag']}@{digest(found['tag'])}"


if __name__ == "__main__":
    main(sys.argv[1:])
