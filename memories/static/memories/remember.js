// What the lists of "What I remember" add when scripts run. Each works without.

const selects = document.querySelector("[data-selects]");
selects?.querySelector("[data-apply]")?.setAttribute("hidden", "");
selects?.addEventListener("change", () => selects.requestSubmit());
