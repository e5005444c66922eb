"""The WSGI entry point. It exits with the problems if the environment is invalid."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from memoryhub import health
from memoryhub.env import refuse
from memoryhub.middleware import admitting

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

application = admitting(get_wsgi_application())
refuse(settings.ENVIRONMENT_PROBLEMS)
health.warm_up()
if settings.MEMORYHUB_JOBS == "celery":
    from memoryhub.celery import Announcer

    Announcer().start()
