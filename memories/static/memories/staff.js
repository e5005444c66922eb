// What every page of staff adds when scripts run: the reader's time zone and theme, and forms that are sent once.
// Each page works without it. It is loaded in the head, so it waits for nothing but events.

(() => {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
  const remember = (name, value) => {
    document.cookie = `${name}=${value}; Path=/; Max-Age=${value ? 60 * 60 * 24 * 365 : 0}; SameSite=Lax${secure}`;
  };
  remember("tz", zone);

  // The theme that is chosen anywhere on the site is in a cookie. The admin's frame keeps its own in the storage and
  // would believe that one: so it is told before it looks, and the first paint has the right colours.
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => /(?:^|; )theme=(light|dark)/.exec(document.cookie)?.[1] ?? "";
  const paint = () => root.classList.toggle("dark", (chosen() || (system.matches ? "dark" : "light")) === "dark");
  const adopt = () => localStorage.setItem("adminTheme", JSON.stringify(chosen() || "auto"));
  adopt();
  paint();
  system.addEventListener("change", paint);
  document.addEventListener("alpine:initialized", () => {
    const frame = window.Alpine.$data(root);
    if (!("adminTheme" in frame)) return;
    // It also changes by a key of the frame's own; that holds everywhere, too.
    window.Alpine.effect(() => {
      const theme = frame.adminTheme === "auto" ? "" : frame.adminTheme;
      if (theme !== chosen()) remember("theme", theme);
      for (const button of document.querySelectorAll("[data-theme-form] [name=theme]")) {
        button.setAttribute("aria-pressed", String(button.value === theme));
      }
    });
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("[data-theme-form]") && window.Alpine) {
      event.preventDefault();
      window.Alpine.$data(root).adminTheme = event.submitter.value || "auto";
      return;
    }
    if (!form.matches("[data-once]")) return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "true";
  });

  // A page that comes back from the history may be sent again.
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  // What scrolls sideways can be reached by keyboard.
  const reach = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  document.addEventListener("DOMContentLoaded", reach);

  // On a phone the tabs scroll: the chosen one is in sight, once the letters have their width.
  document.addEventListener("DOMContentLoaded", async () => {
    await document.fonts.ready;
    const tab = document.querySelector(".tabs [aria-current]");
    const tabs = tab?.parentElement;
    if (tabs) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.clientWidth) / 2;
  });
  window.addEventListener("resize", reach);

  const typing = (element) => element.matches("input, textarea, select") || element.isContentEditable;

  // The next or the last row of a list; from nowhere, the first of the page.
  const step = (by) => {
    const items = [...document.querySelectorAll("[data-list] [data-item]")].filter((item) => item.checkVisibility());
    const here = items.indexOf(document.activeElement);
    items[here < 0 ? 0 : here + by]?.focus();
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && typing(event.target)) return event.target.blur();
    if (event.key === "Enter" && !event.shiftKey && event.target.matches("textarea[data-enter-sends]")) {
      event.preventDefault();
      event.target.form.requestSubmit();
      return;
    }
    if (typing(event.target)) return;
    if (event.key === "j" || event.key === "k") return step(event.key === "j" ? 1 : -1);
    if (event.key !== "/") return;
    const field = document.querySelector('[data-key="/"], #searchbar');
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select?.();
  });
})();
