// The palette (Cmd-K or Ctrl-K) on every page of members: what is typed is searched by the server, Enter opens the first.

const palette = document.getElementById("palette");
const words = palette.querySelector("input");
const found = palette.querySelector("[data-found]");
const PAUSE = 150;
let waiting = 0;
let asked = null;

async function search() {
  asked?.abort();
  asked = new AbortController();
  const address = `${palette.dataset.find}?q=${encodeURIComponent(words.value)}`;
  const response = await fetch(address, { signal: asked.signal }).catch(() => null);
  if (!response) return;
  if (response.redirected) return location.reload(); // the session has ended
  if (found.contains(document.activeElement)) words.focus();
  if (response.ok) found.innerHTML = await response.text();
}

for (const keys of document.querySelectorAll("[data-palette-keys]")) {
  if (/Mac|iPhone|iPad/.test(navigator.platform)) keys.textContent = "⌘K";
}

function open() {
  palette.showPopover();
  words.select();
  search();
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  if (palette.matches(":popover-open")) palette.hidePopover();
  else open();
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-palette]") || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open();
});

words.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, PAUSE);
});

palette.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const results = [...palette.querySelectorAll("[data-result]")];
  const here = results.indexOf(document.activeElement);
  if (event.key === "Enter" && event.target === words) {
    event.preventDefault();
    results[0]?.click();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const next = here + (event.key === "ArrowDown" ? 1 : -1);
    (next < 0 ? words : results[Math.min(next, results.length - 1)])?.focus();
  }
});
