// What the lists of "What I remember" add when scripts run: choices that apply at once, changes without a new page,
// all rows of a page selected at once, and dialogs that Escape closes. Each works without.

import { fill, ngettext } from "./texts.js";

const TOAST_FOR = 10_000;

function prepare() {
  const selects = document.querySelector("[data-selects]");
  selects?.querySelector("[data-apply]")?.setAttribute("hidden", "");
  selects?.addEventListener("change", (event) => event.target.matches("select") && selects.requestSubmit());
  document.querySelector("[data-pick-all]")?.removeAttribute("hidden");
  for (const close of document.querySelectorAll("[data-close-toast], [data-close-edit]")) close.hidden = false;
  document.querySelector("[data-dialog] [autofocus]")?.focus();
  const toast = document.querySelector("[data-toast-box]");
  if (toast) setTimeout(() => toast.matches(":focus-within, :hover") || toast.remove(), TOAST_FOR);
}

const picks = () => [...document.querySelectorAll(".row-pick")];

document.addEventListener("change", (event) => {
  const all = event.target.closest("[data-pick-all]");
  if (all) for (const pick of picks()) pick.checked = event.target.checked;
  if (all || event.target.matches(".row-pick")) countPicks();
});

function countPicks() {
  const count = picks().filter((pick) => pick.checked).length;
  const words = ngettext("%(count)s selected", "%(count)s selected", count);
  document.querySelector("[data-picked]").textContent = fill(words, { count });
}

// While it is asked whether to delete, the selected rows stay selected, and Cancel gives the focus back.
let asking = null;

function keepPlace(form, submitter, picked) {
  const dialog = document.querySelector("[data-dialog]");
  if (dialog || asking) {
    for (const pick of picks()) pick.checked = picked.includes(pick.value);
    if (picked.length) countPicks();
  }
  const again = dialog ? "[data-dialog] [autofocus]" : (asking ?? `form[action="${form.getAttribute("action")}"] button`);
  (document.querySelector(again) ?? document.querySelector("main")).focus({ preventScroll: true });
  asking = dialog ? `button[name="${submitter.name}"][value="${submitter.value}"]` : null;
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-close-toast]")) event.target.closest("[data-toast-box]").remove();
});

document.addEventListener("toggle", ({ target }) => target.matches(".row-edit[open], .actions > [open]") && target.querySelector("textarea, input:not([type=hidden])").focus(), true);

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.querySelector("[data-dialog] [data-cancel]")?.click();
});

// A change comes back as the page that shows it; only what it shows is put in place, so the reader stays where they are.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-inline]")) return;
  event.preventDefault();
  if (form.dataset.sent) return;
  form.dataset.sent = "true";
  const options = { method: "POST", body: new URLSearchParams(new FormData(form, event.submitter)) };
  const response = await fetch(form.getAttribute("action"), options).catch(() => null); // a button is named "action"
  if (!response?.ok || new URL(response.url).pathname !== location.pathname) {
    if (response?.ok) location.assign(response.url);
    else sendPlainly(form, event.submitter); // shows why it was refused, or that the network is down
    return;
  }
  const picked = picks().filter((pick) => pick.checked).map((pick) => pick.value);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const notice of document.querySelectorAll("body > .notice")) notice.remove();
  document.querySelector("main").before(...page.querySelectorAll("body > .notice"));
  document.querySelector("main").replaceWith(page.querySelector("main"));
  history.replaceState(null, "", response.url);
  prepare();
  keepPlace(form, event.submitter, picked);
});

function sendPlainly(form, { name, value }) {
  if (name) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  form.submit();
}

prepare();
