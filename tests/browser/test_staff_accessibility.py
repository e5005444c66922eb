"""Pages of staff: no console error, nothing that the policy of the site forbids, nothing serious for axe.

These are one page of each sort; `tests/proofs/test_staff_pages.py` opens every page in the light and in the dark, on a
desk and on a phone.
"""

from __future__ import annotations

import pytest

from tenants.models import Membership, User
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import everything, faults_in, staff_pages

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# A dashboard, a list with filters and actions, a form, and pages of our own.
SAMPLE = ("/admin/", "reviewitem/", "expiryrule/add/", "invitation/add/", "metricsample/", "change/")


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_axe_finds_nothing_serious(open_page: OpenPage, member: Membership, dark: bool, phone: bool) -> None:
    pages = staff_pages(everything(member))
    User.objects.filter(pk=member.user_id).update(language="de" if phone else "")
    chosen = [next(page for page in pages if page.endswith(part)) for part in SAMPLE]
    assert not faults_in(open_page("/admin/", dark=dark, phone=phone), chosen)
