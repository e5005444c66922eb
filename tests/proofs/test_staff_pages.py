"""Every page of staff, light and dark, on a desk and on a phone, in each language: axe finds nothing serious.

Nor does any page say an error on the console, do what the policy of the site forbids, get wider than the window, or cut
a text.
"""

from __future__ import annotations

import pytest

from tenants.models import Membership, User
from tests.browser.conftest import OpenPage
from tests.browser.staff_pages import everything, faults_in, language_of, staff_pages

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
def test_no_page_of_staff_has_a_fault(open_page: OpenPage, member: Membership, dark: bool, phone: bool) -> None:
    pages = staff_pages(everything(member))
    User.objects.filter(pk=member.user_id).update(language=language_of(dark=dark, phone=phone))
    assert not faults_in(open_page("/admin/", dark=dark, phone=phone), pages)
