"""The modes in which an installation can run: the choices of the environment's variables, by name."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """`development` serves plain HTTP on this machine; `production` stands behind TLS."""

    DEVELOPMENT = "development"
    PRODUCTION = "production"


class JobRunner(StrEnum):
    """Who runs the background jobs: one worker process, Celery, or nobody."""

    WORKER = "worker"
    CELERY = "celery"
    OFF = "off"


class Recording(StrEnum):
    """When a recall writes its trace and use counts: behind the answer, or before it returns."""

    BACKGROUND = "background"
    INLINE = "inline"


class Consolidate(StrEnum):
    """When episodes are consolidated by themselves."""

    TURN = "turn"
    BATCH = "batch"
    OFF = "off"


class Search(StrEnum):
    """Which search plane finds candidates."""

    EMBEDDED = "embedded"
    ELASTICSEARCH = "elasticsearch"


class TuneRecall(StrEnum):
    """What is done by itself with the recall thresholds that recorded use speaks for."""

    OFF = "off"
    PROPOSE = "propose"
    APPLY = "apply"


class LogFormat(StrEnum):
    """How a log line is written."""

    LINE = "line"
    JSON = "json"
