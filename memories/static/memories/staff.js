// What every page of staff adds when scripts run: the reader's time zone, and forms that are sent once.
// Each page works without it. It is loaded in the head, so it waits for nothing but events.

(() => {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
  document.cookie = `tz=${zone}; Path=/; Max-Age=${60 * 60 * 24 * 365}; SameSite=Lax${secure}`;

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-once]")) return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "true";
  });

  // A page that comes back from the history may be sent again.
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  const typing = (element) => element.matches("input, textarea, select") || element.isContentEditable;

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && typing(event.target)) return event.target.blur();
    if (event.key !== "/" || typing(event.target)) return;
    const field = document.querySelector('[data-key="/"], #searchbar');
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select?.();
  });
})();
