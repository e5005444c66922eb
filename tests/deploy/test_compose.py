"""compose.yaml: no secret in it, a health check for whatever keeps running, and the least of rights for each."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import make_env
from memoryhub import env as environment
from memoryhub.env.values import POSTGRESQL

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("web", "worker", "beat", "migrate", "setup", "command")
ONE_SHOT = ("migrate", "setup", "command", "backup-folder")
REFERENCE = re.compile(r"\$\{(\w+)(:[?-][^}]*)?\}")
SECRET = re.compile(
    r"PASSWORD|SECRET|_KEYS|ELASTICSEARCH_(INDEXER|MINTER|MANAGER|CHECKER|SETUP)$|BROKER_URL|DATABASE_URL"
)


def settings_of(service: str) -> dict[str, str]:
    return dict(SERVICES[service].get("environment", {}))


def filled(service: str, values: dict[str, str]) -> dict[str, str]:
    """The environment that Compose gives to a service when `values` is the environment file."""
    return {
        name: REFERENCE.sub(lambda found: values.get(found[1]) or (found[2] or "").removeprefix(":-"), value)
        for name, value in settings_of(service).items()
    }


def made_values() -> dict[str, str]:
    lines = make_env.contents("memory.example.org").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("service", SERVICES)
def test_every_secret_comes_from_outside_and_has_no_default(service: str) -> None:
    for name, value in settings_of(service).items():
        if SECRET.search(name):
            references = REFERENCE.findall(value)
            assert references, name
            assert all(fallback.startswith(":?") for _, fallback in references), name


def test_no_password_is_written_down() -> None:
    text = (ROOT / "compose.yaml").read_text()
    assert not re.search(r"(?i)(password|secret|requirepass)\w*\s*[:=]\s*['\"]?(?!\$|\{|run|%s)[a-z0-9]", text)


@pytest.mark.parametrize("service", [name for name in SERVICES if name not in ONE_SHOT])
def test_whatever_keeps_running_has_a_health_check_and_starts_again(service: str) -> None:
    check = SERVICES[service]["healthcheck"]
    assert {"test", "interval", "timeout", "retries", "start_period"} <= set(check)
    assert SERVICES[service]["restart"] == "unless-stopped"


@pytest.mark.parametrize("service", SERVICES)
def test_memory_privileges_and_writing_are_bounded(service: str) -> None:
    assert SERVICES[service]["mem_limit"]
    assert SERVICES[service]["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in SERVICES[service]["security_opt"]
    assert service == "elasticsearch" or SERVICES[service]["read_only"] is True


@pytest.mark.parametrize("service", OURS)
def test_only_known_variables_are_set(service: str) -> None:
    assert set(settings_of(service)) <= set(map(environment.name_of, environment.Env.model_fields))


@pytest.mark.parametrize("service", [name for name in OURS if name != "setup"])
def test_a_made_environment_file_is_all_that_the_application_needs(service: str) -> None:
    env, problems = environment.read(filled(service, made_values()))
    assert problems == ()
    assert env.production
    assert env.database["ENGINE"] == POSTGRESQL


def test_a_made_environment_file_names_every_variable_that_is_required() -> None:
    text = (ROOT / "compose.yaml").read_text()
    required = {name for name, fallback in REFERENCE.findall(text) if fallback.startswith(":?")}
    assert required
    assert required <= {name for name, value in made_values().items() if value}


def test_the_administrators_credential_is_in_the_setup_service_alone() -> None:
    assert [name for name in OURS if "ELASTICSEARCH_SETUP" in settings_of(name)] == ["setup"]
    password = "${ELASTICSEARCH_SETUP_PASSWORD"
    holders = [name for name in SERVICES if any(password in value for value in settings_of(name).values())]
    assert sorted(holders) == ["elasticsearch", "setup"]


@pytest.mark.parametrize("service", ["web", "worker", "beat"])
def test_what_serves_cannot_change_indices_or_read_them_all(service: str) -> None:
    assert not {"ELASTICSEARCH_MANAGER", "ELASTICSEARCH_CHECKER", "ELASTICSEARCH_SETUP"} & set(settings_of(service))


def test_the_stores_can_be_reached_from_inside_only() -> None:
    assert COMPOSE["networks"]["stores"]["internal"] is True
    for name in ("postgres", "redis", "elasticsearch"):
        assert SERVICES[name]["networks"] == ["stores"]
        assert "ports" not in SERVICES[name]
    assert COMPOSE["networks"]["front"]["internal"] is True
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert list(published) == ["proxy"]
    assert all(port.startswith("127.0.0.1:") for port in published["proxy"])


@pytest.mark.parametrize("service", ["web", "worker", "beat", "command"])
def test_the_application_waits_until_everything_is_set_up(service: str) -> None:
    assert SERVICES[service]["depends_on"] == {"setup": {"condition": "service_completed_successfully"}}


def test_what_is_kept_is_in_named_volumes() -> None:
    used = {mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])}
    assert {name for name in used if not name.startswith(".")} == set(COMPOSE["volumes"])
    assert all((ROOT / name).exists() for name in used if name.startswith("."))


def test_an_index_that_is_missing_is_never_made_by_a_write() -> None:
    assert settings_of("elasticsearch")["action.auto_create_index"] == "-memoryhub-*,+*"


def test_the_module_that_makes_secrets_needs_nothing_installed() -> None:
    source = (ROOT / "deploy" / "make_env.py").read_text()
    modules = set(re.findall(r"^(?:from|import) (\w+)", source, re.MULTILINE))
    assert modules <= set(sys.stdlib_module_names)
