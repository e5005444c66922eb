"""The wheel: what is in it, and that it runs in an empty environment and an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Self

import httpx
import pytest

from memoryhub import __version__
from tests.proofs.site import ROOT, Site

pytestmark = pytest.mark.long

MAX_BYTES = 30 * 1024 * 1024
NEW_MEMBER = """
from tenants.principal import Right
from tenants.services import add_member, create_tenant, create_user
from tenants.tokens import issue_token
tenant = create_tenant(name="Orchard", slug="orchard")
member = add_member(tenant=tenant, user=create_user(username="ines", display_name="Ines"))
print(issue_token(member, name="wheel", scopes=[Right.READ, Right.WRITE])[1])
"""


class InstalledSite(Site):
    """A site of the installed wheel: no checkout, no setting, only a home and a folder of its own."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        super().__init__(folder)
        environment = folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)  # noqa: S603 - ours
        self.python = str(environment / "bin" / "python")
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
        subprocess.run([*install, "--python", self.python, wheel], check=True)  # noqa: S603 - our own arguments
        # The dependencies, as they are installed for the tests; the repository is not among them.
        packages = next((environment / "lib").glob("python*/site-packages"))
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
        self.entry = (str(environment / "bin" / "memoryhub"),)
        self.workdir = folder / "empty"
        self.workdir.mkdir()
        del self.environ["MEMORYHUB_DATA_DIR"], self.environ["DJANGO_SETTINGS_MODULE"]
        self.environ["HOME"] = str(folder / "home")

    def __enter__(self) -> Self:
        return self


class Links(HTMLParser):
    """Collects the addresses of the style sheets and scripts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the address of a `link` or `script`."""
        values = dict(attrs)
        if tag == "script" or (tag == "link" and values.get("rel") == "stylesheet"):
            self.found.append(values.get("src") or values.get("href") or "")


def build(target: Path, *arguments: str) -> Path:
    """Build with the backend of pyproject.toml, as it is installed here."""
    environ = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target), *arguments]
    subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True)  # noqa: S603 - our own arguments
    return next(target.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build(tmp_path_factory.mktemp("wheel"), "--target", "wheel")


@pytest.fixture
def site(tmp_path: Path, wheel: Path) -> Iterator[InstalledSite]:
    """The installed wheel, before its first command."""
    with InstalledSite(tmp_path, wheel) as site:
        yield site


def tracked(*folders: str) -> set[str]:
    """Names of the files in these folders that git does not ignore."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - no shell
    return set(listed.stdout.splitlines())


def test_it_holds_the_packages_and_the_templates_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"memoryhub-{__version__}-py3-none-any.whl"
    assert wheel.stat().st_size < MAX_BYTES
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    code = {name for name in tracked("memoryhub", "tenants", "memories", "proof") if "/training/" not in name}
    assert held == code | {f"memoryhub/{name}" for name in tracked("templates")}


def test_the_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    source = build(tmp_path / "source", "--target", "sdist")
    subprocess.run(["tar", "--extract", "--file", source, "--directory", tmp_path], check=True)  # noqa: S603, S607
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "again")]
    unpacked = tmp_path / source.name.removesuffix(".tar.gz")
    subprocess.run(command, cwd=unpacked, check=True, capture_output=True)  # noqa: S603 - our own arguments
    assert digests(next((tmp_path / "again").iterdir())) == digests(wheel)


def digests(wheel: Path) -> Mapping[str, int]:
    """The checksum of each file."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def test_without_a_command_it_says_how_to_begin(site: InstalledSite) -> None:
    said = site.manage()
    assert all(words in said for words in ("memoryhub demo", "memoryhub serve", "prove_isolation", "verify_audit"))
    assert f"Data: {site.folder}/home/.local/share/memoryhub" in said
    assert site.manage("--version") == f"memoryhub {__version__}\n"


def test_its_first_start_makes_the_tables_and_it_remembers_recalls_and_shows_pages(site: InstalledSite) -> None:
    site.start()
    token = site.manage("shell", "--verbosity", "0", "--command", NEW_MEMBER).strip()
    bearer = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{site.port}", timeout=30, headers=bearer) as asking:
        written = asking.post("/api/v1/memories/", json={"text": "Grafts pear trees in March."})
        found = asking.post("/api/v1/recall/", json={"query": "When does she graft pears?"})
        page = asking.get("/login/")
        parts = [asking.get(address, follow_redirects=True).status_code for address in Links(page.text).found]
    assert (written.status_code, found.status_code, page.status_code) == (201, 200, 200)
    assert [item["text"] for item in found.json()["items"]] == ["Grafts pear trees in March."]
    assert "same meaning" in found.json()["items"][0]["reasons"]
    assert parts and set(parts) == {200}
    assert list(site.workdir.iterdir()) == []
    assert (site.folder / "home/.local/share/memoryhub/memoryhub.sqlite3").exists()
