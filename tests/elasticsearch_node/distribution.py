"""The node's programs: jars from the Maven repository laid out as Elasticsearch expects them, kept in the user's cache.

Invariant: a folder in the cache is whole or absent. It is made beside its place under a lock and renamed into it, and
its name holds a digest of everything it is made from. Once there it is never written to, so several nodes may share it.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

VERSION = "9.5.3"
OLDEST_JAVA = 21
ATTEMPTS = 3
SOURCES = Path(__file__).parent / "java"

# Copies of what another class loader has already ("jar hell" to the node), and what the public repository lacks.
LEFT_OUT = (
    "jakarta.activation:jakarta.activation-api",
    "net.jcip:jcip-annotations",
    "commons-logging:commons-logging",
    "com.google.code.findbugs:jsr305",
    "org.apache.logging.log4j:log4j-slf4j2-impl",
    "org.apache.logging.log4j:log4j-1.2-api",
    "org.elasticsearch.plugin:x-pack-template-resources",
    "org.elasticsearch.plugin:es-opensaml-security-api",
    "org.opensaml:*",
    "net.shibboleth.utilities:*",
)
SERVER = f"org.elasticsearch:elasticsearch:{VERSION}"


@dataclass(frozen=True, slots=True)
class Module:
    """A published module of the node.

    `extends` names the module whose jars it sees besides the server's; `left_out` are jars that module has in another
    version; `alone` are jars it needs without what they would bring along.
    """

    name: str
    entry: str
    extends: str = ""
    left_out: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    @property
    def jar(self) -> str:
        """Its coordinates."""
        return f"org.elasticsearch.plugin:{self.name}:{VERSION}"


MODULES = (
    Module("x-pack-core", "org.elasticsearch.xpack.core.XPackPlugin"),
    Module(
        "x-pack-security",
        "org.elasticsearch.xpack.security.Security",
        extends="x-pack-core",
        left_out=("org.slf4j:slf4j-api",),
        # The SAML realm is never configured; its interfaces only have to link.
        alone=(
            *(f"org.opensaml:opensaml-{part}:4.0.1" for part in ("core", "saml-api", "security-api", "messaging-api")),
            "org.opensaml:opensaml-xmlsec-api:4.0.1",
            "net.shibboleth.utilities:java-support:8.0.0",
        ),
    ),
    Module("transport-netty4", "org.elasticsearch.transport.netty4.Netty4Plugin"),
)
OWN_MODULES = {"analysis-common": "AnalysisModule", "rest-root": "RootModule"}


class CannotBuild(Exception):
    """The node's programs cannot be put together here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The node's programs and the Java that runs them."""

    folder: Path
    java: Path

    def command(self, *arguments: str) -> list[str]:
        """What starts a node, but for the JVM's options before the class and the launcher's arguments after it."""
        classes = f"{self.folder / 'launcher'}:{self.folder / 'lib'}/*"
        return [str(self.java / "bin/java"), *arguments, "-cp", classes, "Launcher", str(self.folder)]


def distribution() -> Distribution:
    """The programs from the cache, put there first if needed: a minute, 90 MB. Raises CannotBuild."""
    java = java_home()
    folder = cache() / f"elasticsearch-{VERSION}-{_digest()}"
    if not folder.exists():
        with locked(cache() / "build.lock"):
            if not folder.exists():
                _build(folder, java)
    return Distribution(folder, java)


def cache() -> Path:
    """Where the programs and the data of a developer's node are kept."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memoryhub"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def java_home() -> Path:
    """The JDK to use: JAVA_HOME, the one on the path, or the newest that is installed. Raises CannotBuild."""
    on_path = shutil.which("javac")
    candidates = [
        *([Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []),
        *([Path(on_path).resolve().parents[1]] if on_path else []),
        *sorted(Path("/usr/lib/jvm").glob("*"), key=_java_version, reverse=True),
    ]
    for candidate in candidates:
        if _java_version(candidate) >= OLDEST_JAVA:
            return candidate
    raise CannotBuild(f"Elasticsearch needs a JDK {OLDEST_JAVA} or newer: install one, or name it in JAVA_HOME.")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Inside, no other process is inside with the same file."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _java_version(home: Path) -> int:
    try:
        said = subprocess.run([home / "bin/javac", "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - a JDK
    except OSError:
        return 0
    number = re.search(r"javac (\d+)", said.stdout + said.stderr)
    return int(number[1]) if number else 0


def _digest() -> str:
    sources = [Path(__file__), *sorted(SOURCES.glob("*.java"))]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]


def _build(folder: Path, java: Path) -> None:
    if shutil.which("mvn") is None:
        raise CannotBuild("Elasticsearch needs Maven to fetch its jars the first time: apt-get install maven.")
    print(f"Putting together Elasticsearch {VERSION}; the first time takes a minute.", file=sys.stderr)  # noqa: T201
    work = Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
    try:
        for name in ("lib", "modules", "plugins", "launcher"):
            (work / name).mkdir()
        server = _jars("server", _dependency(SERVER, LEFT_OUT))
        _copy(server, work / "lib")
        _add_modules(work, {jar.name for jar in server})
        _compile(java, work, "Launcher", work / "launcher")
        for name, entry in OWN_MODULES.items():
            with tempfile.TemporaryDirectory() as classes:
                _compile(java, work, entry, Path(classes))
                module = work / "modules" / name
                module.mkdir()
                _run([java / "bin/jar", "--create", "--file", module / f"{name}.jar", "-C", classes, "."])
                _describe(module, entry, extends="")
        work.chmod(0o755)
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _add_modules(work: Path, server: set[str]) -> None:
    for module in MODULES:
        folder = work / "modules" / module.name
        seen = server | {jar.name for jar in (work / "modules" / module.extends).glob("*.jar") if module.extends}
        jars = _jars(module.name, _dependency(module.jar, LEFT_OUT + module.left_out), *map(_alone, module.alone))
        _copy([jar for jar in jars if jar.name not in seen], folder)
        _describe(folder, module.entry, module.extends)


def _copy(jars: list[Path], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for jar in jars:
        shutil.copy(jar, folder)


def _describe(folder: Path, entry: str, extends: str) -> None:
    lines = {
        "name": folder.name,
        "description": folder.name,
        "version": VERSION,
        "elasticsearch.version": VERSION,
        "java.version": str(OLDEST_JAVA),
        "classname": entry,
        "extended.plugins": extends,
        "has.native.controller": "false",
    }
    text = "".join(f"{key}={value}\n" for key, value in lines.items())
    (folder / "plugin-descriptor.properties").write_text(text)


def _compile(java: Path, work: Path, source: str, folder: Path) -> None:
    _run([java / "bin/javac", "-nowarn", "-cp", f"{work / 'lib'}/*", "-d", folder, SOURCES / f"{source}.java"])


def _jars(name: str, *dependencies: str) -> list[Path]:
    """The files of these dependencies and of all they need, in the local Maven repository."""
    with tempfile.TemporaryDirectory() as folder:
        pom, found = Path(folder) / "pom.xml", Path(folder) / "jars"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>memoryhub</groupId>"
            f"<artifactId>{name}</artifactId><version>1</version><packaging>pom</packaging>"
            f"<dependencies>{''.join(dependencies)}</dependencies></project>"
        )
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
        options = [f"-Dmdep.outputFile={found}", "-Dmdep.pathSeparator=\n"]
        _run(["mvn", "-q", "-B", "-f", pom, goal, *options], attempts=ATTEMPTS)
        return [Path(line) for line in found.read_text().splitlines() if line]


def _alone(jar: str) -> str:
    return _dependency(jar, ("*:*",))


def _dependency(jar: str, left_out: tuple[str, ...]) -> str:
    group, artifact, version = jar.split(":")
    exclusions = "".join(
        f"<exclusion><groupId>{escape(g)}</groupId><artifactId>{escape(a)}</artifactId></exclusion>"
        for g, a in (coordinates.split(":") for coordinates in left_out)
    )
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<exclusions>{exclusions}</exclusions></dependency>"
    )


def _run(command: list[str | Path], *, attempts: int = 1) -> None:
    for attempt in itertools.count(1):
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
        if done.returncode == 0:
            return
        if attempt == attempts:
            raise CannotBuild(f"{Path(command[0]).name} failed:\n{(done.stdout + done.stderr)[-2000:]}")
        time.sleep(2 * attempt)
