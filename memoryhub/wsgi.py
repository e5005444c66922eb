"""The WSGI entry point. It refuses to serve with a bad environment, and says which variable to mend."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from memoryhub import background
from memoryhub.env.problems import refuse
from memoryhub.middleware.responses import reading_utf8

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")

application = reading_utf8(get_wsgi_application())
refuse(settings.ENVIRONMENT_PROBLEMS)
background.start_all()
