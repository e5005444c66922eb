// Keeps the live part of a page up to date: asks for the pulse of the memory once a second, and when it is another one
// reads the part anew and changes what differs. What one has focused, opened or scrolled to stays; new rows fade in,
// and a line says what changed. While nobody looks at the page nothing is asked.
//
// The part: [data-live] its own address, [data-pulse-url], [data-pulse]. In it, whatever comes and goes has a
// [data-key]; rows that are spoken of have [data-noun], [data-state] and [data-print] (another one when they differ).

import { fill, gettext, ngettext } from "../texts.js";

const EVERY = 1000; // ms between two pulses
const SLOWEST = 15000; // ms, when the server cannot be reached
const WORDS_STAY = 20000; // ms that the line of changes is shown

const part = document.querySelector("[data-live]");
const state = document.querySelector("[data-live-state]");
const said = document.querySelector("[data-live-said]");

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset.key || node.id || "" : "");
const isAlike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName;

const show = (words, how) => {
  if (!state) return;
  state.hidden = false;
  state.textContent = words;
  state.dataset.state = how;
};

const setAttributes = (old, fresh) => {
  for (const { name } of [...old.attributes]) {
    // What the reader opened, and the fading of a row, are not the server's.
    if (name === "open" || name === "class") continue;
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name === "open") continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
};

const flash = (row) => {
  row.classList.remove("fresh");
  void row.offsetWidth; // so that it fades once more
  row.classList.add("fresh");
};

// Makes `old` like `fresh`, keeping every node that is in both.
const morph = (old, fresh) => {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  const changed = old.dataset.print !== fresh.dataset.print;
  setAttributes(old, fresh);
  if (changed) flash(old);
  const wanted = new Set([...fresh.children].map(keyOf).filter(Boolean));
  const kept = new Map();
  for (const child of [...old.childNodes]) {
    const key = keyOf(child);
    if (!key) continue;
    if (wanted.has(key)) kept.set(key, child);
    else child.remove();
  }
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = keyOf(child);
    if (key) {
      const known = kept.get(key);
      if (known && isAlike(known, child)) {
        if (known === place) place = place.nextSibling;
        else old.insertBefore(known, place);
        morph(known, child);
      } else {
        known?.remove();
        if (child.dataset.print) child.classList.add("fresh");
        old.insertBefore(child, place);
      }
      continue;
    }
    if (place && !keyOf(place) && isAlike(place, child)) {
      const here = place;
      place = place.nextSibling;
      morph(here, child);
    } else old.insertBefore(child, place);
  }
  while (place) {
    const next = place.nextSibling;
    if (!keyOf(place)) place.remove();
    place = next;
  }
};

const rowsOf = (root) => new Map([...root.querySelectorAll("[data-print]")].map((row) => [row.dataset.key, { ...row.dataset }]));
// By the kind of a row, in [data-noun].
const COUNTED = {
  semantic: (number) => ngettext("%(count)s fact", "%(count)s facts", number),
  episodic: (number) => ngettext("%(count)s event", "%(count)s events", number),
  procedural: (number) => ngettext("%(count)s how-to", "%(count)s how-tos", number),
  catalog: (number) => ngettext("%(count)s shared entry", "%(count)s shared entries", number),
  turn: (number) => ngettext("%(count)s turn", "%(count)s turns", number),
};
const counted = (number, noun) => fill(COUNTED[noun](number), { count: number });

const ENDINGS = {
  superseded: gettext("replaced"),
  evicted: gettext("evicted"),
  stale: gettext("in doubt"),
  active: gettext("believed again"),
};

// What changed between two sets of rows, in a sentence; empty if nothing did that one would speak of.
const told = (before, after) => {
  const counts = new Map();
  const add = (words, noun) => {
    const by = counts.get(words) ?? new Map();
    counts.set(words, by.set(noun, (by.get(noun) ?? 0) + 1));
  };
  for (const [key, row] of after) {
    const was = before.get(key);
    if (!was) add(gettext("new"), row.noun);
    else if (was.state !== row.state) add(ENDINGS[row.state] ?? gettext("changed"), row.noun);
    else if (was.print !== row.print) add(gettext("changed"), row.noun);
  }
  // A row that is not in the list any more may only have moved to the next page, unless nothing came.
  if (![...after.keys()].some((key) => !before.has(key))) {
    for (const [key, row] of before) if (!after.has(key)) add(gettext("gone from here"), row.noun);
  }
  return [...counts].map(([words, by]) => `${words}: ${[...by].map(([noun, number]) => counted(number, noun)).join(", ")}`).join("; ");
};

// The row that one is at stays where it is, whatever comes above it: the one with the focus, else the one under the
// pointer, else the first that can be seen.
const anchor = () => {
  if (window.scrollY === 0) return () => {};
  const seen = (row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return bottom > 0 && top < window.innerHeight;
  };
  const candidates = [
    document.activeElement?.closest("[data-print]"),
    part.querySelector("[data-print]:hover"),
    ...part.querySelectorAll("[data-print]"),
  ];
  const row = candidates.find((each) => each && part.contains(each) && seen(each));
  const top = row?.getBoundingClientRect().top;
  return () => {
    if (row?.isConnected) window.scrollBy({ top: row.getBoundingClientRect().top - top, behavior: "instant" });
  };
};

let quieting;
const say = (words) => {
  if (!said || !words) return;
  said.textContent = `${words[0].toUpperCase()}${words.slice(1)}.`;
  clearTimeout(quieting);
  quieting = setTimeout(() => (said.textContent = ""), WORDS_STAY);
};

// Whoever may not see the page any more, or has nothing to see, keeps none of its words on the screen.
class Ended extends Error {
  constructor(words) {
    super(words);
    part.replaceChildren();
  }
}

const asked = async (address) => {
  const response = await fetch(address, { cache: "no-store", credentials: "same-origin", redirect: "manual" });
  if (response.type === "opaqueredirect") throw new Ended(gettext("Signed out: load the page again."));
  if (response.status === 403) throw new Ended(gettext("You may not see this any more."));
  if (response.status === 404) throw new Ended(gettext("This is not there any more: it was forgotten, or the member was erased."));
  if (!response.ok) throw new Error(`${response.status}`);
  return response;
};

const refresh = async () => {
  const address = new URL(part.dataset.live, location.href);
  address.search = location.search;
  const page = new DOMParser().parseFromString(await (await asked(address)).text(), "text/html");
  const fresh = page.querySelector("[data-live]");
  if (!fresh) throw new Error("no live part");
  const before = rowsOf(part);
  const focused = keyOf(document.activeElement?.closest("[data-key]") ?? document.body);
  const stay = anchor();
  morph(part, document.adoptNode(fresh));
  stay();
  if (focused && document.activeElement === document.body) {
    part.querySelector(`[data-key="${CSS.escape(focused)}"] a`)?.focus({ preventScroll: true });
  }
  say(told(before, rowsOf(part)));
};

const visible = () =>
  document.hidden ? new Promise((done) => document.addEventListener("visibilitychange", done, { once: true })) : null;
const pause = (time) => new Promise((done) => setTimeout(done, time));

const keepUp = async () => {
  let wait = EVERY;
  show(gettext("Live"), "live");
  for (;;) {
    await pause(wait);
    if (document.hidden) {
      show(gettext("Paused"), "paused");
      while (document.hidden) await visible();
      show(gettext("Live"), "live");
    }
    try {
      const { pulse } = await (await asked(part.dataset.pulseUrl)).json();
      if (pulse !== part.dataset.pulse) await refresh();
      if (wait !== EVERY) show(gettext("Live"), "live");
      wait = EVERY;
    } catch (error) {
      if (error instanceof Ended) {
        show(gettext("Not live"), "broken");
        if (said) said.textContent = error.message;
        return;
      }
      wait = Math.min(wait * 2, SLOWEST);
      show(gettext("Not live: trying again"), "broken");
    }
  }
};

if (part) keepUp();
