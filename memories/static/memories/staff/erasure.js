// While an erasure is carried out its page asks once a second how far it is, and is loaded anew when it is done.

const EVERY_MS = 1000;

const refresh = async () => {
  const part = document.querySelector("[data-erasing]");
  if (!part) return;
  if (!document.hidden) {
    try {
      const answer = await fetch(part.dataset.erasing, { headers: { Accept: "text/html" } });
      if (answer.ok && !answer.redirected) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".erasure-state");
        if (!fresh || !fresh.matches("[data-erasing]")) return location.reload();
        if (fresh.outerHTML !== part.outerHTML) part.replaceWith(fresh);
      }
    } catch {
      // The server is away for a moment: the next round asks again.
    }
  }
  setTimeout(refresh, EVERY_MS);
};

setTimeout(refresh, EVERY_MS);
