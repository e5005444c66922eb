"""Every page of the admin that is looked at: the addresses of the isolation tests, with rows of one tenant."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Page

from tenants.models import Membership, User
from tests.memories.staff.isolation.addresses import reversed_name
from tests.memories.staff.isolation.cases import MODELS, PAGES
from tests.memories.staff.isolation.place import Place, make_place

SERIOUS = ("serious", "critical")
# What the policy forbids, with the element that it was about.
_TELL = """document.addEventListener("securitypolicyviolation", (event) => console.error(
    `${event.violatedDirective} ${event.sourceFile}:${event.lineNumber} ${event.target?.outerHTML?.slice(0, 200)}`));"""

# A phone's browser zooms out of a page that is too wide, so `innerWidth` grows with it; its screen does not.
_TOO_WIDE = "document.documentElement.scrollWidth > Math.min(innerWidth, screen.width)"
# Words that do not fit: behind an edge, in a field, in a choice. A title tells them, a clamp of lines is meant.
_CUT = """() => {
    const pen = document.createElement("canvas").getContext("2d");
    const isCut = (each) => {
        const style = getComputedStyle(each);
        if (style.clipPath !== "none") return false;  // for a screen reader
        const hint = each.matches("input") && !each.value && each.placeholder;
        const words = each.matches("select") ? each.selectedOptions[0]?.text : hint;
        if (words) {
            pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
            const room = each.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
            return pen.measureText(words).width > room + 1;
        }
        const isTold = each.closest("[title]") || style.webkitLineClamp !== "none";
        return style.overflowX !== "visible" && !/auto|scroll/.test(style.overflowX) && each.innerText
            && each.scrollWidth > each.clientWidth + 1 && !isTold;
    };
    const isShown = (each) => each.checkVisibility({ visibilityProperty: true }) && each.clientWidth > 2;
    return [...document.querySelectorAll("body *")].filter((each) => isShown(each) && isCut(each))
        .map((each) => each.outerHTML.slice(0, 160));
}"""


def everything(member: Membership) -> Place:
    """A tenant with something of everything, and `member` on the platform's staff."""
    User.objects.filter(pk=member.user_id).update(is_staff=True, is_superuser=True)
    return make_place("heron")


def staff_pages(place: Place) -> list[str]:
    """The address of each page that is read, of rows of `place`."""
    found = [
        reverse(reversed_name(name), args=[place.ids[each] for each in page.takes])
        for name, page in PAGES.items()
        if page.method == "GET" and page.opens == 200
    ]
    for name, model in MODELS.items():
        found += [reverse(f"admin:{name}_changelist"), reverse(f"admin:{name}_change", args=[place.ids[model.row]])]
        found.append(reverse(f"admin:{name}_add"))
    return [*found, reverse("admin:password_change_done"), "/admin/memories/nothing/"]


def language_of(*, dark: bool, phone: bool) -> str:
    """A language for each look, so that all are seen; empty: English."""
    return "es" if dark else "de" if phone else ""


def faults_of(page: Page, address: str) -> list[str]:
    """What axe finds that is serious on the page that is open, and what does not fit."""
    return serious_in(page, address) + unfit_in(page, address)


def unfit_in(page: Page, address: str) -> list[str]:
    """Whether the page that is open is wider than the window, and each text on it that is cut."""
    return too_wide(page, address) + [f"{address}: cut: {each}" for each in page.evaluate(_CUT)]


def too_wide(page: Page, address: str) -> list[str]:
    """Whether the page that is open is wider than the window."""
    wide = page.evaluate(_TOO_WIDE)
    return [f"{address}: wider than the window"] if wide else []


def serious_in(page: Page, where: str = "") -> list[str]:
    """What axe finds that is serious on the page that is open."""
    return [
        f"{where or page.url}: {each['id']}: {node['html'][:240]} {node.get('failureSummary', '')[:300]}"
        for each in Axe().run(page).response["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"][:3]
    ]


def open_each(page: Page, addresses: Iterable[str], faults: Callable[[Page, str], list[str]] = faults_of) -> list[str]:
    """The faults of all of them.

    What answers with a part of a page, with a file, with another address or only to a form is no page to look at.
    """
    found: list[str] = []
    for address in addresses:
        answer = page.request.get(address, max_redirects=0)
        if answer.status >= 500:
            found.append(f"{address}: {answer.status}")
        elif answer.status == 405 or "text/html" not in answer.headers.get("content-type", ""):
            continue
        elif "<!doctype html>" in answer.text()[:400].lower():
            page.goto(address)
            found += faults(page, address)
    return found


def faults_in(page: Page, addresses: Iterable[str]) -> str:
    """Those of every page, and what the console says that is an error; empty if all is well."""
    said: list[str] = []
    page.add_init_script(_TELL)
    page.on("console", lambda line: said.append(f"{page.url}: {line.text}") if line.type == "error" else None)
    found = open_each(page, addresses)
    return "\n".join([*found, *(line for line in said if "status of 40" not in line)])
