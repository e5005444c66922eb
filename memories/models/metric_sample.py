"""MetricSample: the value of one metric at one time, for the charts; see `memories/metrics/`."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class MetricSample(models.Model):
    """`tenant` null: of what belongs to none, and the marks of looks. `label` tells values of one metric apart."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=60)
    label = models.CharField(max_length=60, blank=True, default="")
    at = models.DateTimeField()
    value = models.FloatField()

    class Meta:
        ordering = ["name", "label", "at"]
        verbose_name_plural = "metrics"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name", "label", "at"], name="sample_once_for_a_tenant"),
            models.UniqueConstraint(
                fields=["name", "label", "at"], condition=Q(tenant__isnull=True), name="sample_once_for_all"
            ),
        ]
        indexes = [models.Index(fields=["at"], name="sample_by_age")]

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%Y-%m-%d %H:%M}"
