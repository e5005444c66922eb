// The chat: sends a message and draws the answer as it comes. What the server renders at the end takes the place of
// what was drawn here, so that a streamed turn and a loaded one are the same.

import { frames } from "./sse.js";
import { fill, gettext, ngettext } from "./texts.js";

const one = (selector, root = document) => root.querySelector(selector);

const composer = one("[data-composer]");
const message = one("textarea", composer);
const turns = one("[data-turns]");
const transcript = one("[data-transcript]");
const panel = one("[data-panel]");
const stopButton = one("[data-stop]");
const sendButton = one("[data-send]");

const DOING = { recalling: gettext("recalling"), thinking: gettext("thinking"), writing: gettext("writing") };
const SETTLING = [200, 400, 800, 1600, 3000];
const NEAR = 80;

// On a touch keyboard Enter is the only way to a new line; there the button sends.
const enterSends = !matchMedia("(pointer: coarse)").matches;

let running = null;

// Sending

composer.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running || !message.value.trim()) return;
  const body = fieldsOf(composer);
  const turn = drawTurn(message.value);
  const draft = message.value;
  message.value = "";
  one("[data-toasts]").replaceChildren();
  stream(composer.action, body, turn, (reason) => {
    turn.remove();
    if (!message.value) message.value = draft;
    complain(reason);
    showWelcome(!turns.children.length);
  });
});

message.addEventListener("keydown", (event) => {
  if (!enterSends || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  composer.requestSubmit();
});

stopButton.addEventListener("click", () => running?.abort());

// A retry is the same stream in the place of the turn that failed.
turns.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-retry]");
  if (!form) return;
  event.preventDefault();
  if (running) return;
  const before = form.closest("[data-turn]");
  const turn = drawTurn(one(".said .words", before)?.textContent ?? "", before);
  turn.dataset.turn = before.dataset.turn;
  stream(form.action, fieldsOf(form), turn, (reason) => {
    turn.replaceWith(before);
    complain(reason);
  });
});

// An edited message takes the place of its turn and of all later ones, which come back if it is refused.
turns.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-edit]");
  if (!form) return;
  event.preventDefault();
  const words = form.elements.message.value;
  if (running || !words.trim()) return;
  form.elements.turn_id.value = freshId();
  const body = fieldsOf(form);
  const first = form.closest("[data-turn]");
  const replaced = [...turns.children].slice([...turns.children].indexOf(first));
  for (const each of replaced) each.remove();
  const turn = drawTurn(words);
  turn.dataset.replaces = "true";
  stream(form.action, body, turn, (reason) => {
    turn.replaceWith(...replaced);
    complain(reason);
  });
});

turns.addEventListener("toggle", (event) => {
  if (!event.target.matches("[data-edit-box][open]")) return;
  one("[data-close-edit]", event.target).hidden = false;
  const field = one("textarea", event.target);
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}, true);

// The title is a field: Enter or leaving it renames the conversation, Escape brings the old one back.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-rename]");
  if (!form) return;
  event.preventDefault();
  const field = form.elements.title;
  const before = field.defaultValue;
  if (field.value === before) return field.blur();
  field.defaultValue = field.value; // so that leaving the field does not send it again
  field.blur();
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.action, { method: "POST", body }).catch(() => null);
  const page = response?.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : null;
  if (page && !one("[data-title]", page)) return location.reload(); // the session has ended
  if (!page) {
    field.defaultValue = before;
    return toast(gettext("That did not work. Try again in a moment."));
  }
  for (const notice of document.querySelectorAll("body > .notice")) notice.remove();
  one("main").before(...page.querySelectorAll("body > .notice"));
  for (const part of ["[data-title]", "[data-sessions]"]) one(part).innerHTML = one(part, page).innerHTML;
  document.title = page.title;
});

document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-rename]");
  if (!form) return;
  if (event.target.value.trim()) form.requestSubmit();
  else form.reset();
});

// Before Escape leaves the field (app.js), which would save it.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") event.target.closest("[data-rename]")?.reset();
}, true);

document.addEventListener("click", (event) => {
  // The menu closes after the click, and gives the focus back.
  if (event.target.closest("[data-to-title]")) setTimeout(() => one("#title").select());
});

// Feedback and undo: the server says what stands there now.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-feedback], [data-undo]");
  if (!form) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  const response = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
  if (response?.redirected) return location.reload(); // the session has ended
  const answer = response?.headers.get("Content-Type")?.startsWith("application/json") ? await response.json() : null;
  if (!answer) return toast(gettext("That did not work. Try again in a moment."));
  if (answer.message) toast(answer.message);
  if (form.matches("[data-undo]")) showUndone(answer);
  else showFeedback(form.closest("[data-feedback-box]"), answer.html, event.submitter?.value);
});

function showFeedback(box, html, chosen) {
  const place = box.parentElement;
  const which = [...box.querySelectorAll("button[name=verdict]")].findIndex((each) => each.value === chosen);
  box.outerHTML = html;
  (one("[open] textarea", place) ?? place.querySelectorAll("[data-feedback] button[name=verdict]")[Math.max(which, 0)])?.focus();
}

function showUndone(answer) {
  if (!answer.message) toast(gettext("Undone. It is no longer remembered."));
  const turn = document.getElementById(`turn-${answer.turn}`);
  if (!turn || running) return;
  turn.outerHTML = answer.turn_html;
  if (one(`#turn-${answer.turn} [data-usage]`)) showPanel(answer.panel_html, answer.turn);
}

// One toast at a time; it leaves by itself unless somebody is at it.
const TOAST_SECONDS = 12;
const hovers = matchMedia("(hover: hover)").matches; // a tap leaves a hover behind
let leaving = 0;

function toast(words) {
  const box = document.createElement("div");
  box.className = "toast";
  box.dataset.toastBox = "";
  const line = document.createElement("p");
  line.textContent = words;
  box.append(line);
  showToast(box);
}

function showToast(box) {
  const follow = atEnd();
  one("[data-toasts]").replaceChildren(box);
  if (follow) toEnd();
  one("[data-toast-status]").textContent = one("p", box).textContent;
  const leave = () => (box.matches(hovers ? ":hover, :focus-within" : ":focus-within") ? wait() : box.remove());
  const wait = () => { leaving = setTimeout(leave, TOAST_SECONDS * 1000); };
  clearTimeout(leaving);
  wait();
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-close-toast]")) event.target.closest("[data-toast-box]").remove();
  const copy = event.target.closest("[data-copy]");
  if (copy) copyAnswer(copy);
});

async function copyAnswer(button) {
  const words = one(".answer .words", button.closest("[data-turn]")).innerText;
  const done = await navigator.clipboard.writeText(words).then(() => true, () => false);
  toast(done ? gettext("Copied.") : gettext("Your browser does not allow copying here. Select the text instead."));
}

// The server takes no multipart forms.
const fieldsOf = (form) => new URLSearchParams(new FormData(form));

async function stream(address, body, turn, refused) {
  running = new AbortController();
  busy(true);
  complain("");
  const answer = { turn, text: one("[data-answer]", turn), activity: one("[data-activity]", turn), session: null };
  let ended = false;
  try {
    const response = await fetch(address, {
      method: "POST",
      body,
      headers: { Accept: "text/event-stream" },
      signal: running.signal,
    });
    if (!response.ok || !isStream(response)) {
      if (response.status === 409) freshTurnId();
      refused(await reasonOf(response));
      return;
    }
    for await (const event of frames(response.body)) ended = draw(event, answer) || ended;
    if (!ended) await settle(answer, gettext("The connection was cut off."));
  } catch (error) {
    const stopped = error.name === "AbortError";
    // Until the server says that the turn began, sending it again is safe: the same turn_id is stored once.
    if (answer.session) await settle(answer, stopped ? gettext("Stopped.") : gettext("The connection was cut off."));
    else refused(stopped ? gettext("Stopped before it was sent.") : gettext("The server could not be reached. Check the connection and send again."));
  } finally {
    running = null;
    busy(false);
  }
}

const isStream = (response) => response.headers.get("Content-Type")?.startsWith("text/event-stream");

async function reasonOf(response) {
  if (response.redirected) return gettext("You were signed out. Sign in again in another tab, then send this once more.");
  if (response.headers.get("Content-Type")?.startsWith("application/json")) return (await response.json()).message;
  if (response.status === 413) return gettext("That is more than a message can hold. Shorten it and send again.");
  if (response.status === 403) return gettext("This page is out of date. Copy your message, reload and send it again.");
  return gettext("The server could not take this. Nothing was lost; try again in a moment.");
}

// Drawing

const DRAW = {
  turn_started(event, answer) {
    answer.session = event.session_id;
    answer.turn.id = `turn-${event.turn}`;
    answer.turn.dataset.turn = event.turn;
    // What must not be stored was taken out: it does not stay on the page either.
    if (event.text !== undefined) one("[data-said]", answer.turn).textContent = event.text;
    freshTurnId();
  },
  stage: (event, answer) => say(answer, DOING[event.doing] ?? event.doing),
  notice: (event, answer) => say(answer, event.text),
  memories_recalled: (event, answer) => say(answer, fill(ngettext("recalled %(count)s memory", "recalled %(count)s memories", event.items.length), { count: event.items.length })),
  memory_written: (event, answer) => say(answer, event.superseded.length ? gettext("replacing what changed") : gettext("writing")),
  memories_retired: (event, answer) => say(answer, event.harsh ? gettext("taking back what was wrong") : gettext("ending what is over")),
  forget_proposed: (_event, answer) => say(answer, gettext("asking what to forget")),
  task_changed: (event, answer) => say(answer, taskWords(event)),
  text_delta(event, answer) {
    const follow = atEnd();
    answer.text.append(event.text);
    answer.text.normalize();
    if (follow) toEnd();
  },
  turn_finished(event, answer) {
    if (event.text !== undefined) answer.text.textContent = event.text;
  },
  turn_failed: (event, answer) => say(answer, event.message),
  page(event, answer) {
    place(event, answer.turn);
    if (!answer.turn.dataset.replaces) fillGap(event.turn, answer.session);
    else select(event.turn);
    return true;
  },
};

const draw = (event, answer) => DRAW[event.type]?.(event, answer) === true;
function taskWords({ steps, done, finished }) {
  if (finished) return gettext("the task is finished");
  if (!steps) return gettext("noting the task");
  if (done < steps) return fill(gettext("plan: step %(step)s of %(steps)s"), { step: done + 1, steps });
  return fill(gettext("plan: all %(steps)s steps done"), { steps });
}

function say(answer, words) {
  answer.activity.textContent = words;
  announce(words);
}

function drawTurn(text, inPlaceOf) {
  const turn = one("[data-streaming]").content.firstElementChild.cloneNode(true);
  one("[data-said]", turn).textContent = text;
  showWelcome(false);
  if (inPlaceOf) inPlaceOf.replaceWith(turn);
  else turns.append(turn);
  for (const retry of turns.querySelectorAll("[data-retry]")) if (!turn.contains(retry)) retry.remove();
  toEnd();
  return turn;
}

// Put the server's rendering in place: the turn, the panel beside it, the list of conversations, the address.
function place(event, turn) {
  const follow = atEnd();
  turn.outerHTML = event.turn_html;
  showPanel(event.panel_html, event.turn);
  if (event.saved_html) showToast(document.createRange().createContextualFragment(event.saved_html).firstElementChild);
  if (event.sessions_html) {
    one("[data-sessions]").innerHTML = event.sessions_html;
    if (!one("[data-title] :focus")) one("[data-title]").innerHTML = event.title_html;
    document.title = `${event.title} · memoryhub`;
    composer.action = event.send_url;
    if (location.pathname !== event.url) {
      history.replaceState(null, "", event.url);
    }
    if (!one("[data-session-menu] :popover-open")) one("[data-session-menu]").innerHTML = event.menu_html;
  }
  announce(answerIn(document.getElementById(`turn-${event.turn}`)));
  if (follow) toEnd();
}

// After a stop or a lost connection: ask what was stored until it is settled; what is on the page stays meanwhile.
async function settle(answer, words) {
  answer.turn.removeAttribute("aria-busy");
  say(answer, words);
  for (const pause of SETTLING) {
    await new Promise((done) => setTimeout(done, pause));
    const event = await fragments(`/chat/${answer.session}/turns/${answer.turn.dataset.turn}/`);
    if (!event || (!event.state && pause !== SETTLING.at(-1))) continue;
    place(event, answer.turn);
    announce(words);
    return;
  }
  say(answer, `${words} ${gettext("Reload the page to see what was kept.")}`);
}

// One turn as the server renders it now; null if it does not answer.
async function fragments(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  return response?.ok ? response.json() : null;
}

// Another tab may have taken turns of this conversation meanwhile: they go where they belong.
async function fillGap(number, session) {
  const here = document.getElementById(`turn-${number}`);
  const before = Number(here?.previousElementSibling?.dataset.turn ?? number - 1);
  for (let missing = before + 1; missing < number; missing += 1) {
    const event = await fragments(`/chat/${session}/turns/${missing}/`);
    if (event) here.insertAdjacentHTML("beforebegin", event.turn_html);
  }
  select(number);
}

function showPanel(html, number) {
  panel.innerHTML = html;
  select(number);
}

// Mark the turn whose memories stand beside it; only the last turn can be tried again.
function select(number) {
  for (const link of turns.querySelectorAll("[data-usage]")) {
    if (link.closest("[data-turn]").dataset.turn === String(number)) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  for (const retry of turns.querySelectorAll("[data-turn]:not(:last-child) [data-retry]")) retry.remove();
}

turns.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-usage]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const fragment = await fragments(link.dataset.usage);
  if (!fragment) {
    location.assign(link.href);
    return;
  }
  showPanel(fragment.panel_html, fragment.turn);
  if (getComputedStyle(panel).display === "none") panel.showPopover({ source: link });
  one("[tabindex]", panel)?.focus({ preventScroll: true });
});

// What was forgotten leaves the panel at once. Once it is erased, its words leave the page, unless somebody is writing.
document.addEventListener("forgetting", async (event) => {
  if (event.detail.over && !running && !message.value) return location.reload();
  one("[data-toast-box]")?.remove(); // its undo may be of what was just forgotten
  const link = one("[data-usage][aria-current]", turns);
  const fragment = link && (await fragments(link.dataset.usage));
  if (fragment) showPanel(fragment.panel_html, fragment.turn);
});

// Small things

function busy(state) {
  stopButton.hidden = !state;
  sendButton.hidden = state;
  message.focus({ preventScroll: true });
}

function complain(words) {
  const error = one("[data-error]", composer);
  error.textContent = words;
  error.classList.toggle("composer-error", Boolean(words));
}

function freshTurnId() {
  composer.elements.turn_id.value = freshId();
}

function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The answer's words and how it ended, without the buttons and numbers round them.
function answerIn(turn) {
  const parts = turn?.querySelectorAll(".answer > .words, .answer > .tombstone, .answer > .ended > span") ?? [];
  return Array.from(parts, (part) => part.innerText).join(" ").replace(/\s+/g, " ").trim();
}

function announce(words) {
  one("[data-status]").textContent = words;
}

function showWelcome(shown) {
  const welcome = one("[data-welcome]");
  if (welcome) welcome.hidden = !shown;
}

const atEnd = () => transcript.scrollHeight - transcript.scrollTop - transcript.clientHeight < NEAR;
const toEnd = () => transcript.scrollTo({ top: transcript.scrollHeight });

for (const example of document.querySelectorAll("[data-example]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = example.className;
  button.append(...example.childNodes);
  button.addEventListener("click", () => {
    message.value = example.dataset.example;
    message.focus();
  });
  example.className = "";
  example.append(button);
}

if (!location.hash) toEnd();
