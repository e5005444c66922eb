"""Types of events of items."""

from django.db import migrations, models

_TYPES = (
    *("memory.created", "memory.updated", "memory.superseded", "memory.retired", "memory.restored", "memory.erased"),
    *("item.created", "item.replaced", "item.deleted", "item.restored", "item.expired", "item.erased"),
    *("learning.finished", "learning.failed", "review.opened", "review.closed"),
    *("member.created", "member.activated", "member.deactivated", "member.erased", "webhook.disabled"),
)


class Migration(migrations.Migration):
    dependencies = [("memories", "0016_instructions")]

    operations = [
        migrations.AlterField(
            "feedentry", "type", models.CharField(choices=[(name, name) for name in _TYPES], max_length=30)
        ),
    ]
