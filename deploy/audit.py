"""`make audit`: known vulnerabilities of the locked packages, by pip-audit.

It asks the index for advisories. Where none can be reached it says so and ends with 0, for a machine without a network
has nothing to mend; a vulnerability ends it with 1.
"""

from __future__ import annotations

import json
import subprocess
import sys

LOCKS = ("requirements/base.txt", "requirements/otel.txt", "requirements/dev.txt")


def main(program: str) -> int:
    """Audit each lock file with `program`, print what was found, and return the exit status."""
    vulnerable = 0
    for lock in LOCKS:
        options = ("--disable-pip", "--require-hashes", "--progress-spinner=off", "--format=json", "-r", lock)
        ran = subprocess.run([program, *options], capture_output=True, text=True, check=False)  # noqa: S603 - ours
        packages = json.loads(ran.stdout)["dependencies"] if ran.stdout.strip() else []
        audited = [each for each in packages if "skip_reason" not in each]
        flaws = [f"{each['name']} {each['version']}: {flaw['id']}" for each in audited for flaw in each["vulns"]]
        if not packages:
            result = f"not audited, no advisories could be fetched ({_last_line(ran.stderr)})"
        elif not audited:
            result = f"not audited, the index here has no advisories for its {len(packages)} packages"
        else:
            result = f"{len(audited)} of {len(packages)} packages audited, {len(flaws)} known vulnerabilities"
        sys.stdout.write("\n  ".join((f"{lock}: {result}", *flaws)) + "\n")
        vulnerable += len(flaws)
    return bool(vulnerable)


def _last_line(words: str) -> str:
    """The type of the error, without the addresses that pip-audit names."""
    lines = [line for line in words.splitlines() if line.strip()]
    return lines[-1].split("http", 1)[0].split("(", 1)[0].strip(" :") if lines else "no reason given"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
