// What every page adds when scripts run: the keyboard, the theme without a reload, the reader's time zone, and forms
// that are sent once. Each page works without any of it.

import { fill, gettext, ngettext } from "./texts.js";

const YEAR = 60 * 60 * 24 * 365;
const secure = location.protocol === "https:" ? "; Secure" : "";

function remember(name, value) {
  const age = value ? YEAR : 0;
  document.cookie = `${name}=${value}; Path=/; Max-Age=${age}; SameSite=Lax${secure}`;
}

remember("tz", Intl.DateTimeFormat().resolvedOptions().timeZone ?? "");

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-theme-form]")) {
    event.preventDefault();
    chooseTheme(form, event.submitter);
  } else if (form.matches("[data-once]")) {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "true";
  }
});

function chooseTheme(form, chosen) {
  remember("theme", chosen.value);
  if (chosen.value) document.documentElement.dataset.theme = chosen.value;
  else delete document.documentElement.dataset.theme;
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === chosen));
}

// A page that comes back from the history may be sent again.
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A popover that became a column of a wider window is no longer on top of anything.
const wide = matchMedia("(min-width: 1100px)");
wide.addEventListener("change", () => {
  for (const open of document.querySelectorAll("[popover]:popover-open")) open.hidePopover();
});

const typing = (element) => element.matches("input, textarea, select") || element.isContentEditable;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape") return escape(event);
  if (typing(event.target)) return;
  if (event.key === "j" || event.key === "k") return step(event, event.key === "j" ? 1 : -1);
  if (event.key === "/") return search(event);
  const target = [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === event.key);
  if (!target) return;
  event.preventDefault();
  target.click();
});

function escape(event) {
  const disclosure = event.target.closest("details[open]");
  if (disclosure) {
    disclosure.open = false;
    disclosure.querySelector("summary").focus();
  } else if (typing(event.target) && !event.target.closest(":popover-open")) { // a popover gives the focus back itself
    event.target.blur();
  }
}

for (const close of document.querySelectorAll("[data-close-notice]")) close.hidden = false;

document.addEventListener("click", (event) => event.target.closest("[data-close-notice]")?.closest(".notice").remove());

// Enter sends what is one sentence.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  if (!event.target.matches("textarea[data-enter-sends]")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

// Cancel of a form that opens in place.
document.addEventListener("click", (event) => {
  const cancel = event.target.closest("[data-close-edit]");
  if (!cancel) return;
  cancel.form.reset();
  cancel.closest("details").open = false;
  cancel.closest("details").querySelector("summary").focus();
});

// On a phone the tabs scroll: the chosen one is in sight.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

if (location.hash === "#search") document.getElementById("search")?.focus();

function search(event) {
  event.preventDefault();
  const field = document.querySelector('[data-key="/"]');
  if (!field) {
    if (!document.body.matches(".admin")) location.assign("/remember/facts/#search");
    return;
  }
  field.focus();
  field.select();
}

// j and k move through the list that has the focus, else through the main one of the page.
function step(event, by) {
  const list = event.target.closest("[data-list]") ?? document.querySelector("main [data-list]");
  if (!list) return;
  const items = [...(list.closest("main, aside") ?? list).querySelectorAll("[data-list] [data-item]")].filter(
    (item) => item.checkVisibility() && (list.contains(item) || !list.matches("nav")),
  );
  const here = items.indexOf(event.target.closest("li, tr")?.querySelector("[data-item]") ?? event.target);
  const next = items[here < 0 ? (by > 0 ? 0 : items.length - 1) : here + by];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

// The card on which the member decides what is forgotten: decided in place, and with the seconds that an undo has left.
// A notice counts these seconds as well, and says at their end what the card says.
const ends = new WeakMap();

async function redraw(card, address, options) {
  const response = await fetch(address, { headers: { Accept: "application/json" }, ...options }).catch(() => null);
  const answer = response && (response.ok || response.status === 409) ? await response.json().catch(() => null) : null;
  if (response?.redirected) return location.reload(); // the session has ended
  const fresh = answer?.html ? document.createRange().createContextualFragment(answer.html).firstElementChild : card;
  const message = answer?.html ? answer.message : options && gettext("That did not work, and nothing was forgotten. Try again.");
  const held = card.contains(document.activeElement);
  card.querySelector("[role=alert]")?.remove();
  if (message) {
    const words = document.createElement("p");
    words.setAttribute("role", "alert");
    words.textContent = message;
    fresh.prepend(words);
  }
  const shown = card.matches(".notice") ? card : fresh;
  if (shown !== fresh) card.replaceChildren(...fresh.querySelector("p").children);
  else if (fresh !== card) card.replaceWith(fresh);
  if (held) {
    shown.tabIndex = -1;
    (shown.querySelector("[data-forget] button") ?? shown).focus();
  }
  document.dispatchEvent(new CustomEvent("forgetting", { detail: { over: !options } }));
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-forget]");
  if (!form) return;
  event.preventDefault();
  const card = form.closest("[data-forget-card]");
  const options = { method: "POST", body: new URLSearchParams(new FormData(form)) };
  redraw(card, form.action, options);
});

setInterval(() => {
  for (const card of document.querySelectorAll("[data-forget-card][data-seconds]")) {
    ends.set(card, ends.get(card) ?? Date.now() + card.dataset.seconds * 1000);
    const left = Math.ceil((ends.get(card) - Date.now()) / 1000);
    if (left > 0) card.querySelector("[data-left]").textContent = fill(ngettext("%(count)s second", "%(count)s seconds", left), { count: left });
    else {
      delete card.dataset.seconds;
      redraw(card, card.dataset.card);
    }
  }
}, 1000);
