"""A tenant's overrides of the memory defaults: MemoryPolicy, ExpiryRule and ThresholdProposal."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.types import RecallMode, SecondPerson


class MemoryPolicy(models.Model):
    """One row per tenant with its own settings. A null column means the default of `memories/constants.py`.

    `keep_superseded`: superseded memories are kept for good and stay in the main index. `recall_threshold`: recalled
    memories with a lower score are cut. `handling` maps kinds of low-severity sensitive values to their `Handling`.
    `keep_originals`: texts with masked values are kept, encrypted (`SealedOriginal`). `second_person`: whether
    an erasure or the export of a whole memory needs the approval of a second person. An approved erasure waits
    `erasure_delay_hours`. One person asks for at most `exports_daily` whole memories in 24 hours. `reason_to_look`:
    staff state a reason before they open a member's memory. `looks_name_staff`: members see the names of staff who
    looked, otherwise only their roles.
    `instructions` tell the models what matters here; `categories` are those that learned facts get. What holds one of
    `never_words` (words and phrases) or the words of one of `never_topics` is kept out of memory by code, and the
    models are asked to write nothing of them. Each of the three lists has an entry on each line. `apps` maps names of
    apps to what they add to these four, in the same form.
    `apps_apart`: a call that names an app sees only the memories of that app and of none.
    `limits` maps names of limits of use to numbers
    (`memoryhub/env/limits.py`). `max_token_days`: the longest life of a new API token. `provision_members`: a backend
    key makes a member on first use of an id that nobody has. `upstreams` maps APIs to the model endpoints of
    drop-ins, with encrypted keys (`services/upstreams.py`); `caller_keys`: callers may bring keys of their own.
    `external_index` is the tenant's own index, with an encrypted key (`services/external_index.py`).
    """

    tenant = models.OneToOneField("tenants.Tenant", on_delete=models.CASCADE, related_name="memory_policy")
    session_hours = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    consolidate_every = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    consolidate_hours = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    recall_mode = models.CharField(max_length=6, choices=RecallMode.choices, blank=True, default="")
    recall_items = models.PositiveIntegerField(null=True, blank=True)
    recall_tokens = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    recall_threshold = models.FloatField(null=True, blank=True)
    pinned_refresh_turns = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    keep_superseded = models.BooleanField(default=False)
    handling: models.JSONField[dict[str, str]] = models.JSONField(default=dict, blank=True)
    keep_originals = models.BooleanField(default=False)
    # What is learned.
    instructions = models.TextField(blank=True, default="")
    categories = models.TextField(blank=True, default="")
    never_words = models.TextField(blank=True, default="")
    never_topics = models.TextField(blank=True, default="")
    apps: models.JSONField[dict[str, dict[str, str]]] = models.JSONField(default=dict, blank=True)
    apps_apart = models.BooleanField(default=False)
    # Destruction, exports and looks.
    second_person = models.CharField(max_length=9, choices=SecondPerson.choices, blank=True, default="")
    erasure_delay_hours = models.PositiveIntegerField(null=True, blank=True)
    exports_daily = models.PositiveIntegerField(null=True, blank=True)
    reason_to_look = models.BooleanField(default=False)
    looks_name_staff = models.BooleanField(default=True)
    limits: models.JSONField[dict[str, int]] = models.JSONField(default=dict, blank=True)
    max_token_days = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    provision_members = models.BooleanField(default=False)
    upstreams: models.JSONField[dict[str, dict[str, str]]] = models.JSONField(default=dict, blank=True)
    caller_keys = models.BooleanField(default=False)
    external_index: models.JSONField[dict[str, str]] = models.JSONField(default=dict, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "memory policies"

    def __str__(self) -> str:
        return _("Memory policy of %(tenant)s") % {"tenant": self.tenant}


class ExpiryRule(models.Model):
    """Lifetimes of a tenant's facts of one `category`, in days since the last confirmation; null: no limit.

    After `soft_days` a fact is ranked lower and should be confirmed, after `hard_days` it expires, and after
    `review_days` it is listed for review.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="expiry_rules")
    category = models.CharField(max_length=100)
    soft_days = models.PositiveIntegerField(null=True, blank=True)
    hard_days = models.PositiveIntegerField(null=True, blank=True)
    review_days = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["tenant", "category"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "category"], name="expiry_rule_of_category"),
            models.CheckConstraint(name="expiry_rule_names_a_category", condition=~Q(category="")),
        ]

    def __str__(self) -> str:
        return _("Expiry of %(category)s") % {"category": self.category}


class ThresholdProposal(models.Model):
    """A recall threshold suggested by recorded usage. It takes effect only when somebody applies it.

    `evidence` holds counts and rates, also for each value considered: `{"recalls", "items", "hit_rate", "ignored_rate",
    "values"}`.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    value = models.FloatField(null=True, blank=True)
    previous = models.FloatField(null=True, blank=True)
    reason = models.CharField(max_length=300)
    evidence: models.JSONField[dict[str, object]] = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)
    applied_at = models.DateTimeField(null=True, blank=True)
    applied_by = models.UUIDField(null=True, blank=True)
    dismissed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                name="proposal_is_decided_once", condition=Q(applied_at__isnull=True) | Q(dismissed_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return _("Threshold proposed on %(day)s") % {"day": f"{self.created_at:%Y-%m-%d}"}
