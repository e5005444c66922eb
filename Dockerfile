# syntax=docker/dockerfile:1
# The image of web, worker, beat and setup (compose.yaml). It holds code and static files: no secret, no data, no
# development tool, nothing that its user may write.

FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m venv --without-pip /opt/memoryhub
# The packages first: they change less often than the code, and a layer that did not change is not built again.
COPY requirements/base.txt requirements/otel.txt /tmp/
RUN pip --python /opt/memoryhub/bin/python install --require-hashes --only-binary :all: --requirement /tmp/base.txt --requirement /tmp/otel.txt
COPY . /srv/memoryhub
WORKDIR /srv/memoryhub
# Hashed and compressed names for the browser; bytecode here, for the file system is read-only where it runs.
RUN MEMORYHUB_ENV=production MEMORYHUB_DATA_DIR=/srv/memoryhub/var \
    /opt/memoryhub/bin/python manage.py collectstatic --no-input --verbosity 0 \
 && /opt/memoryhub/bin/python -m compileall -q memoryhub tenants memories proof

FROM python:3.11-slim-bookworm
ENV PATH=/opt/memoryhub/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=memoryhub.settings \
    MEMORYHUB_ENV=production \
    MEMORYHUB_DATA_DIR=/srv/memoryhub/var
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /tmp --shell /usr/sbin/nologin memoryhub
COPY --from=build /opt/memoryhub /opt/memoryhub
COPY --from=build /srv/memoryhub /srv/memoryhub
WORKDIR /srv/memoryhub
USER 10001:10001
EXPOSE 8000
# Asks the listener of MEMORYHUB_PROBES, if it is set.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 CMD ["python", "deploy/ready.py"]
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
